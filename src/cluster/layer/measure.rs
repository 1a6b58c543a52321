//! Tells an observer about every answer.

use std::sync::Arc;
use std::time::Duration;

/// Told of every answer.
pub trait Observer: Send + Sync {
    /// A request was answered (or not: `code` is `None`). For a watch, when its headers came.
    fn answered(&self, method: &http::Method, code: Option<u16>, latency: Duration);
}

/// The layer.
#[derive(Clone)]
pub struct Measure {
    observer: Arc<dyn Observer>,
}

impl Measure {
    /// Tells this observer.
    pub fn new(observer: Arc<dyn Observer>) -> Self {
        Self { observer }
    }
}
