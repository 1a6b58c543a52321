//! Guards that restore the state around a step, also after an error.

use std::cell::Cell;

use rhai::Dynamic;

use crate::host::Session;
use crate::script;

/// A variable of expressions that has a value until the guard is dropped.
pub(super) struct VariableGuard {
    name: &'static str,
    outer: Dynamic,
}

impl VariableGuard {
    /// Sets the variable.
    pub(super) fn set(name: &'static str, value: Dynamic) -> Self {
        let guard = Self::keep(name);
        script::set_variable(name, value);
        guard
    }

    /// Leaves the value of the variable as it is. Changes to it end with the guard.
    pub(super) fn keep(name: &'static str) -> Self {
        let outer = script::variable(name).unwrap_or_default();
        Self { name, outer }
    }

    /// Returns the value that the variable has outside of the guard.
    pub(super) fn outer(&self) -> &Dynamic {
        &self.outer
    }
}

impl Drop for VariableGuard {
    fn drop(&mut self) {
        script::set_variable(self.name, std::mem::take(&mut self.outer));
    }
}

/// The item of a loop that the innermost open step executes, until the guard is dropped.
pub(super) struct ItemGuard<'a>(&'a Session);

impl<'a> ItemGuard<'a> {
    pub(super) fn new(session: &'a Session, index: usize) -> Self {
        session.open.lock().set_item(Some(index));
        Self(session)
    }
}

impl Drop for ItemGuard<'_> {
    fn drop(&mut self) {
        self.0.open.lock().set_item(None);
    }
}

/// A flag that gets its value back when the guard is dropped.
pub(super) struct FlagGuard<'a> {
    flag: &'a Cell<bool>,
    outer: bool,
}

impl<'a> FlagGuard<'a> {
    pub(super) fn new(flag: &'a Cell<bool>) -> Self {
        let outer = flag.get();
        Self { flag, outer }
    }
}

impl Drop for FlagGuard<'_> {
    fn drop(&mut self) {
        self.flag.set(self.outer);
    }
}
