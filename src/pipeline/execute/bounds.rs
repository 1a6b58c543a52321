//! Bounds the waiting time and the failures of a step over all runs.

use std::time::Duration;

use jiff::Timestamp;
use rhai::NativeCallContext;

use super::evaluate;
use super::executor::Executor;
use super::failure::{Failure, Wait, timed_out};
use super::outcome::StepOutcome;
use crate::host::HostResult;
use crate::pipeline::step::Step;
use crate::pipeline::{StepHistory, StepRecord};
use crate::script;

impl Executor<'_> {
    /// Applies the timeout and the retries of a step to its outcome.
    pub(super) fn bounded(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        path: String,
        outcome: StepOutcome,
    ) -> HostResult<StepOutcome> {
        let outcome = match (outcome, step.timeout) {
            (StepOutcome::Waiting(waits), Some(timeout)) => {
                self.waiting(cx, step, &path, (waits, timeout))?
            }
            (outcome, _) => outcome,
        };
        let StepOutcome::Failed(failures) = outcome else {
            return Ok(outcome);
        };
        let mut record = self.record(&path);
        let failures = count_failure(step.retries, &mut record.failures, failures);
        if record != StepRecord::default() {
            self.set_record(path, record);
        }
        Ok(StepOutcome::Failed(failures))
    }

    /// Returns the outcome of a step that waits: a failure if its timeout has passed.
    fn waiting(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        path: &str,
        (waits, timeout): (Vec<Wait>, Duration),
    ) -> HostResult<StepOutcome> {
        let clock = &self.session.setup.timeout_clock;
        let now = clock.timestamp();
        let record = self.record(path);
        // A clock that was set back must not prolong the timeout by the difference: it begins anew.
        let is_past = |since: &String| parse_time(since).is_some_and(|since| since <= now);
        let since = record.since.filter(is_past);
        let since = since.unwrap_or_else(|| clock.rfc3339());
        let began = parse_time(&since).unwrap_or(now);
        let waited = Duration::try_from(now.duration_since(began)).unwrap_or_default();
        let left = timeout.saturating_sub(waited);
        let since = Some(since);
        if !left.is_zero() {
            // A step that reached its gates did not fail in this run.
            let failures = 0;
            self.set_record(path.to_owned(), StepRecord { since, failures });
            let mut effects = self.session.effects();
            let earlier = effects.requested_requeue.filter(|earlier| *earlier < left);
            effects.requested_requeue = Some(earlier.unwrap_or(left));
            return Ok(StepOutcome::Waiting(waits));
        }
        let failures = record.failures;
        self.set_record(path.to_owned(), StepRecord { since, failures });
        let fail = |_: &NativeCallContext<'_>| Err::<(), _>(timed_out(timeout, &waits));
        let failed = script::try_step(|| evaluate::in_step(cx, step, fail))?;
        let failure = failed
            .err()
            .map(|failure| Failure::new(&step.name, failure));
        Ok(StepOutcome::Failed(failure.into_iter().collect()))
    }

    /// Returns the record of a step from this run, or from earlier runs.
    fn record(&self, path: &str) -> StepRecord {
        let effects = self.session.effects();
        let now = effects.step_history.as_ref();
        let now = now.and_then(|history| history.steps.get(path));
        now.or_else(|| self.session.setup.step_history.steps.get(path))
            .cloned()
            .unwrap_or_default()
    }

    fn set_record(&self, path: String, record: StepRecord) {
        let empty = || StepHistory::none(self.session.setup.step_history.generation);
        let mut effects = self.session.effects();
        let history = effects.step_history.get_or_insert_with(empty);
        history.steps.insert(path, record);
    }

    /// Keeps the records of a step that this run did not execute, and of the steps within it. A step that
    /// only waiting steps block does not wait itself any more, so its records are not kept.
    pub(super) fn keep_records(
        &self,
        path: &str,
        outcome: &StepOutcome,
        outcomes: &[Option<StepOutcome>],
    ) {
        let is_waiting =
            |need: &usize| matches!(outcomes.get(*need), Some(Some(StepOutcome::Waiting(_))));
        if let StepOutcome::Blocked(needs) = outcome
            && needs.iter().all(is_waiting)
        {
            return;
        }
        let is_within = |known: &str| {
            let rest = known.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
        };
        let earlier = self.session.setup.step_history.steps.iter();
        for (known, record) in earlier.filter(|(known, _)| is_within(known)) {
            self.set_record(known.clone(), record.clone());
        }
    }
}

fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Counts a failure. Each of the first `retries` failures is followed by another run; the next is final.
fn count_failure(
    retries: Option<u64>,
    count: &mut u64,
    mut failures: Vec<Failure>,
) -> Vec<Failure> {
    let Some(retries) = retries.filter(|_| !failures.iter().all(|failure| failure.terminal)) else {
        return failures;
    };
    *count = (*count + 1).min(retries + 1);
    for failure in &mut failures {
        failure.pending = *count <= retries;
        failure.terminal |= !failure.pending;
    }
    failures
}
