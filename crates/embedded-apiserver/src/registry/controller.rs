//! Controllers run after each commit, inside the lock.

use jiff::Timestamp;

use super::transaction::Transaction;
use crate::store::Event;

/// A controller, which reacts to writes with its own writes.
///
/// # Flow
///
/// After each commit, the drain loop passes every new event to every controller in commit order, and ticks
/// the controllers that are due. It stops when no event is left and no controller is due.
///
/// # Guarantees
///
/// A controller never gets a write conflict: it runs under the lock and reads the newest state from the
/// transaction. The event only triggers it. After a start, the controllers get all objects as `Added` events.
pub trait Controller: Send {
    /// Returns the field manager of the controller's writes.
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    /// Handles a write of any resource.
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event);

    /// Returns the time of the next tick.
    fn next_due(&self) -> Option<Timestamp> {
        None
    }

    /// Runs the work that is due at [`Self::next_due`].
    fn tick(&mut self, _tx: &mut Transaction<'_>) {}
}
