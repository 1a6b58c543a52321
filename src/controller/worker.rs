//! Executes one run: prepares its input, and determines the continuation.

use std::sync::Arc;
use std::time::Duration;

use super::change_predicate::TriggerState;
use super::kinds::ServedKind;
use super::period;
use super::queue::{Key, Next, Slot, Work};
use super::shared::Shared;
use crate::model::{Object, ObjectRef, Outcome, Reason, Redactor};
use crate::reconcile::{self, Input, Mode, Report};
use crate::telemetry::log;
use crate::telemetry::metrics::ReconcileResult;

/// The time that a run may take beyond its timeout (status, Events) before it counts as stuck.
const GRACE: Duration = Duration::from_mins(1);

impl Shared {
    /// Executes one run.
    pub(super) async fn execute(self: Arc<Self>, slot: Slot) {
        let work = slot.work();
        let Some(served) = self.kinds.by_id(work.key.kind) else {
            self.forget(&work.key);
            return slot.finish(Next::Done);
        };
        let then = self.run(&served, work).await;
        slot.finish(then);
    }

    async fn run(&self, served: &ServedKind, work: &Work) -> Next {
        let key = &work.key;
        let Some(cr) = served.get(key) else {
            self.forget(key);
            return Next::Done;
        };
        if work.rate_limited {
            self.report_rate(work, &cr);
        }
        if cr.unreadable.is_some() {
            served.metrics.unreadable();
        }
        let state = TriggerState::new(&cr, served.watch.watch_annotations);
        let Some(history) = self.index.write().start(key, state) else {
            return Next::Done;
        };
        let input = Input {
            cr: Arc::clone(&cr),
            watch: Arc::clone(&served.watch),
            roles: Arc::clone(&served.roles),
            reason: work.reason,
            mode: Mode::Operator,
            cancel: work.cancel.clone(),
            history,
        };
        self.fetch_conflicting_managers(key).await;
        let beat = self
            .watchdog
            .heartbeat(&format!("run of {}", served.object_ref(key)));
        beat.arm(served.watch.timeout + GRACE);
        let report = reconcile::reconcile(&self.context, input.clone()).await;
        self.conclude(served, work, input, report).await
    }

    fn report_rate(&self, work: &Work, cr: &Object) {
        let runs = self.settings.run_rate.per_minute;
        let note = format!(
            "more than {runs} runs in a minute, the last trigger is \"{}\": runs are delayed",
            work.reason
        );
        log::warn!(
            "runs are delayed",
            object = cr.object_ref(),
            reason = work.reason,
            maximum = runs.get()
        );
        let note = Redactor::default().public(&note);
        self.context.events.warn(cr, "RateLimited", note);
    }

    async fn conclude(
        &self,
        served: &ServedKind,
        work: &Work,
        input: Input,
        report: Report,
    ) -> Next {
        let key = &work.key;
        served.metrics.script_ran(report.script_took);
        if let Some(limit) = report.limit {
            served.metrics.limit_hit(limit);
        }
        for (function, calls) in &report.effects.calls {
            self.metrics.host_calls(function, *calls);
        }
        for (action, count) in report.effects.actions.iter() {
            self.metrics.applied(action.as_str(), count);
        }
        self.metrics.pruned(report.pruned.len());
        if let Some(observer) = &self.observer {
            observer.run_ended(work.reason, &report);
        }
        if report.gone {
            self.forget(key);
            return Next::Done;
        }
        let report = match self.detect_conflict(key, &report) {
            Some(outcome) => {
                let mut declared = reconcile::record_outcome(&self.context, input, outcome).await;
                declared.effects = report.effects;
                declared.waits = report.waits;
                declared
            }
            None => report,
        };
        let former = self.index.write().finish(key, &report);
        drop(former);
        self.requeue_if_stale(served, key, &report);
        self.next_step(served, &report)
    }

    /// Queues the custom resource again if an object that the run read changed before its subscriptions
    /// were registered, or by a write of this process.
    fn requeue_if_stale(&self, served: &ServedKind, key: &Key, report: &Report) {
        // The writes of a failing run must not shorten its own backoff.
        let own: &[ObjectRef] = match report.outcome {
            Outcome::Failed { .. } => &report.effects.writes,
            _ => &[],
        };
        if self.context.cluster.is_stale(&report.effects.reads, own) {
            self.queue.add(key, Reason::Read, 0);
        }
        if let Some(cr) = served.get(key)
            && cr.resource_version != report.cr.resource_version
        {
            self.observe(served, &cr);
        }
    }

    fn next_step(&self, served: &ServedKind, report: &Report) -> Next {
        if report.paused {
            return Next::Done;
        }
        let ending = match &report.outcome {
            Outcome::Done if report.requeue_after.is_some() => ReconcileResult::RequeueAfter,
            Outcome::Done => ReconcileResult::Success,
            Outcome::Waiting { .. } => ReconcileResult::Requeue,
            Outcome::Stalled { .. } => ReconcileResult::TerminalError,
            Outcome::Failed { after, .. } => {
                return Next::Retry {
                    not_before: after.unwrap_or_default(),
                };
            }
            Outcome::Conflict { .. } => {
                return Next::Pause {
                    delay: self.settings.conflicts.pause,
                };
            }
            Outcome::Cancelled => return Next::Requeue,
        };
        let (every, bad) =
            period::effective_period(&report.cr, &served.watch, self.settings.period);
        if let Some(bad) = bad {
            let note = format!(
                "{}: ignoring invalid duration {:?}: expected a Go duration such as 1m30s",
                bad.key, bad.value
            );
            let note = Redactor::new(&report.cr).public(&note);
            self.context.events.warn(&report.cr, "BadAnnotation", note);
        }
        let period = every.map(|every| (period::shorten_randomly(every), Reason::Period));
        let requeue = report.requeue_after.map(|after| (after, Reason::Requeue));
        match [requeue, period].into_iter().flatten().min() {
            Some((delay, reason)) => Next::At {
                delay,
                reason,
                ending,
            },
            None => Next::DoneAs { ending },
        }
    }
}
