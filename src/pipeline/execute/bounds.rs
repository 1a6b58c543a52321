//! How long a step may wait, how often it may fail: what is remembered from run to run.

use std::time::Duration;

use jiff::Timestamp;
use rhai::NativeCallContext;

use super::executor::Walk;
use super::outcome::{Failure, Stand, Wait, too_late};
use super::step::placed;
use crate::host::Answer;
use crate::pipeline::Step;
use crate::pipeline::{StepHistory, StepRecord};
use crate::script;

impl Walk<'_> {
    /// How a step stands when its timeout and its retries are considered.
    pub(super) fn bounded(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        path: String,
        stand: Stand,
    ) -> Answer<Stand> {
        let stand = match (stand, step.timeout) {
            (Stand::Waiting(waits), Some(timeout)) => {
                self.waiting(cx, step, &path, (waits, timeout))?
            }
            (stand, _) => stand,
        };
        let Stand::Failed(failures) = stand else {
            return Ok(stand);
        };
        let mut mark = self.mark(&path);
        let failures = retried(step.retries, &mut mark.failures, failures);
        if mark != StepRecord::default() {
            self.remember(path, mark);
        }
        Ok(Stand::Failed(failures))
    }

    /// A step that waits, or has waited too long.
    fn waiting(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        path: &str,
        (waits, timeout): (Vec<Wait>, Duration),
    ) -> Answer<Stand> {
        let clock = &self.session.setup.clock;
        let now = clock.timestamp();
        let known = self.mark(path).since.filter(|since| time(since).is_some());
        let since = known.unwrap_or_else(|| clock.rfc3339());
        let began = time(&since).unwrap_or(now);
        let waited = Duration::try_from(now.duration_since(began)).unwrap_or_default();
        let mark = StepRecord {
            since: Some(since),
            failures: 0,
        };
        let left = timeout.saturating_sub(waited);
        if !left.is_zero() {
            self.remember(path.to_owned(), mark);
            let mut effects = self.session.effects();
            let earlier = effects.requested_requeue.filter(|earlier| *earlier < left);
            effects.requested_requeue = Some(earlier.unwrap_or(left));
            return Ok(Stand::Waiting(waits));
        }
        let failures = self.mark(path).failures;
        self.remember(path.to_owned(), StepRecord { failures, ..mark });
        let fail = |_: &NativeCallContext<'_>| Err::<(), _>(too_late(timeout, &waits));
        let failed = script::attempt(|| placed(cx, step, fail))?;
        let failure = failed
            .err()
            .map(|failure| Failure::new(&step.name, failure));
        Ok(Stand::Failed(failure.into_iter().collect()))
    }

    /// What is remembered of a step: by this run, else by earlier ones.
    fn mark(&self, path: &str) -> StepRecord {
        let effects = self.session.effects();
        let now = effects.step_history.as_ref();
        let now = now.and_then(|marks| marks.steps.get(path));
        now.or_else(|| self.session.setup.step_history.steps.get(path))
            .cloned()
            .unwrap_or_default()
    }

    fn remember(&self, path: String, mark: StepRecord) {
        let none = || StepHistory::none(self.session.setup.step_history.generation);
        let mut effects = self.session.effects();
        let marks = effects.step_history.get_or_insert_with(none);
        marks.steps.insert(path, mark);
    }

    /// Keeps what is remembered of a step that this run did not come to, and of those in it: but where it
    /// is held up by one that waits, it does not wait itself any more.
    pub(super) fn keep_marks(&self, path: &str, stand: &Stand, stands: &[Option<Stand>]) {
        if let Stand::Blocked(needs) = stand
            && needs
                .iter()
                .all(|need| matches!(stands.get(*need), Some(Some(Stand::Waiting(_)))))
        {
            return;
        }
        let is_within = |known: &str| {
            let rest = known.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
        };
        let earlier = self.session.setup.step_history.steps.iter();
        for (known, mark) in earlier.filter(|(known, _)| is_within(known)) {
            self.remember(known.clone(), mark.clone());
        }
    }
}

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Counts a failure: a bounded number of them are followed by another run, the next one is final.
fn retried(retries: Option<u64>, count: &mut u64, mut failures: Vec<Failure>) -> Vec<Failure> {
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
