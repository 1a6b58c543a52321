//! Counts requests to the API server.

use std::sync::OnceLock;
use std::time::Duration;

use crate::cluster::layer::RequestObserver;
use crate::telemetry::Metrics;

/// Counts every answer in the metrics.
pub(super) struct RequestMetrics {
    metrics: Metrics,
    host: OnceLock<String>,
}

impl RequestMetrics {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            host: OnceLock::new(),
        }
    }

    /// The label of the metrics of requests, which is known after the connection is created.
    pub(super) fn set_host(&self, host: &str) {
        // Set once, after the only connection.
        let _ = self.host.set(host.to_owned());
    }
}

impl RequestObserver for RequestMetrics {
    fn answered(&self, method: &http::Method, code: Option<u16>, _latency: Duration) {
        let host = self.host.get().map_or("", String::as_str);
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.metrics.request(&code, method.as_str(), host);
    }
}
