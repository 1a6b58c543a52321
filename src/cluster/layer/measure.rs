//! A layer that passes every answer to an observer.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Layer};

use crate::clock;
use crate::cluster::transport::{ResponseBody, Transport};

/// An observer of answers.
pub trait RequestObserver: Send + Sync {
    /// Called when a request was answered, or failed without an answer (`code` is `None`). For a watch,
    /// called when its headers arrive.
    fn answered(&self, method: &http::Method, code: Option<u16>, latency: Duration);
}

/// The layer that measures requests.
#[derive(Clone)]
pub struct MeasureLayer {
    observer: Arc<dyn RequestObserver>,
}

impl MeasureLayer {
    /// Creates the layer for an observer.
    pub fn new(observer: Arc<dyn RequestObserver>) -> Self {
        Self { observer }
    }
}

impl Layer<Transport> for MeasureLayer {
    type Service = MeasureService;

    fn layer(&self, inner: Transport) -> MeasureService {
        MeasureService {
            observer: Arc::clone(&self.observer),
            inner,
        }
    }
}

/// A transport with an observer.
#[derive(Clone)]
pub struct MeasureService {
    observer: Arc<dyn RequestObserver>,
    inner: Transport,
}

impl tower::Service<Request<Body>> for MeasureService {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let observer = Arc::clone(&self.observer);
        let method = request.method().clone();
        let started = clock::now();
        self.inner
            .call(request)
            .inspect(move |answer| {
                let code = answer
                    .as_ref()
                    .ok()
                    .map(|response| response.status().as_u16());
                observer.answered(&method, code, started.elapsed());
            })
            .boxed()
    }
}
