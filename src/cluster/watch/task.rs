//! The task of one watch: finds the kind, lists, follows the server, and lists again if necessary.
//!
//! Each watch has its own task, span and backoff, so that one that fails does not hold up others.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use super::listeners::Listeners;
use super::wire::{self, EventStream, WatchEvent};
use super::{Purpose, Watch, WatchSpec, WatchState};
use crate::backoff::Backoff;
use crate::clock;
use crate::cluster::api_call::{ApiCall, Deadlines, RetryPolicy};
use crate::cluster::discovery::Discovery;
use crate::cluster::error::{Error, ErrorKind};
use crate::cluster::{ApiKind, Settings, Transport};

/// The backoff after failures: the watch finds a server that recovers within ten seconds.
const FAILING: Backoff = Backoff {
    initial: Duration::from_millis(300),
    max: Duration::from_secs(10),
    jitter: 0.3,
};
/// The backoff while the watch is forbidden. It is long, because people grant permissions.
const FORBIDDEN: Backoff = Backoff {
    initial: Duration::from_secs(2),
    max: Duration::from_secs(15),
    jitter: 0.2,
};
/// The backoff of a forbidden watch on references. It is longer, because runs read live and do not wait
/// for the watch.
const FORBIDDEN_REFERENCE: Backoff = Backoff {
    max: Duration::from_mins(1),
    ..FORBIDDEN
};
/// The backoff for a kind that is not served. The watch on CRDs reports new kinds. The first requests are
/// frequent nevertheless, because the discovery of a server lags behind its CRDs.
const ABSENT: Backoff = Backoff {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(20),
    jitter: 0.2,
};
use crate::model::redact::PublicText;
use crate::model::redact::VariantName;
use crate::telemetry::log;
/// After this number of consecutive refusals, the watch lists again. A cluster that was restored from a
/// backup has not reached the version of the watch, and answers with a timeout.
const DOUBTFUL: u32 = 3;
/// The tolerance for the end of a watch after the server's timeout.
const MARGIN: Duration = Duration::from_secs(5);
/// A watch that the server ends before this time without an event counts as a failure.
const TOO_SHORT: Duration = Duration::from_secs(1);

/// The task of a watch.
pub(super) struct WatchTask {
    pub(super) watch: Arc<Watch>,
    pub(super) transport: Transport,
    pub(super) settings: Settings,
    pub(super) discovery: Arc<Discovery>,
    pub(super) listeners: Arc<Listeners>,
}

/// Returns the longest silence of a healthy watch: a whole connection, or the longest backoff.
pub(super) fn silence_bound(settings: &Settings) -> Duration {
    settings.watch_timeout + MARGIN + Duration::from_mins(1) + settings.attempt_timeout
}

/// The end of a round of the watch.
enum RoundEnd {
    /// The server ended the connection without an error: follow from the same version.
    Continue,
    /// The round failed: continue after the backoff.
    Failed(Error),
}

/// Returns whether a list can help: not if the server is down or busy, or refuses the credentials.
fn is_version_suspect(error: &Error) -> bool {
    let answered = error
        .code
        .is_some_and(|code| !matches!(code, 401 | 429 | 503));
    answered || error.kind == ErrorKind::Malformed
}

