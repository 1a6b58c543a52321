//! Limits the depth of nested values. Code that copies, compares or drops a value recurses once per level.
//!
//! The engine has no such limit. A value becomes one level deeper only by a copy of the whole value, so
//! that it is sufficient to check the variables of the running function from time to time.

use rhai::{Dynamic, FnPtr, Scope};

/// The maximum depth of arrays, maps and closures. The API server accepts far fewer levels, and 1,000 need
/// half a megabyte of the 2 MB stack of the runtime's threads.
pub(super) const MAX_NESTING: usize = 1_000;

/// The number of operations between two checks. A value that grew by as many levels meanwhile is copied
/// in well under a millisecond.
const OPERATIONS: u64 = 256;

/// Decides when to check the variables of a program.
#[derive(Default)]
pub(super) struct NestingCheck {
    next: u64,
}

impl NestingCheck {
    /// Returns whether this local variable, which the script reads, or another one of the scope is nested too
    /// deeply. Checks only from time to time.
    pub(super) fn is_exceeded(&mut self, local: &Dynamic, scope: &Scope, operations: u64) -> bool {
        let holds_others = local.is_shared() || local.is_array() || local.is_map();
        if !holds_others || operations < self.next {
            return false;
        }
        let mut values = 0;
        let mut variables = scope.iter_raw();
        let exceeded = variables.any(|(.., value)| is_deeper(value, MAX_NESTING, &mut values));
        // A value takes about 5 ns and an operation 50 ns, so that checks take at most a fifth of the time.
        self.next = operations + OPERATIONS.max(values / 2);
        exceeded
    }
}

/// Returns whether a value is nested too deeply for other threads, whose stacks are smaller.
pub(super) fn is_too_deep(value: &Dynamic) -> bool {
    is_deeper(value, MAX_NESTING, &mut 0)
}

/// Returns whether a value has more than `levels` levels. Adds the number of visited values to `values`.
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
