//! Events of `events.k8s.io/v1` about custom resources.
//!
//! A run puts its Events into a queue, and a task sends them. An Event that repeats is counted as a
//! series instead of sent again, and each custom resource has a rate limit (`event_aggregator`). If the
//! queue is full or the server refuses an Event, it is lost and logged.

mod event;
mod event_aggregator;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument;

pub(super) use self::event::Event;
use self::event_aggregator::{Aggregator, Decision, Series};
use crate::clock::{self, Clock};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::cluster::{Cluster, Error, ErrorKind};
use crate::model::{Gvk, Object, ObjectRef, PublicText};
use crate::telemetry::log;

/// The reporting controller of the Events.
const CONTROLLER: &str = "rhai-operator";
/// Capacity of the queue: some seconds of a busy operator.
const QUEUE: usize = 1024;
/// Maximum length of a note in bytes; `events.k8s.io/v1` requires less than 1 KiB.
const MAX_NOTE: usize = 1000;
/// Maximum length of a reason in characters.
const MAX_REASON: usize = 128;

/// Sends Events in the background, aggregated to series and with a rate limit.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Command>,
}

enum Command {
    Send(Event),
    Flush(oneshot::Sender<()>),
}

impl Recorder {
    /// Starts a recorder for a cluster, with a task on the current runtime. The task ends with the
    /// last clone of the recorder.
    pub fn spawn(cluster: Cluster, clock: Clock) -> Self {
        let (queue, commands) = mpsc::channel(QUEUE);
        let sender = EventSender {
            cluster,
            clock,
            aggregator: Aggregator::default(),
            instance: instance(),
        };
        tokio::spawn(sender.run(commands).instrument(log::span!("events")));
        Self { queue }
    }

    /// Queues an Event.
    pub(super) fn send(&self, event: Event) {
        // An object without a uid does not exist on the server.
        if event.uid.is_empty() {
            return;
        }
        if let Err(error) = self.queue.try_send(Command::Send(event)) {
            log::warn!(
                "cannot send an Event",
                error = PublicText::outside_runs(error)
            );
        }
    }

    /// Queues an Event of type `Warning`.
    pub fn warn(&self, cr: &Object, reason: &'static str, note: impl Into<PublicText>) {
        self.send(Event::warning(cr, reason, note));
    }

    /// Waits until all queued Events are sent, for example before a command ends.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Command::Flush(done)).await.is_ok() {
            // An error means that the task has ended.
            let _ = flushed.await;
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// Returns the name of the Pod, which identifies the replica.
fn instance() -> Arc<str> {
    let name = |key| std::env::var(key).ok().filter(|name| !name.is_empty());
    let name = name("POD_NAME").or_else(|| name("HOSTNAME"));
    let name = name.as_deref().unwrap_or(CONTROLLER);
    name[..name.floor_char_boundary(MAX_REASON)].into()
}

struct EventSender {
    cluster: Cluster,
    clock: Clock,
    aggregator: Aggregator,
    instance: Arc<str>,
}

impl EventSender {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let due = self.aggregator.due();
            let command = tokio::select! {
                command = commands.recv() => command,
                () = wait_until(due) => {
                    self.send_counts(false).await;
                    continue;
                }
            };
            match command {
                Some(Command::Send(event)) => self.record(event).await,
                Some(Command::Flush(done)) => {
                    self.send_counts(true).await;
                    // The caller may no longer wait.
                    let _ = done.send(());
                }
                None => return self.send_counts(true).await,
            }
        }
    }

    async fn record(&mut self, event: Event) {
        let stamp = self.clock.timestamp();
        match self.aggregator.add(&event, clock::now(), stamp) {
            Decision::Count => {}
            Decision::Drop => {
                log::debug!("Event not sent: rate limit", "object.ref" = event.regarding);
            }
            Decision::Send(name) => {
                let body = self.body(&event, &name, stamp);
                let (kind, namespace) = (kind(), event.namespace());
                let options = WriteOptions {
                    manager: CONTROLLER.into(),
                    ..Default::default()
                };
                let sent = self
                    .cluster
                    .create(&kind, Some(namespace), body.into(), &options);
                if let Err(error) = sent.await {
                    self.aggregator.forget(&event);
                    log_lost(&error);
                }
            }
        }
    }

    /// Sends the counts of series that are due, or all unsent ones.
    async fn send_counts(&mut self, all: bool) {
        for series in self.aggregator.take_due(clock::now(), all) {
            let Series {
                namespace,
                name,
                count,
                last,
            } = series;
            let series = json!({"count": count, "lastObservedTime": micro_time(last)});
            let body = json!({"series": series}).to_string();
            let event = ObjectRef::new(kind(), Some(&namespace), &name);
            let options = WriteOptions {
                manager: CONTROLLER.into(),
                ..Default::default()
            };
            let sent = self
                .cluster
                .patch(&event, PatchKind::Merge, body.into(), &options);
            if let Err(error) = sent.await {
                log_lost(&error);
            }
        }
    }

    fn body(&self, event: &Event, name: &str, stamp: Timestamp) -> String {
        let Event {
            regarding,
            uid,
            warning,
            reason,
            note,
        } = event;
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": event.namespace()},
            "eventTime": micro_time(stamp),
            "reportingController": CONTROLLER,
            "reportingInstance": &*self.instance,
            "action": "Reconcile",
            "type": if *warning { "Warning" } else { "Normal" },
            "reason": reason.clone().shorten(MAX_REASON),
            "note": note.clone().shorten(MAX_NOTE),
            "regarding": {
                "apiVersion": regarding.gvk.api_version(),
                "kind": &*regarding.gvk.kind,
                "name": &*regarding.name,
                "uid": uid,
            },
        });
        if let Some(namespace) = &regarding.namespace {
            body["regarding"]["namespace"] = Value::from(&**namespace);
        }
        body.to_string()
    }
}

async fn wait_until(due: Option<clock::Instant>) {
    match due {
        Some(due) => clock::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Logs a lost Event. In a terminating namespace, and for a deleted Event, the loss has no consequence.
fn log_lost(error: &Error) {
    match error.kind {
        ErrorKind::NamespaceTerminating | ErrorKind::NotFound => {
            log::debug!(
                "cannot send an Event",
                error = PublicText::from(error.kind.as_str())
            );
        }
        _ => log::warn!(
            "cannot send an Event",
            error = PublicText::outside_runs(error)
        ),
    }
}

fn kind() -> Gvk {
    Gvk::new("events.k8s.io", "v1", "Event")
}

/// Formats a `metav1.MicroTime`, which has exactly six decimal digits.
fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_times_have_six_digits() {
        let time: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(micro_time(time), "2026-01-02T03:04:05.000000Z");
        let time: Timestamp = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
        assert_eq!(micro_time(time), "2026-01-02T03:04:05.123456Z");
    }
}
