//! The transport of requests: one boxed tower service, for HTTP and for a server in this process.

use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, Ready};
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use tower::util::{BoxCloneSyncService, option_layer};
use tower::{BoxError, Layer, ServiceExt};

use super::guarded_body;

/// The body of an answer of any source.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// A service that answers requests. Cheap to clone.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<ResponseBody>, BoxError>;

/// The time after which an idle connection is closed, before a proxy or firewall on the way drops it.
const IDLE: Duration = Duration::from_secs(90);

/// A service that can be a [`Transport`].
pub trait Service:
    tower::Service<Request<Body>, Response = Response<ResponseBody>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Service for S where
    S: tower::Service<
            Request<Body>,
            Response = Response<ResponseBody>,
            Error = BoxError,
            Future: Send,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// Boxes a service.
pub fn boxed(service: impl Service) -> Transport {
    BoxCloneSyncService::new(service)
}

/// Boxes the body of an answer.
pub fn body<B>(body: B) -> ResponseBody
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}

/// Creates a transport over a kube client.
pub fn from_client(client: kube::Client) -> Transport {
    boxed(tower::service_fn(move |request| {
        let client = client.clone();
        async move {
            let answered = client.send(request).await?;
            Ok(answered.map(body))
        }
    }))
}

/// Creates a transport with its own connections to the server of a configuration. Does not use a proxy.
///
/// A kube client passes each request to a task, which passes it to the task of the connection. This costs
/// one more switch of threads per request, and an operator sends thousands of requests. The operator does
/// not use the tracing and the retries of the client.
///
/// # Errors
/// Certificates or credentials cannot be used.
pub(super) fn over_http(
    config: &kube::Config,
    connect_timeout: Duration,
) -> Result<Transport, kube::Error> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(connect_timeout));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let connections = legacy::Builder::new(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector);
    let service = connections
        .map_request(guarded_body::guard)
        .map_err(BoxError::from)
        .map_response(|response| response.map(body));
    let service = config.extra_headers_layer()?.layer(service);
    let service = option_layer(config.auth_layer()?).layer(service);
    Ok(boxed(config.base_uri_layer().layer(service)))
}

/// Creates the answer of a layer that does not pass the request on.
pub(super) type LayerFuture = Either<
    Ready<Result<Response<ResponseBody>, BoxError>>,
    <Transport as tower::Service<Request<Body>>>::Future,
>;
