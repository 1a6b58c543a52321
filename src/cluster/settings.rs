//! The settings of a cluster connection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;

/// Timeouts and bounds of a cluster connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The maximum time of a call with its retries.
    pub call_timeout: Duration,
    /// The maximum time of one attempt.
    pub attempt_timeout: Duration,
    /// The time after which the server ends a watch. The operator closes a silent watch a little later.
    pub watch_timeout: Duration,
    /// The maximum size of cached values of referenced objects, in bytes.
    pub value_bytes: usize,
    /// The namespaces in which children and references are watched; `None` for all.
    pub namespaces: Option<BTreeSet<Arc<str>>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // Two attempts fit into it, and a script fails on a dead server well within its own timeout.
            call_timeout: Duration::from_secs(30),
            // A webhook has 10 s by default, so a longer silence means a dead connection.
            attempt_timeout: Duration::from_secs(14),
            watch_timeout: Duration::from_mins(1),
            // A few thousand ConfigMaps. Beyond it, values are requested again.
            value_bytes: 8 << 20,
            namespaces: None,
        }
    }
}

/// Returns the deadline of a write, before each one; `None` forbids it.
pub type WriteDeadline = Arc<dyn Fn() -> Option<Instant> + Send + Sync>;
