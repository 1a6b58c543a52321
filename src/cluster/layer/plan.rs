//! Writes become server dry-runs: the server checks, defaults and answers, and stores nothing.

use std::task::{Context, Poll};

use http::{Method, Request, Response, Uri};
use kube::client::Body;
use tower::{BoxError, Layer};

use crate::cluster::transport::Transport;

/// The layer.
#[derive(Clone, Copy, Debug)]
pub struct Plan;

impl Layer<Transport> for Plan {
    type Service = Planned;

    fn layer(&self, inner: Transport) -> Planned {
        Planned { inner }
    }
}

/// A transport that writes nothing.
#[derive(Clone)]
pub struct Planned {
    inner: Transport,
}

impl tower::Service<Request<Body>> for Planned {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = <Transport as tower::Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if !matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        ) {
            let dry = dry(request.uri());
            *request.uri_mut() = dry;
        }
        self.inner.call(request)
    }
}

fn dry(uri: &Uri) -> Uri {
    let join = if uri.query().is_some() { '&' } else { '?' };
    let path_and_query = format!("{uri}{join}dryRun=All");
    path_and_query
        .parse()
        .expect("a valid URI stays one with a further parameter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_says_that_it_is_a_dry_run() {
        let dried = |uri: &str| dry(&uri.parse().unwrap()).to_string();
        assert_eq!(dried("/api/v1/x"), "/api/v1/x?dryRun=All");
        assert_eq!(dried("/api/v1/x?a=b"), "/api/v1/x?a=b&dryRun=All");
        assert_eq!(dried("/api/v1/x?"), "/api/v1/x?&dryRun=All");
    }
}
