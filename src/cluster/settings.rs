//! The settings of a cluster connection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;

/// Timeouts and bounds of a cluster connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A call with its retries.
    pub call_timeout: Duration,
    /// One attempt of it.
    pub attempt_timeout: Duration,
    /// The server ends a watch after this time; a silent one is cut a little later.
    pub watch_timeout: Duration,
    /// Bound on cached values of referenced objects, in bytes.
    pub value_bytes: usize,
    /// Namespaces that children and references are watched in; `None` for all.
    pub namespaces: Option<BTreeSet<Arc<str>>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // Two attempts fit, and a script notices a dead server well within its own timeout.
            call_timeout: Duration::from_secs(30),
            // A webhook has 10 s by default; longer silence means a dead connection.
            attempt_timeout: Duration::from_secs(14),
            watch_timeout: Duration::from_mins(1),
            // A few thousand ConfigMaps; beyond it values are read again.
            value_bytes: 8 << 20,
            namespaces: None,
        }
    }
}

/// Returns the deadline of a write, before each one; `None` forbids it.
pub type WriteDeadline = Arc<dyn Fn() -> Option<Instant> + Send + Sync>;
