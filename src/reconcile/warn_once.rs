//! Remembers warnings, so that the log contains each of them once.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The set of warnings that were logged. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WarnOnce(Arc<Mutex<BTreeSet<String>>>);

/// Maximum number of distinct warnings remembered. Later ones are not logged.
const CAPACITY: usize = 10_000;

impl WarnOnce {
    /// Returns whether the text is new, and remembers it.
    pub(super) fn is_first(&self, what: &str) -> bool {
        let mut told = self.0.lock();
        told.len() < CAPACITY && !told.contains(what) && told.insert(what.to_owned())
    }
}