impl WatchTask {
    pub(super) fn spawn(self) {
        let WatchSpec {
            gvk,
            namespace,
            purpose,
            ..
        } = &self.watch.spec;
        let namespace = namespace.as_deref().unwrap_or("*");
        let span = log::span!(
            "watch",
            kind = *gvk,
            namespace = PublicText::outside_runs(namespace),
            purpose = VariantName(*purpose),
        );
        let stop = self.watch.stop.clone();
        let run = async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.run() => {}
            }
        };
        tokio::spawn(run.instrument(span));
    }

    async fn run(&self) {
        let mut version: Option<Box<str>> = None;
        let mut failures = 0;
        loop {
            self.watch.touch();
            let error = match self.round(&mut version, &mut failures).await {
                RoundEnd::Continue => continue,
                RoundEnd::Failed(error) => error,
            };
            failures += 1;
            self.recover(error, failures, &mut version).await;
        }
    }

    /// Executes one round: a list if there is no version to follow from, then a watch until it ends.
    async fn round(&self, version: &mut Option<Box<str>>, failures: &mut u32) -> RoundEnd {
        let kind = match self
            .discovery
            .kind(&self.watch.spec.gvk, RetryPolicy::Never)
            .await
        {
            Ok(Some(kind)) => kind,
            Ok(None) => return RoundEnd::Failed(self.watch.kind_absent()),
            Err(error) => return RoundEnd::Failed(error),
        };
        let from = match version.take() {
            Some(from) => from,
            None => match self.list(&kind).await {
                Ok(listed) => listed,
                Err(error) => return RoundEnd::Failed(error),
            },
        };
        let follow = version.insert(from);
        self.follow(&kind, follow, failures).await
    }

    /// Sets the state after a failure, and waits for the backoff.
    async fn recover(&self, error: Error, failures: u32, version: &mut Option<Box<str>>) {
        let gvk = &self.watch.spec.gvk;
        let mut changes = self.discovery.changes();
        match error.kind {
            ErrorKind::Gone => {
                log::debug!("the version is too old: listing again");
                *version = None;
                // One expiry is normal; repeated expiries are not.
                if failures > 1 {
                    clock::sleep(FAILING.delay(failures)).await;
                }
            }
            ErrorKind::KindAbsent if self.discovery.known(gvk).is_some() => {
                self.discovery.invalidate(gvk);
                if failures > 1 {
                    clock::sleep(FAILING.delay(failures)).await;
                }
            }
            ErrorKind::KindAbsent => {
                *version = None;
                self.kind_removed();
                tokio::select! {
                    _ = changes.changed() => {}
                    () = clock::sleep(ABSENT.delay(failures)) => {}
                }
                self.discovery.invalidate(gvk);
            }
            ErrorKind::Forbidden => {
                // The cached objects are kept, to compare them with the next list.
                *version = None;
                self.watch.store.lock().interrupt();
                let backoff = match self.watch.spec.purpose {
                    Purpose::Reference => FORBIDDEN_REFERENCE,
                    Purpose::Primary | Purpose::Children => FORBIDDEN,
                };
                self.enter(&WatchState::Forbidden(error));
                clock::sleep(backoff.delay(failures)).await;
            }
            // The first retry after a closed connection is immediate, before the state changes.
            ErrorKind::Unreachable if failures == 1 && version.is_some() => {
                log::debug!("connection lost", error = PublicText::outside_runs(&error));
            }
            _ => {
                let delay = error.after.unwrap_or_else(|| FAILING.delay(failures));
                if failures >= DOUBTFUL && is_version_suspect(&error) {
                    *version = None;
                }
                self.fail(error);
                clock::sleep(delay).await;
            }
        }
    }

    async fn list(&self, kind: &ApiKind) -> Result<Box<str>, Error> {
        let WatchSpec {
            gvk,
            namespace,
            labels,
            content,
            ..
        } = &self.watch.spec;
        let floor = self.watch.store.lock().newest();
        let parameters = [("labelSelector", labels.to_string())];
        let mut page: Option<String> = None;
        let mut first: Option<Box<str>> = None;
        loop {
            let namespace = namespace.as_deref();
            let call = wire::list_call(kind, namespace, &parameters, *content, page.as_deref());
            let call = ApiCall {
                retry: RetryPolicy::Never,
                ..call
            };
            let bounds = Deadlines::default();
            let answer = call.send(&self.transport, &self.settings, &bounds).await?;
            let part = wire::parse_page(gvk, *content, &answer.body, &call.target)?;
            self.watch.touch();
            let version = first.get_or_insert_with(|| {
                let mut store = self.watch.store.lock();
                store.list_begins(&part.resource_version, &floor);
                part.resource_version.clone()
            });
            for cause in &part.malformed {
                wire::report_malformed(gvk, cause);
            }
            for object in part.objects {
                let change = self.watch.store.lock().listed(object);
                self.listeners.notify(&self.watch, change);
            }
            page = part.next;
            if page.is_none() {
                let changes = self.watch.store.lock().list_ends(version);
                self.listeners.notify(&self.watch, changes);
                let version = version.clone();
                self.enter(&WatchState::Synced);
                return Ok(version);
            }
        }
    }

    /// Follows the server from a version until the watch ends.
    async fn follow(&self, kind: &ApiKind, version: &mut Box<str>, failures: &mut u32) -> RoundEnd {
        let timeout = self.settings.watch_timeout;
        let call = wire::watch_call(&self.watch.spec, kind, version, timeout);
        let opened = clock::now();
        let body = match call.open(&self.transport, &self.settings).await {
            Ok(body) => body,
            Err(error) => return RoundEnd::Failed(error),
        };
        self.enter(&WatchState::Synced);
        let mut events = EventStream::new(
            &self.watch,
            call.target.clone(),
            body,
            opened + timeout + MARGIN,
        );
        let mut heard = false;
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) if heard || opened.elapsed() >= TOO_SHORT => {
                    *failures = 0;
                    return RoundEnd::Continue;
                }
                Ok(None) => {
                    let words = "the server ended the watch without an event";
                    return RoundEnd::Failed(Error::local(
                        ErrorKind::ServerError,
                        words,
                        call.target,
                    ));
                }
                Err(error) => return RoundEnd::Failed(error),
            };
            if !heard {
                *failures = 0;
                heard = true;
            }
            self.watch.touch();
            *version = self.take(event);
        }
    }

    /// Adds an event to the cache, notifies listeners, and returns its version.
    fn take(&self, event: WatchEvent) -> Box<str> {
        let (change, version) = match event {
            WatchEvent::Applied(object) => {
                let version = object.resource_version.clone();
                (self.watch.store.lock().applied(&object), version)
            }
            WatchEvent::Deleted(object) => {
                let change = self.watch.store.lock().deleted(&object);
                (change, object.resource_version.clone())
            }
            WatchEvent::Bookmark(version) => return version,
        };
        self.listeners.notify(&self.watch, change);
        version
    }

    /// Handles a kind that is not served, or not any more.
    fn kind_removed(&self) {
        let changes = self.watch.store.lock().clear();
        self.enter(&WatchState::KindAbsent);
        self.listeners.notify(&self.watch, changes);
    }

    fn fail(&self, error: Error) {
        let since = match &*self.watch.state.borrow() {
            WatchState::Failing { since, .. } => *since,
            _ => clock::now(),
        };
        self.enter(&WatchState::Failing { since, error });
    }

    /// Sets the state, and notifies listeners if it changed.
    fn enter(&self, state: &WatchState) {
        let same = {
            let before = self.watch.state.borrow();
            std::mem::discriminant(&*before) == std::mem::discriminant(state)
        };
        if !same {
            self.log_state(state);
        }
        // Set before the notification, so that a listener reads the new state.
        self.watch.state.send_replace(state.clone());
        if !same {
            let closed = self.watch.closed.lock();
            if !*closed {
                self.listeners.notify_state(&self.watch, state);
            }
        }
    }
    fn log_state(&self, state: &WatchState) {
        match (state, self.watch.spec.purpose) {
            (WatchState::Starting, _) => {}
            (WatchState::Synced, _) => log::debug!("synced", objects = self.watch.len()),
            (WatchState::Forbidden(error), Purpose::Primary) => {
                log::warn!(
                    "cannot watch custom resources",
                    error = PublicText::outside_runs(error)
                );
            }
            // Runs warn about kinds that they read, and applies work without a watch.
            (WatchState::Forbidden(error), _) => {
                log::debug!(
                    "cannot watch: forbidden",
                    error = PublicText::outside_runs(error)
                );
            }
            // A role can check for an optional kind.
            (WatchState::KindAbsent, Purpose::Reference) => {
                log::info!("the cluster does not serve this kind");
            }
            (WatchState::KindAbsent, _) => {
                log::warn!("the cluster does not serve this kind");
            }
            (WatchState::Failing { error, .. }, _) => {
                log::warn!(
                    "cannot watch: retrying",
                    error = PublicText::outside_runs(error)
                );
            }
        }
    }
}
