//! What the log was told once and is not told again.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// A set of warnings that were given. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WarnOnce(Arc<Mutex<BTreeSet<String>>>);

/// A process that has this many different things to warn of is warned enough.
const CAPACITY: usize = 10_000;

impl WarnOnce {
    /// Returns whether this is said for the first time.
    pub(super) fn is_first(&self, what: &str) -> bool {
        let mut told = self.0.lock();
        told.len() < CAPACITY && !told.contains(what) && told.insert(what.to_owned())
    }
}
