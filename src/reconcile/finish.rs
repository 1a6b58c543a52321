//! Finishes a run: status, Events, report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::change::{changes_from_writes, describe_writes};
use super::conditions::{self, RunCounts, RunSummary};
use super::events::Event;
use super::outcome_mapping::RunEnd;
use super::prune::enumerate;
use super::report::{History, Report};
use super::run::Run;
use super::status::{self, DesiredStatus, RuntimeStatus, StatusWrite};
use super::{Mode, status_ownership, steps};
use crate::host::session::Unredacted;
use crate::model::condition::{Condition, ConditionStamp};
use crate::model::owner::field_manager;
use crate::model::{Outcome, PublicText, Reason, Redactor};
use crate::telemetry::log;
use crate::{clock, cluster};

/// The minimum time between runs. Without it, a role that requeues at once would run without end.
const MIN_REQUEUE: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Writes the status, sends Events and returns the report.
    pub(super) async fn finish(mut self, end: RunEnd) -> Report {
        let RunEnd {
            outcome,
            waits,
            gone,
        } = end;
        self.report.outcome = outcome;
        self.report.waits = waits;
        // A completed deletion run has released the finalizers, so the custom resource no longer exists.
        self.report.gone = gone || self.finalizing && self.report.outcome == Outcome::Done;
        let failed_before = self.failed_before();
        let mut history = History::clone(&self.input.history);
        self.write_step_marks().await;
        if !self.report.gone {
            self.add_steps_to_status().await;
            self.write_status(&mut history).await;
        }
        if !self.report.paused {
            self.send_outcome_event(failed_before);
            self.send_other_events();
            history.failed = matches!(
                self.report.outcome,
                Outcome::Failed { .. } | Outcome::Stalled { .. } | Outcome::Conflict { .. }
            );
        }
        self.report.history = if history == *self.input.history {
            Arc::clone(&self.input.history)
        } else {
            Arc::new(history)
        };
        self.into_report()
    }

    fn failed_before(&self) -> bool {
        if !self.input.watch.manage_status {
            return self.input.history.failed;
        }
        let list = self.cr.value()["status"]["conditions"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        conditions::indicate_failure(self.input.watch.conditions, list)
    }

    async fn write_status(&mut self, history: &mut History) {
        if self.cr.is_unreadable("status") {
            // A patch of an unknown status would replace the conditions of other clients.
            log::error!("cannot write the status: cannot read it");
            return;
        }
        let gathered_status = self.redacted_status();
        let gathered_conditions = self.redacted_conditions();
        let tally = self.tally();
        let now = self.context.clock.rfc3339();
        let outcome = self.report.outcome.clone();
        let situation = RunSummary {
            outcome: &outcome,
            finalizing: self.finalizing,
            role: &self.redactor.public(&self.input.watch.role),
            tally: &tally,
        };
        let manages = self.input.watch.manage_status && !self.report.effects.partial;
        let own = match (manages, self.report.paused) {
            (false, _) => RuntimeStatus::Unmanaged {
                complete: self.is_complete(&outcome) && !self.report.paused,
            },
            (true, true) => RuntimeStatus::Paused,
            (true, false) => RuntimeStatus::Finished(&situation),
        };
        let undeclared = self.undeclared_fields().await;
        let tries_again = undeclared.is_empty() && self.retries_dropped_fields();
        history.dropped.extend(undeclared);
        let nothing = BTreeSet::new();
        let wanted = DesiredStatus {
            role: &gathered_status,
            conditions: &gathered_conditions,
            style: self.input.watch.conditions,
            own,
            stamp: ConditionStamp {
                now: &now,
                generation: Some(self.input.cr.generation).filter(|generation| *generation > 0),
            },
            dropped: if tries_again {
                &nothing
            } else {
                &history.dropped
            },
        };
        if self.cr.uid.is_empty() {
            self.report.status = status::preview(&self.cr, &wanted);
            return;
        }
        match self.send_status(&wanted).await {
            Ok(Some(written)) => self.record_status_write(written, history),
            Ok(None) => {}
            Err(error) => self.report_unwritten(&error),
        }
    }

    fn report_unwritten(&mut self, error: &cluster::Error) {
        let what = "cannot write the status";
        let end = RunEnd::from_cluster_error(what, error, self.finalizing, &self.redactor);
        if let Outcome::Failed { message, .. } = &end.outcome {
            log::error!("cannot write the status", error = *message);
        }
        self.report.outcome = end.outcome;
    }

    /// Returns whether to send status fields again that the server dropped earlier. The CRD can
    /// have gained them, and runs with these reasons are rare.
    fn retries_dropped_fields(&self) -> bool {
        !matches!(
            self.input.reason,
            Reason::Child | Reason::Read | Reason::Resumed | Reason::Retry | Reason::Requeue
        )
    }

    async fn send_status(
        &mut self,
        wanted: &DesiredStatus<'_>,
    ) -> Result<Option<StatusWrite>, cluster::Error> {
        let kind = self.cluster.kind(&self.cr.gvk).await?;
        if !kind.is_some_and(|kind| kind.has_status) {
            let kind = self.cr.gvk.kind_group();
            let note = format!("{kind} has no status subresource: the operator writes no status");
            if self.context.warned.is_first(&note) {
                log::warn!("no status subresource", kind = self.cr.gvk);
            }
            self.report.notes.push(self.redactor.public(&note));
            return Ok(None);
        }
        match self.cluster.cached(&self.cr.object_ref()) {
            Some(None) => return Ok(Some(StatusWrite::Gone)),
            // A write of this run may be newer than the cache.
            Some(Some(cached)) if cached.resource_version == self.input.cr.resource_version => {}
            Some(Some(cached)) if cached.uid == self.cr.uid => self.cr.replace(cached),
            // Another object has the name. The server refuses the write, because it contains the uid.
            Some(Some(_)) | None => {}
        }
        status::write(&self.cluster, &self.cr, wanted)
            .await
            .map(Some)
    }

    /// Returns the fields of the runtime's own status that the CRD does not declare. After a start,
    /// the history is empty, and a status without conditions does not show whether the CRD allows
    /// them.
    async fn undeclared_fields(&self) -> BTreeSet<String> {
        let mut undeclared = BTreeSet::new();
        if self.input.reason != Reason::Startup || self.cr.json().contains("\"conditions\"") {
            return undeclared;
        }
        for field in ["conditions", "observedGeneration"] {
            if !self.cluster.has_status_field(&self.cr.gvk, field).await {
                undeclared.insert(format!("status.{field}"));
            }
        }
        undeclared
    }

    fn record_status_write(&mut self, written: StatusWrite, history: &mut History) {
        match written {
            StatusWrite::Unchanged(cr) => self.cr.replace(cr),
            StatusWrite::Changed {
                cr,
                dropped,
                all_dropped,
            } => {
                self.cr.replace(cr);
                self.report.status_written = true;
                let kind = self.cr.gvk.kind_group();
                for path in dropped {
                    let note =
                        format!("the server dropped {path}: the CRD of {kind} does not declare it");
                    self.report_dropped_field(&note, history);
                }
                history.dropped = all_dropped;
            }
            StatusWrite::Gone => {
                self.report.outcome = Outcome::Cancelled;
                self.report.gone = true;
            }
        }
        for (object, path) in std::mem::take(&mut self.unredacted.pruned_fields) {
            self.report_dropped_field(&format!("the server dropped {path} of {object}"), history);
        }
    }

    fn report_dropped_field(&mut self, note: &str, history: &mut History) {
        let note = self.redactor.public(note);
        if history.reported.insert(note.clone()) {
            log::warn!("the server dropped a field", note = note);
            self.send(Event::warning(&self.cr, "FieldDropped", note.clone()));
        }
        self.report.notes.push(note);
    }

    /// Returns the status of the role, with secrets masked.
    fn redacted_status(&self) -> Map<String, Value> {
        let mut status = Value::Object(self.unredacted.status.clone());
        self.redactor.value(&mut status);
        match status {
            Value::Object(status) => status,
            _ => Map::new(),
        }
    }

    fn redacted_conditions(&self) -> Vec<Condition> {
        let conditions = self.unredacted.conditions.iter();
        conditions
            .map(|condition| {
                Condition::new(
                    condition.kind.clone(),
                    condition.status,
                    self.public_reason(&condition.reason),
                    self.redactor.public(&condition.message),
                )
            })
            .collect()
    }

    /// Returns the reason without secrets, as one word, which the server requires.
    fn public_reason(&self, reason: &str) -> PublicText {
        let public = self.redactor.public(reason);
        if public == *reason {
            public
        } else {
            "Redacted".into()
        }
    }

    fn tally(&self) -> RunCounts {
        let failed = !matches!(self.report.outcome, Outcome::Done | Outcome::Waiting { .. });
        RunCounts {
            changed: self.report.effects.writes.len(),
            ok: self.report.effects.skipped,
            failures: self.report.effects.failed_applies.max(usize::from(failed)),
            skipped: self.skipped_steps(),
            completion: self
                .context
                .clock
                .timestamp()
                .strftime("%Y-%m-%dT%H:%M:%S%.6f")
                .to_string(),
        }
    }

    fn send_outcome_event(&self, failed_before: bool) {
        let cr = &*self.cr;
        match &self.report.outcome {
            Outcome::Failed { message, .. } | Outcome::Stalled { message } => {
                self.send(Event::warning(cr, "Failed", message.clone()));
            }
            Outcome::Conflict { message } => {
                self.send(Event::warning(cr, "Stalled", message.clone()));
            }
            Outcome::Done if failed_before && !self.finalizing => {
                self.send(Event::normal(
                    cr,
                    "Recovered",
                    "the run succeeded after a failure",
                ));
            }
            Outcome::Done | Outcome::Waiting { .. } | Outcome::Cancelled => {}
        }
    }

    /// Sends the Events of adopted objects and of the role, and adds notes to the report.
    fn send_other_events(&mut self) {
        if !self.report.effects.adopted.is_empty() {
            let names = enumerate(&self.report.effects.adopted);
            let note = format!("adopted existing objects: {names}");
            let note = self.redactor.public(&note);
            self.send(Event::normal(&self.cr, "Adopted", note));
        }
        for event in std::mem::take(&mut self.unredacted.events) {
            let message = self.redactor.public(&event.message);
            let told = Event::normal(&self.cr, "", message);
            let reason = self.public_reason(&event.reason);
            self.send(Event {
                warning: event.warning,
                reason,
                ..told
            });
        }
        for kind in std::mem::take(&mut self.report.effects.unwatched) {
            let note = format!(
                "cannot watch {kind}: changes will not trigger a run (missing list, watch)"
            );
            if self.context.warned.is_first(&note) {
                log::warn!(
                    "cannot watch: changes will not trigger a run",
                    kind = self.redactor.public(&kind)
                );
            }
            self.report.notes.push(self.redactor.public(&note));
        }
        if self.report.effects.unreachable && self.input.mode != Mode::Operator {
            self.report.notes.push(
                "garbage collection cannot reach some objects; \
                 this command adds no finalizer for them, but the operator does"
                    .into(),
            );
        }
    }

    fn into_report(mut self) -> Report {
        let report = &mut self.report;
        let manager = field_manager(&self.cr.object_ref());
        report.status_digest = status_ownership::digest(&self.cr, self.cr.value(), &manager);
        if self.input.mode != Mode::Operator {
            let states = &self.unredacted.writes;
            let (mut changes, order) =
                changes_from_writes(&report.effects.writes, states, &self.redactor);
            steps::assign_steps(&mut changes, &order, &report.effects.steps);
            report.changes = changes;
            if !self.cr.uid.is_empty() {
                report.status = self.cr.value()["status"].clone();
                self.redactor.value(&mut report.status);
            }
        }
        report.cr = self.cr.into_object();
        let requested = report.effects.requested_requeue;
        let earliest = [report.requeue_after, requested]
            .into_iter()
            .flatten()
            .min();
        report.requeue_after = earliest.map(|after| after.max(MIN_REQUEUE));
        report.took = clock::now() - self.started;
        log_end(&self.report, &self.unredacted, &self.redactor);
        self.report
    }
}

/// Logs the end of a run: at info if the run wrote or did not succeed, otherwise at debug. The span names the
/// custom resource and the trigger.
fn log_end(report: &Report, output: &Unredacted, redactor: &Redactor) {
    let is_well = matches!(report.outcome, Outcome::Done | Outcome::Waiting { .. });
    let is_quiet = is_well && report.effects.writes.is_empty() && !report.status_written;
    let changes = describe_writes(&report.effects.writes, &output.writes);
    macro_rules! log_at {
        ($level:ident) => {
            log::$level!(
                "run ended",
                outcome = report.outcome.as_str(),
                why = report.outcome.message().cloned(),
                writes = report.effects.writes.len(),
                changes = redactor.public(&changes),
                status_written = report.status_written,
                took = report.took
            )
        };
    }
    if is_quiet {
        log_at!(debug);
    } else {
        log_at!(info);
    }
}
