//! The permissions of a role, which the process enforces in addition to the cluster's RBAC.
//!
//! Answers forbidden requests with the Status of a server, without sending them. Reads from a cache do not
//! pass through a layer, so [`super::super::read`] checks the same fences.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{Either, ready};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower::{BoxError, Layer};

use super::attributes::{self, Attributes};
use crate::cluster::discovery::Discovery;
use crate::cluster::transport::{self, LayerFuture, ResponseBody, Transport};
use crate::model::access::{Access, AccessScope};

type RefusalFn = dyn Fn(&Access<'_>) -> Option<String> + Send + Sync;

/// The permissions of a role.
pub struct Fence(Box<RefusalFn>);

impl Fence {
    /// Creates the fence of a role. `refuses` returns the reason if a request is not allowed.
    pub fn new(refuses: impl Fn(&Access<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(refuses))
    }

    /// Returns the message of the refusal, if the request is refused.
    pub(in crate::cluster) fn refusal(&self, access: &Access<'_>) -> Option<String> {
        (self.0)(access)
    }

    fn check(&self, discovery: &Discovery, attributes: &Attributes<'_>) -> Option<String> {
        let Attributes {
            verb,
            group,
            resource,
            subresource,
            namespace,
            ..
        } = *attributes;
        let name = attributes.name();
        let is_namespace = group.is_empty() && resource == "namespaces";
        // Without a namespace, an object and a create are cluster-scoped. A collection can be
        // cluster-scoped, or cover all namespaces.
        let is_object = !attributes.name.is_empty() || verb == "create";
        let reach = if !namespace.is_empty() && !is_namespace {
            AccessScope::Namespace(namespace)
        } else if is_namespace || is_object || discovery.is_cluster_scoped(group, resource) {
            AccessScope::Cluster
        } else {
            AccessScope::AllNamespaces
        };
        let whole = subresource.map(|subresource| format!("{resource}/{subresource}"));
        self.refusal(&Access {
            verb,
            group,
            resource: whole.as_deref().unwrap_or(resource),
            scope: reach,
            name: &name,
        })
    }
}

/// Puts a [`Fence`] before a transport.
#[derive(Clone)]
pub(in crate::cluster) struct FenceLayer {
    pub(in crate::cluster) fence: Arc<Fence>,
    /// Distinguishes collections of all namespaces from cluster-scoped ones.
    pub(in crate::cluster) discovery: Arc<Discovery>,
}

impl Layer<Transport> for FenceLayer {
    type Service = FenceService;

    fn layer(&self, inner: Transport) -> FenceService {
        FenceService {
            layer: self.clone(),
            inner,
        }
    }
}

/// A transport with a fence.
#[derive(Clone)]
pub(in crate::cluster) struct FenceService {
    layer: FenceLayer,
    inner: Transport,
}

impl tower::Service<Request<Body>> for FenceService {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = LayerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let FenceLayer { fence, discovery } = &self.layer;
        let attributes = attributes::parse(request.method(), request.uri());
        match attributes.and_then(|attributes| fence.check(discovery, &attributes)) {
            None => Either::Right(self.inner.call(request)),
            Some(refusal) => Either::Left(ready(Ok(forbidden(&refusal)))),
        }
    }
}

fn forbidden(message: &str) -> Response<ResponseBody> {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": "Forbidden", "code": 403, "message": message,
    });
    let mut response = Response::new(transport::body(Body::from(status.to_string().into_bytes())));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}
