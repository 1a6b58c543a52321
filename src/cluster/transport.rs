//! What carries requests: one boxed tower service, the same for HTTP and for a server in process.

use http::{Request, Response};
use kube::client::Body;
use tower::BoxError;
use tower::util::BoxCloneSyncService;

/// Requests in, answers out. Cheap to clone.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// What can be a [`Transport`].
pub trait Service:
    tower::Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Service for S where
    S: tower::Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Boxes a service.
pub fn boxed(service: impl Service) -> Transport {
    BoxCloneSyncService::new(service)
}

/// A transport over a kube client, whatever lies behind that.
pub fn from_client(client: kube::Client) -> Transport {
    boxed(tower::service_fn(move |request| {
        let client = client.clone();
        async move { client.send(request).await.map_err(BoxError::from) }
    }))
}
