//! A role's permissions, held inside the process beside the cluster's RBAC.
//!
//! What is not allowed is answered here, with the Status that a server would send; nothing leaves the
//! process. Reads that a cache answers pass no layer: [`super::super::read`] asks the same fence.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{Either, ready};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower::{BoxError, Layer};

use super::Answered;
use super::attributes::{self, Attributes};
use crate::cluster::transport::{self, AnswerBody, Transport};

type Allows = dyn Fn(&str, &str, &str) -> bool + Send + Sync;

/// What a role may do.
pub struct Fence {
    role: String,
    allows: Box<Allows>,
}

impl Fence {
    /// The fence of a role; `allows` is asked with API group, resource (`deployments`,
    /// `deployments/scale`) and verb as in RBAC.
    pub fn new(
        role: &str,
        allows: impl Fn(&str, &str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            role: role.to_owned(),
            allows: Box::new(allows),
        }
    }

    /// The refusal in words, if there is one.
    pub(in crate::cluster) fn refusal(
        &self,
        group: &str,
        resource: &str,
        verb: &str,
    ) -> Option<String> {
        if (self.allows)(group, resource, verb) {
            return None;
        }
        Some(format!(
            "role {:?} may not {verb} resource {resource:?} in API group {group:?}: \
             its meta/main.yaml does not list it under permissions.api",
            self.role
        ))
    }

    fn check(&self, attributes: &Attributes<'_>) -> Option<String> {
        let Attributes {
            verb,
            group,
            resource,
            subresource,
            ..
        } = attributes;
        match subresource {
            None => self.refusal(group, resource, verb),
            Some(sub) => self.refusal(group, &format!("{resource}/{sub}"), verb),
        }
    }
}

/// Puts a [`Fence`] before a transport.
#[derive(Clone)]
pub(in crate::cluster) struct FenceLayer(pub(in crate::cluster) Arc<Fence>);

impl Layer<Transport> for FenceLayer {
    type Service = Fenced;

    fn layer(&self, inner: Transport) -> Fenced {
        Fenced {
            fence: Arc::clone(&self.0),
            inner,
        }
    }
}

/// A transport behind a fence.
#[derive(Clone)]
pub(in crate::cluster) struct Fenced {
    fence: Arc<Fence>,
    inner: Transport,
}

impl tower::Service<Request<Body>> for Fenced {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Answered;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let attributes = attributes::of(request.method(), request.uri());
        match attributes.as_ref().and_then(|a| self.fence.check(a)) {
            None => Either::Right(self.inner.call(request)),
            Some(refusal) => Either::Left(ready(Ok(forbidden(&refusal)))),
        }
    }
}

fn forbidden(message: &str) -> Response<AnswerBody> {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": "Forbidden", "code": 403, "message": message,
    });
    let mut response = Response::new(transport::answer(Body::from(
        status.to_string().into_bytes(),
    )));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}
