//! Watches: each keeps a cache of the objects that it selects and notifies listeners of changes.
//!
//! # Guarantees
//! - A listener gets every lasting change, also deletions while the connection was lost.
//! - A listener does not get writes of this process, whether the answer or the event comes first. It gets
//!   a foreign change between the cached state and such a write.
//! - A cache never goes back in time: the newer resource version wins.
//! - A dead connection is detected within the watch timeout and a few seconds.

mod cache;
mod change;
mod claims;
mod listeners;
mod registry;
mod running_watch;
mod scope;
mod spec;
mod subscription;
mod task;
mod wire;

pub use self::cache::Record;
pub(super) use self::cache::{WriteResult, compare};
pub use self::change::ObjectChange;
pub(super) use self::registry::{WatchRegistry, WriteGuard};
pub use self::running_watch::{Listener, Watch, WatchId, WatchState};
pub use self::scope::Scope;
pub use self::spec::{Content, Purpose, WatchSpec};
pub use self::subscription::Subscription;
pub(super) use self::wire::{list_call, parse_page, push_parameter};
