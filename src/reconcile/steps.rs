//! Stores the results of pipeline steps: in the status, and for the next run.
//!
//! An annotation of the custom resource stores the time since which a step waits and the number of its
//! failures, because each object can have one, and it outlives the process. It is written only when it
//! changes, so only for steps with a timeout or a limit of retries.

use serde_json::{Value, json};

use super::events::Event;
use super::outcome_mapping::RunEnd;
use super::run::Run;
use super::{Mode, ObjectChange};
use crate::cluster::request::PatchKind;
use crate::cluster::{self, ErrorKind};
use crate::model::Outcome;
use crate::model::annotations::STEPS;
use crate::pipeline::{StepHistory, StepReport, StepState};
use crate::telemetry::log;

/// The status field for steps, if the CRD declares it.
const FIELD: &str = "steps";

impl Run<'_> {
    /// Returns the history that earlier runs stored. Warns of an annotation that cannot be read, and begins a
    /// new history: timeouts and retries then count from this run.
    pub(super) fn step_history(&self) -> StepHistory {
        let none = || StepHistory::none(self.cr.generation);
        let Some(annotation) = self.marks_of_cr() else {
            return none();
        };
        StepHistory::read(&annotation, self.cr.generation).unwrap_or_else(|error| {
            // The error's text would quote the annotation.
            let (line, column) = (error.line(), error.column());
            let note = format!(
                "cannot read the annotation {STEPS}: line {line}, column {column}: expected the history of \
                 steps as JSON; timeouts and retries of steps start again"
            );
            let note = self.redactor.public(&note);
            log::warn!("cannot read the history of steps", error = note);
            self.send(Event::warning(&self.cr, "StepHistoryUnreadable", note));
            none()
        })
    }

    /// Writes the step history if it changed.
    pub(super) async fn write_step_marks(&mut self) {
        let Some(marks) = self.report.effects.step_history.take() else {
            return;
        };
        if self.input.mode == Mode::Plan || self.cr.uid.is_empty() || self.report.gone {
            return;
        }
        let wanted = marks.write();
        if wanted == self.marks_of_cr() {
            return;
        }
        match self.write_marks(wanted).await {
            Ok(()) => {}
            Err(error) if error.kind == ErrorKind::NotFound => self.report.gone = true,
            Err(error) => {
                let what = "cannot write the step history";
                let end = RunEnd::from_cluster_error(what, &error, self.finalizing, &self.redactor);
                log::error!(
                    "cannot write the step history",
                    error = self.redactor.public(&error)
                );
                self.report.outcome = end.outcome;
            }
        }
    }

    fn marks_of_cr(&self) -> Option<String> {
        if !self.cr.json().contains(STEPS) {
            return None;
        }
        self.cr.details().annotations.remove(STEPS)
    }

    async fn write_marks(&mut self, wanted: Option<String>) -> Result<(), cluster::Error> {
        let body = json!({
            "metadata": {"uid": self.cr.uid, "annotations": {STEPS: wanted}},
        });
        let owner = self.owner();
        let options = cluster::request::WriteOptions {
            manager: owner.manager.to_string(),
            ..cluster::request::WriteOptions::default()
        };
        let body = body.to_string().into();
        let written = self
            .cluster
            .patch(&self.cr.object_ref(), PatchKind::Merge, body, &options)
            .await?;
        self.cr.replace(written.object);
        Ok(())
    }

    /// Adds the steps to the status, if the CRD declares the field and the role does not set it.
    pub(super) async fn add_steps_to_status(&mut self) {
        let steps = &self.report.effects.steps;
        if steps.is_empty()
            || self.unredacted.status.contains_key(FIELD)
            || self.report.effects.partial
        {
            return;
        }
        if !self
            .cluster
            .declares_status_field(&self.cr.gvk, FIELD)
            .await
        {
            return;
        }
        let steps: Vec<Value> = steps.iter().map(step_status).collect();
        self.unredacted
            .status
            .insert(FIELD.to_owned(), steps.into());
    }

    /// Returns whether a run with this outcome did all the work of its role.
    pub(super) fn is_complete(&self, outcome: &Outcome) -> bool {
        *outcome == Outcome::Done && !self.report.effects.partial
    }

    /// Returns the number of skipped steps, including nested ones.
    pub(super) fn skipped_steps(&self) -> usize {
        fn skipped(steps: &[StepReport]) -> usize {
            let is_skipped = |step: &&StepReport| step.state == StepState::Skipped;
            let here = steps.iter().filter(is_skipped).count();
            here + steps.iter().map(|step| skipped(&step.steps)).sum::<usize>()
        }
        skipped(&self.report.effects.steps)
    }
}

/// Returns the status of a step. It is equal for two runs with equal results.
fn step_status(step: &StepReport) -> Value {
    let mut shown = json!({"name": &*step.name, "state": step.state});
    if !step.message.is_empty() {
        shown["message"] = (*step.message).into();
    }
    shown
}

/// Sets the step that made each change.
pub(super) fn assign_steps(changes: &mut [ObjectChange], order: &[usize], steps: &[StepReport]) {
    for (change, write) in changes.iter_mut().zip(order) {
        change.step = path(steps, *write);
    }
}

/// Returns the path of the innermost step that made a write.
fn path(steps: &[StepReport], write: usize) -> Option<String> {
    let step = steps.iter().find(|step| step.writes.contains(&write))?;
    Some(match path(&step.steps, write) {
        Some(inner) => format!("{}/{inner}", step.name),
        None => step.name.to_string(),
    })
}
