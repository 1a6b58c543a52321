//! Bounds how deeply values are nested: what copies, compares or drops a value recurses once per level.
//!
//! The engine has no bound of its own. A value gets one level deeper only by a copy of all of it, so the
//! variables of the function at work are looked at only now and then.

use rhai::{Dynamic, FnPtr, Scope};

/// Levels that arrays, maps and closures may be nested. The API server accepts far fewer, and 1,000 take
/// half a megabyte of the 2 MB of stack that threads of the runtime have.
pub(super) const MAX_NESTING: usize = 1_000;

/// Operations between two looks: a copy of a value that grew by as many levels takes well under a
/// millisecond.
const OPERATIONS: u64 = 256;

/// Decides when to check the variables of a program.
#[derive(Default)]
pub(super) struct NestingCheck {
    next: u64,
}

impl NestingCheck {
    /// Returns whether a variable is nested too deeply, where it is time to look: now that this local
    /// variable is read.
    pub(super) fn is_exceeded(&mut self, local: &Dynamic, scope: &Scope, operations: u64) -> bool {
        let holds_others = local.is_shared() || local.is_array() || local.is_map();
        if !holds_others || operations < self.next {
            return false;
        }
        let mut values = 0;
        let mut variables = scope.iter_raw();
        let exceeded = variables.any(|(.., value)| is_deeper(value, MAX_NESTING, &mut values));
        // A value takes some 5 ns, an operation 50: a look takes a fifth of the time at most.
        self.next = operations + OPERATIONS.max(values / 2);
        exceeded
    }
}

/// Returns whether a value is nested too deeply to leave the thread of its run, where the stack is large.
pub(super) fn is_too_deep(value: &Dynamic) -> bool {
    is_deeper(value, MAX_NESTING, &mut 0)
}

/// Returns whether a value has more levels below it than this; counts the values that it looks at.
fn is_deeper(value: &Dynamic, levels: usize, values: &mut u64) -> bool {
    *values += 1;
    let Some(below) = levels.checked_sub(1) else {
        return true;
    };
    if value.is_shared() {
        let inner = value.read_lock::<Dynamic>();
        return inner.is_some_and(|inner| is_deeper(&inner, below, values));
    }
    if let Ok(map) = value.as_map_ref() {
        return map.values().any(|value| is_deeper(value, below, values));
    }
    if let Ok(array) = value.as_array_ref() {
        return array.iter().any(|value| is_deeper(value, below, values));
    }
    if let Some(function) = value.read_lock::<FnPtr>() {
        let mut captured = function.iter_curry();
        return captured.any(|value| is_deeper(value, below, values));
    }
    false
}
