//! Changes writes to server dry-runs: the server validates, sets defaults and answers, and stores nothing.

use std::task::{Context, Poll};

use futures::future::{Either, ready};
use http::uri::InvalidUri;
use http::{Method, Request, Response, Uri};
use kube::client::Body;
use tower::{BoxError, Layer};

use crate::cluster::transport::{LayerFuture, ResponseBody, Transport};

/// The layer that makes writes dry-runs.
#[derive(Clone, Copy, Debug)]
pub struct PlanLayer;

impl Layer<Transport> for PlanLayer {
    type Service = PlanService;

    fn layer(&self, inner: Transport) -> PlanService {
        PlanService { inner }
    }
}

/// A transport whose writes are dry-runs.
#[derive(Clone)]
pub struct PlanService {
    inner: Transport,
}

impl tower::Service<Request<Body>> for PlanService {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = LayerFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if !matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        ) {
            match with_dry_run(request.uri()) {
                Ok(dry) => *request.uri_mut() = dry,
                Err(error) => return Either::Left(ready(Err(error.into()))),
            }
        }
        Either::Right(self.inner.call(request))
    }
}

/// Returns the URI with the parameter. Fails if it becomes too long.
fn with_dry_run(uri: &Uri) -> Result<Uri, InvalidUri> {
    let join = if uri.query().is_some() { '&' } else { '?' };
    format!("{uri}{join}dryRun=All").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_write_is_marked_as_dry_run() {
        let dried = |uri: &str| with_dry_run(&uri.parse().unwrap()).unwrap().to_string();
        assert_eq!(dried("/api/v1/x"), "/api/v1/x?dryRun=All");
        assert_eq!(dried("/api/v1/x?a=b"), "/api/v1/x?a=b&dryRun=All");
        assert_eq!(dried("/api/v1/x?"), "/api/v1/x?&dryRun=All");
    }

    #[test]
    fn a_uri_that_becomes_too_long_is_an_error() {
        // The maximum length in the `http` crate.
        let long = format!("/{}", "a".repeat(65_533));
        assert!(with_dry_run(&long.parse().unwrap()).is_err());
    }
}
