//! Counts the requests of the operator, and records its writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request};
use kube::client::Body;
use parking_lot::Mutex;

use super::permission_recorder::PermissionRecorder;

/// Reviews are asked by a POST and write nothing.
const REVIEWS: [&str; 2] = ["/selfsubjectaccessreviews", "/selfsubjectrulesreviews"];

/// The requests of one operator.
#[derive(Debug, Default)]
pub(super) struct Requests {
    begun: AtomicUsize,
    finished: AtomicUsize,
    writes: Mutex<Vec<String>>,
}

/// Counts a request as ended, however it ends.
struct FinishGuard(Arc<Requests>);

impl Drop for FinishGuard {
    fn drop(&mut self) {
        self.0.finished.fetch_add(1, Ordering::SeqCst);
    }
}

impl Requests {
    /// Returns a client whose requests are counted here.
    pub(super) fn count_requests(
        self: &Arc<Self>,
        client: kube::Client,
        recorder: Option<Arc<PermissionRecorder>>,
    ) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let requests = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let ends = requests.begin(&request);
            let client = client.clone();
            let recorder = recorder.clone();
            async move {
                let (method, uri) = (request.method().clone(), request.uri().clone());
                let answer = client.send(request).await;
                if let (Some(recorder), Ok(answer)) = (&recorder, &answer) {
                    recorder.record(&method, &uri, answer.status());
                }
                drop(ends);
                answer
            }
        });
        kube::Client::new(service, namespace)
    }

    fn begin(self: &Arc<Self>, request: &Request<Body>) -> FinishGuard {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let path = request.uri().path();
        let is_dry = || {
            let query = request.uri().query().unwrap_or_default();
            query.contains("dryRun=")
        };
        let is_review = || REVIEWS.iter().any(|review| path.ends_with(review));
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        if !reads && !is_review() && !is_dry() {
            let write = format!("{} {path}", request.method());
            self.writes.lock().push(write);
        }
        FinishGuard(Arc::clone(self))
    }

    /// Returns the number of requests that started.
    pub(super) fn started(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// Returns whether each has its answer; a watch has it with the answer's head.
    pub(super) fn all_answered(&self) -> bool {
        self.finished.load(Ordering::SeqCst) == self.started()
    }

    /// Returns the number of writes.
    pub(super) fn write_count(&self) -> usize {
        self.writes.lock().len()
    }

    /// Returns the writes after the first `count`: `PATCH /api/v1/…`.
    pub(super) fn writes_after(&self, count: usize) -> Vec<String> {
        self.writes.lock().iter().skip(count).cloned().collect()
    }
}
