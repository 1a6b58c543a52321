//! The lock around the objects, the resources and the controllers.

use clock::Clock;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::controller::Controller;
use super::definitions::Definitions;
use super::transaction::Transaction;
use crate::resource::Catalogue;
use crate::stack;
use crate::store::Store;

/// The maximum number of steps that controllers take after a commit. A Deployment of a thousand Pods takes
/// half of them. Controllers that react to each other forever must not keep the lock. The remaining steps
/// wait for the next commit.
const STEPS: usize = 10_000;
/// The additional steps for each stored object. The deletion of a namespace or definition takes a few steps
/// for each object in it.
const STEPS_PER_OBJECT: usize = 10;

/// The objects, the resources and the controllers behind one lock.
pub struct Registry {
    clock: Clock,
    state: Mutex<Contents>,
    /// Notifies the driver of delayed work that the next due time may have changed.
    scheduled: Notify,
}

struct Contents {
    store: Store,
    catalogue: Catalogue,
    controllers: Vec<Box<dyn Controller>>,
}

impl Registry {
    /// Returns a registry with the built-in resources. Each table keeps `history` events.
    pub fn new(clock: Clock, history: usize, others: Vec<Box<dyn Controller>>) -> Self {
        let mut controllers: Vec<Box<dyn Controller>> = vec![Box::new(Definitions::default())];
        controllers.extend(others);
        let mut store = Store::new(history);
        let catalogue = Catalogue::builtin();
        for resource in catalogue.all().filter(|one| one.is_stored()) {
            store.open(resource.storage());
        }
        let state = Contents {
            store,
            catalogue,
            controllers,
        };
        Self {
            clock,
            state: Mutex::new(state),
            scheduled: Notify::new(),
        }
    }

    /// Returns the current time of the clock.
    pub fn now(&self) -> Timestamp {
        self.clock.timestamp()
    }

    /// Calls a function with the store and the catalogue under the lock.
    pub fn read<T>(&self, look: impl FnOnce(&Store, &Catalogue) -> T) -> T {
        let state = self.state.lock();
        look(&state.store, &state.catalogue)
    }

    /// Calls a function with a transaction under the lock, then runs the controllers until they have no work
    /// left.
    pub fn write<T>(&self, act: impl FnOnce(&mut Transaction<'_>) -> T) -> T {
        let now = self.now();
        let mut state = self.state.lock();
        let before = state.next_due();
        let answer = stack::with_room(|| {
            let answer = act(&mut state.transaction(now));
            state.drain(now);
            answer
        });
        if state.next_due() != before {
            self.scheduled.notify_one();
        }
        answer
    }

    /// Removes the past events, so that no watch can start before now.
    pub fn forget_history(&self) {
        self.state.lock().store.forget();
    }

    /// Runs the controllers that are due now.
    pub fn settle(&self) {
        self.write(|_| ());
    }

    /// Returns the earliest time at which a controller must run.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.state.lock().next_due()
    }

    /// Waits until `next_due` may have changed.
    pub async fn rescheduled(&self) {
        self.scheduled.notified().await;
    }
}

impl Contents {
    fn transaction(&mut self, now: Timestamp) -> Transaction<'_> {
        Transaction {
            store: &mut self.store,
            catalogue: &mut self.catalogue,
            now,
            manager: "kube-apiserver",
        }
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.controllers
            .iter()
            .filter_map(|one| one.next_due())
            .min()
    }

    fn drain(&mut self, now: Timestamp) {
        for _ in 0..STEPS + STEPS_PER_OBJECT * self.store.len() {
            if !self.step(now) {
                return;
            }
        }
        tracing::error!("controllers did not become idle: they keep changing objects");
    }

    /// Passes one event to all controllers, or runs those that are due. Returns false if there is nothing
    /// to do.
    fn step(&mut self, now: Timestamp) -> bool {
        let Self {
            store,
            catalogue,
            controllers,
        } = self;
        let event = store.next_unseen();
        let due = |one: &dyn Controller| one.next_due().is_some_and(|due| due <= now);
        if event.is_none() && !controllers.iter().any(|one| due(&**one)) {
            return false;
        }
        for controller in controllers.iter_mut() {
            let is_due = event.is_none() && due(&**controller);
            let mut tx = Transaction {
                store: &mut *store,
                catalogue: &mut *catalogue,
                now,
                manager: controller.manager(),
            };
            match &event {
                Some(event) => controller.observe(&mut tx, event),
                None if is_due => controller.tick(&mut tx),
                None => {}
            }
        }
        true
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registry")
    }
}
