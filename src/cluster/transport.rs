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

/// The body of an answer, whoever gave it.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// Requests in, answers out. Cheap to clone.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<ResponseBody>, BoxError>;

/// A connection that nobody needs is closed before what lies between forgets it.
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

/// The body of an answer, its type forgotten.
pub fn body<B>(body: B) -> ResponseBody
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A transport over a kube client, whatever lies behind that.
pub fn from_client(client: kube::Client) -> Transport {
    boxed(tower::service_fn(move |request| {
        let client = client.clone();
        async move {
            let answered = client.send(request).await?;
            Ok(answered.map(body))
        }
    }))
}

/// A transport over connections of its own to where a configuration says, but through no proxy.
///
/// A kube client hands every request to a task that hands it to the connection's. That is a switch of
/// threads more for each, of which an operator makes thousands; what it adds (its own tracing, and
/// retries) is not used here.
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

/// An answer of a layer that may not ask the server.
pub(super) type LayerFuture = Either<
    Ready<Result<Response<ResponseBody>, BoxError>>,
    <Transport as tower::Service<Request<Body>>>::Future,
>;
