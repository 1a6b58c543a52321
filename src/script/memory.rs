//! What the variables of a run hold, by estimate.
//!
//! The engine bounds the size of each single value at every call; what it cannot see is that a hundred
//! variables hold one each, or how deep a value is nested. A value grows only by work: so the variables
//! of the function at work are weighed when a collection is read and enough time has passed.

use std::time::Duration;

use rhai::{Dynamic, FnPtr, Scope};

use crate::clock;

/// Time between two weighings, and operations where the clock stands still.
const INTERVAL: Duration = Duration::from_millis(1);
const OPERATIONS: u64 = 4096;

/// Levels that arrays and maps may be nested: the API server takes far fewer, and what copies, compares
/// or drops a value recurses once per level.
const MAX_NESTING: usize = 1_000;

/// Bytes of an entry beyond what it holds: the value itself, its share of a tree node, a key.
const ENTRY: usize = 96;
const ELEMENT: usize = 16;

/// The memory of one program, by level of calls.
#[derive(Default)]
pub(super) struct Meter {
    by_level: Vec<usize>,
    /// What native code keeps.
    held: usize,
    next: Option<clock::Instant>,
    next_operations: u64,
}

impl Meter {
    /// Is it time, now that this local variable is read?
    pub(super) fn is_due(&mut self, local: &Dynamic, operations: u64) -> bool {
        (local.is_shared() || local.is_array() || local.is_map())
            && (operations >= self.next_operations
                || self.next.is_none_or(|next| clock::now() >= next))
    }

    /// Weighs the variables of the function at work, at this level of calls.
    pub(super) fn weigh(&mut self, level: usize, scope: &Scope, operations: u64) {
        let begun = clock::now();
        // A value that is nested too deeply weighs more than any limit.
        let weight = scope
            .iter_raw()
            .map(|(.., value)| estimate(value))
            .fold(0_usize, usize::saturating_add);
        self.by_level.resize(level + 1, 0);
        self.by_level[level] = weight;
        let now = clock::now();
        // A weighing may take a fifth of the time, not more.
        self.next = Some(now + INTERVAL.max((now - begun) * 4));
        self.next_operations =
            operations + OPERATIONS.max(u64::try_from(weight / 256).unwrap_or(0));
    }

    /// Adds bytes that are held until the program is done.
    pub(super) fn hold(&mut self, bytes: usize) {
        self.held = self.held.saturating_add(bytes);
    }

    /// Bytes held, by the last weighings.
    pub(super) fn total(&self) -> usize {
        let levels = self.by_level.iter().copied();
        levels.fold(self.held, usize::saturating_add)
    }
}

/// Bytes that a value holds, more than any limit if it is nested too deeply.
pub(super) fn estimate(value: &Dynamic) -> usize {
    nested(value, 0)
}

fn nested(value: &Dynamic, depth: usize) -> usize {
    if depth > MAX_NESTING {
        return usize::MAX;
    }
    let sum = |values: &mut dyn Iterator<Item = usize>| values.fold(0, usize::saturating_add);
    if value.is_shared() {
        return value
            .read_lock::<Dynamic>()
            .map_or(0, |inner| nested(&inner, depth + 1));
    }
    if let Ok(text) = value.as_immutable_string_ref() {
        return text.len();
    }
    if let Ok(map) = value.as_map_ref() {
        return sum(&mut map
            .iter()
            .map(|(key, value)| nested(value, depth + 1).saturating_add(ENTRY + key.len())));
    }
    if let Ok(array) = value.as_array_ref() {
        return sum(&mut array
            .iter()
            .map(|v| nested(v, depth + 1).saturating_add(ELEMENT)));
    }
    if let Ok(blob) = value.as_blob_ref() {
        return blob.len();
    }
    if let Some(function) = value.read_lock::<FnPtr>() {
        return sum(&mut function
            .iter_curry()
            .map(|v| nested(v, depth + 1).saturating_add(ELEMENT)));
    }
    0
}
