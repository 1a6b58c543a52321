//! Controllers run after each commit, inside the lock.

use jiff::Timestamp;

use super::transaction::Transaction;
use crate::store::Event;

/// Reacts to writes by writes of its own.
///
/// # Flow
///
/// After each commit the drain loop hands every new event to every controller, in the order of the
/// commits, and ticks those that are due, until no event is left and nothing is due.
///
/// # Guarantees
///
/// A controller never meets a conflict: it reads the newest state through the transaction; the event
/// is only what woke it. After a start all objects come once as added.
pub trait Controller: Send {
    /// The field manager of its writes.
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    /// A write of any resource.
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event);

    /// Returns the time of the next tick.
    fn next_due(&self) -> Option<Timestamp> {
        None
    }

    /// The time that it asked for has come.
    fn tick(&mut self, _tx: &mut Transaction<'_>) {}
}
