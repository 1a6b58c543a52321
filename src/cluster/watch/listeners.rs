//! The listeners of all watches.

use std::sync::Arc;

use parking_lot::RwLock;

use super::change::ObjectChange;
use super::running_watch::{Listener, Watch, WatchState};

/// The listeners of all watches.
#[derive(Default)]
pub(super) struct Listeners(pub(super) RwLock<Vec<Arc<dyn Listener>>>);

impl Listeners {
    pub(super) fn notify(&self, watch: &Watch, changes: impl IntoIterator<Item = ObjectChange>) {
        for change in changes {
            for listener in self.0.read().iter() {
                listener.changed(watch, &change);
            }
        }
    }

    pub(super) fn notify_state(&self, watch: &Watch, state: &WatchState) {
        for listener in self.0.read().iter() {
            listener.state_changed(watch, state);
        }
    }

    pub(super) fn notify_closed(&self, watch: &Watch) {
        for listener in self.0.read().iter() {
            listener.closed(watch);
        }
    }
}
