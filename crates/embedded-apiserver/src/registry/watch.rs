//! Watches: cursors into the events of a table.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::encode;
use super::request::ResourceRequest;
use super::store_lock::Registry;
use crate::error::ApiError;
use crate::select::Selection;
use crate::stack;
use crate::store::{Change, Event, ResourceTable, Subscription};
use clock::Instant;

/// The time between bookmarks. The real server sends one about each minute.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);

/// The options of a watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchOptions {
    /// The selected objects.
    pub selection: Selection,
    /// The resourceVersion to start after. Without one, or with 0, the watch starts with all objects.
    pub revision: Option<u64>,
    /// True if the client accepts bookmarks.
    pub bookmarks: bool,
    /// `sendInitialEvents`
    pub initial_events: Option<bool>,
    /// The maximum duration of the watch.
    pub timeout: Duration,
}

/// An event that a watch sends.
#[derive(Debug, Clone)]
pub(crate) enum WatchEvent {
    /// A changed object, in the version of the request.
    Object(Change, Arc<Value>),
    /// All events up to this revision are sent. The flag marks the end of the initial events.
    Bookmark(u64, bool),
    /// The error that ends the watch.
    Failed(ApiError),
}

/// A watch.
#[derive(Debug)]
pub(crate) struct Watch {
    registry: Arc<Registry>,
    call: ResourceRequest,
    options: WatchOptions,
    /// The resourceVersion up to which all events are sent.
    cursor: u64,
    subscription: Option<Subscription>,
    /// The events to send before the events of writes.
    first: Vec<WatchEvent>,
    ends: Instant,
    bookmark: Instant,
}

impl Watch {
    /// Begins to watch the resource of a call.
    pub(crate) fn open(
        registry: &Arc<Registry>,
        call: ResourceRequest,
        options: WatchOptions,
    ) -> Self {
        let begun = clock::now();
        let mut watch = Self {
            registry: Arc::clone(registry),
            cursor: options.revision.unwrap_or(0),
            ends: begun + options.timeout,
            bookmark: begun + BOOKMARK_PERIOD,
            subscription: None,
            first: Vec::new(),
            call,
            options,
        };
        watch.begin();
        watch
    }

    /// Waits for the next events. Returns nothing at the end of the watch.
    pub(crate) async fn next(&mut self) -> Option<Vec<WatchEvent>> {
        if !self.first.is_empty() {
            return Some(std::mem::take(&mut self.first));
        }
        loop {
            self.subscription.as_ref()?;
            let news = stack::with_room(|| self.new_events());
            if !news.is_empty() {
                return Some(news);
            }
            let wake = self.ends.min(self.bookmark);
            let subscription = self.subscription.as_mut()?;
            tokio::select! {
                alive = subscription.changed() => {
                    if !alive {
                        return None;
                    }
                }
                () = clock::sleep_until(wake) => {
                    if wake == self.ends {
                        return None;
                    }
                    self.bookmark += BOOKMARK_PERIOD;
                    if self.options.bookmarks {
                        return Some(vec![WatchEvent::Bookmark(self.reached(), false)]);
                    }
                }
            }
        }
    }

    /// Subscribes to the table, and collects the existing objects if the client requested them.
    fn begin(&mut self) {
        let registry = Arc::clone(&self.registry);
        registry.read(|store, _| {
            let Some(table) = store.table(self.call.resource.storage()) else {
                return;
            };
            self.subscription = Some(table.subscribe());
            let from_any = self.cursor == 0;
            if self.options.initial_events.unwrap_or(from_any) {
                self.first = self.initial(table);
                self.cursor = store.revision();
                if self.options.initial_events == Some(true) && self.options.bookmarks {
                    self.first.push(WatchEvent::Bookmark(self.cursor, true));
                }
            } else if from_any {
                self.cursor = store.revision();
            }
        });
    }

    fn initial(&self, table: &ResourceTable) -> Vec<WatchEvent> {
        let ResourceRequest {
            resource,
            version,
            namespace,
            ..
        } = &self.call;
        let selection = &self.options.selection;
        table
            .list(Some(&**namespace).filter(|one| !one.is_empty()))
            .filter(|(key, object)| selection.matches(resource, key, object))
            .map(|(_, stored)| {
                WatchEvent::Object(Change::Added, encode::presented(resource, version, stored))
            })
            .collect()
    }

    /// Returns the events since the cursor that concern this watch.
    fn new_events(&mut self) -> Vec<WatchEvent> {
        let registry = Arc::clone(&self.registry);
        let storage = self.call.resource.storage();
        let read = registry.read(|store, _| {
            let table = store.table(storage)?;
            Some(table.events_after(self.cursor))
        });
        let events = match read {
            None => {
                self.subscription = None;
                return Vec::new();
            }
            Some(Ok(events)) => events,
            Some(Err(expired)) => {
                self.subscription = None;
                let message = format!(
                    "too old resource version: {} ({})",
                    self.cursor, expired.oldest
                );
                let error = ApiError::expired(message);
                return vec![WatchEvent::Failed(error)];
            }
        };
        if let Some(last) = events.last() {
            self.cursor = last.revision;
        }
        events
            .iter()
            .filter_map(|event| self.to_watch_event(event))
            .collect()
    }

    /// Converts a write to the event of this watch: the selection can start or stop matching the object.
    fn to_watch_event(&self, event: &Event) -> Option<WatchEvent> {
        let ResourceRequest {
            resource,
            version,
            namespace,
            ..
        } = &self.call;
        if !namespace.is_empty() && event.key.namespace() != namespace {
            return None;
        }
        let selection = &self.options.selection;
        let fits = |object: &Arc<Value>| selection.matches(resource, &event.key, object);
        let was = event.previous.as_ref().is_some_and(fits);
        let is = event.change != Change::Deleted && fits(&event.object);
        let shown = |stored: &Arc<Value>| encode::presented(resource, version, stored);
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(WatchEvent::Object(Change::Added, shown(&event.object))),
            (true, true) => Some(WatchEvent::Object(Change::Modified, shown(&event.object))),
            (true, false) if event.change == Change::Deleted => {
                Some(WatchEvent::Object(Change::Deleted, shown(&event.object)))
            }
            // The object still exists, but the selection no longer matches it. The event has its previous
            // content and the new revision.
            (true, false) => {
                let mut left = (**event.previous.as_ref()?).clone();
                left["metadata"]["resourceVersion"] = event.revision.to_string().into();
                Some(WatchEvent::Object(Change::Deleted, shown(&Arc::new(left))))
            }
        }
    }

    /// Returns the revision up to which all events are sent.
    fn reached(&self) -> u64 {
        let storage = self.call.resource.storage();
        self.registry.read(|store, _| {
            let events = store
                .table(storage)
                .map(|table| table.events_after(self.cursor));
            match events {
                Some(Ok(events)) if events.is_empty() => self.cursor.max(store.revision()),
                _ => self.cursor,
            }
        })
    }
}
