//! Executes the phases of a run.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::events::Event;
use super::outcome_mapping::RunEnd;
use super::report::Report;
use super::{Context, Input, Mode, finalizer};
use crate::apply::finalizer::ChildRegistrar;
use crate::apply::{ChildList, Owner, cleanup};
use crate::clock::{self, Instant};
use crate::cluster::Cluster;
use crate::host::session::Unredacted;
use crate::model::annotations::{CLEANUP_FINALIZER, PAUSED};
use crate::model::{Outcome, ParsedObject, Redactor};
use crate::role::{Role, violations};
use crate::telemetry::log;
use crate::watches::{Finalizer, OnDelete};

/// A run in progress.
pub(super) struct Run<'a> {
    pub(super) context: &'a Context,
    pub(super) input: &'a Input,
    /// The cluster, with dry-run writes for a plan.
    pub(super) cluster: Cluster,
    /// The last known custom resource.
    pub(super) cr: ParsedObject,
    /// True if the custom resource is being deleted.
    pub(super) finalizing: bool,
    /// The secrets that the run has seen.
    pub(super) redactor: Redactor,
    /// The output of the role before redaction.
    pub(super) unredacted: Unredacted,
    pub(super) started: Instant,
    pub(super) report: Report,
}

impl<'a> Run<'a> {
    /// Creates a run that starts now.
    pub(super) fn new(context: &'a Context, input: &'a Input) -> Self {
        let cluster = match input.mode {
            Mode::Plan => context.cluster.with_dry_run(),
            Mode::Operator | Mode::Once => context.cluster.clone(),
        };
        let redactor = Redactor::new(&input.cr);
        Self {
            context,
            input,
            cluster,
            cr: ParsedObject::new(Arc::clone(&input.cr)),
            finalizing: input.cr.deleting,
            redactor,
            unredacted: Unredacted::default(),
            started: clock::now(),
            report: Report::new(Outcome::Done, &input.cr),
        }
    }

    /// Executes all phases.
    pub(super) async fn execute(mut self) -> Report {
        log::debug!("started");
        if self.is_paused() {
            self.report.paused = true;
            return self.finish(Outcome::Done.into()).await;
        }
        let end = if self.finalizing {
            self.reconcile_deleting().await
        } else {
            self.reconcile_live().await
        };
        self.finish(end).await
    }

    fn is_paused(&self) -> bool {
        // Most objects do not contain the key, and parsing their metadata has a cost.
        self.cr.json().contains(PAUSED)
            && self
                .cr
                .details()
                .annotations
                .get(PAUSED)
                .is_some_and(|value| value == "true")
    }

    /// Reconciles a custom resource that is not being deleted.
    async fn reconcile_live(&mut self) -> RunEnd {
        if self.input.mode == Mode::Operator {
            match finalizer::update(self.context, self.input).await {
                Err(error) => {
                    return RunEnd::from_cluster_error(
                        "cannot set finalizers",
                        &error,
                        false,
                        &self.redactor,
                    );
                }
                // The event of its deletion triggers another run.
                Ok(Some(cr)) if cr.deleting => return Outcome::Cancelled.into(),
                Ok(Some(cr)) => self.cr.replace(cr),
                Ok(None) => return RunEnd::for_absent_cr(),
            }
        }
        let role = match self.role(&self.input.watch.role) {
            Ok(role) => role,
            Err(end) => return end,
        };
        if let Some(end) = self.refused_inputs(&role) {
            return end;
        }
        if self.input.mode == Mode::Operator && self.input.watch.prune {
            self.context.child_kinds.start(&self.context.cluster);
        }
        let end = self.run_script(&role, &role.entry, None).await;
        let complete = self.is_complete(&end.outcome);
        if !complete || self.report.effects.failed_applies > 0 {
            return end;
        }
        self.prune().await.unwrap_or(end)
    }

    /// Returns the end of the run if the spec does not match the inputs of the role. Only a change
    /// of the spec or the role helps. A deletion ignores it.
    fn refused_inputs(&self, role: &Role) -> Option<RunEnd> {
        if role.inputs.is_empty() || self.cr.unreadable.is_some() {
            return None;
        }
        let nothing = Map::new();
        let spec = match &self.cr.value()["spec"] {
            Value::Object(spec) => spec,
            Value::Null => &nothing,
            // The run refuses it.
            _ => return None,
        };
        let violations = violations(&role.inputs, spec, "spec");
        if violations.is_empty() {
            return None;
        }
        let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
        let message = format!("{} (inputs of role {})", violations.join("; "), role.name);
        let message = self.redactor.public(&message);
        Some(Outcome::Stalled { message }.into())
    }

    /// Reconciles a custom resource that is being deleted. Each finalizer is released when its own
    /// part is done, so that a later part that waits does not repeat an earlier one.
    async fn reconcile_deleting(&mut self) -> RunEnd {
        if let Some(finalizer) = self.input.watch.finalizer.clone()
            && finalizer::has(&self.cr, &finalizer.name)
        {
            let end = self.finalize(&finalizer).await;
            if end.outcome != Outcome::Done {
                return end;
            }
            if let Err(end) = self.release_finalizers(&[&finalizer.name]).await {
                return end;
            }
        }
        if finalizer::has(&self.cr, CLEANUP_FINALIZER) {
            let end = self.delete_unreachable_children().await;
            if end.outcome != Outcome::Done {
                return end;
            }
            if let Err(end) = self.release_finalizers(&[CLEANUP_FINALIZER]).await {
                return end;
            }
        }
        let stale = finalizer::release(self.context, self.cr.object());
        match stale.await {
            Ok(()) => Outcome::Done.into(),
            Err(error) => {
                RunEnd::from_cluster_error("cannot remove finalizers", &error, true, &self.redactor)
            }
        }
    }

    /// Executes the program of the watch's finalizer.
    async fn finalize(&mut self, finalizer: &Finalizer) -> RunEnd {
        let now = self.context.timeout_clock.timestamp();
        let left = finalizer::time_left(&self.cr, finalizer, now);
        let overdue = Outcome::Failed {
            message: "the timeout passed".into(),
            after: None,
        };
        if finalizer::gives_up(finalizer, &overdue, left) {
            return self.give_up(finalizer, "the timeout passed");
        }
        let name = finalizer.role.as_ref().unwrap_or(&self.input.watch.role);
        let role = match self.role(name) {
            Ok(role) => role,
            Err(end) => return end,
        };
        let entry = finalizer::entry(&role, finalizer);
        let bound = left.filter(|left| !left.is_zero());
        let end = self.run_script(&role, entry, bound).await;
        let now = self.context.timeout_clock.timestamp();
        let left = finalizer::time_left(&self.cr, finalizer, now);
        if finalizer::gives_up(finalizer, &end.outcome, left) {
            let why = match &end.outcome {
                Outcome::Failed { message, .. } | Outcome::Stalled { message } => &**message,
                Outcome::Waiting { on } => &**on,
                _ => "the timeout passed",
            };
            return self.give_up(finalizer, why);
        }
        if end.outcome != Outcome::Done {
            self.report.requeue_after = left.filter(|left| !left.is_zero());
        }
        end
    }

    /// Releases the finalizer although the deletion run did not succeed.
    fn give_up(&self, finalizer: &Finalizer, why: &str) -> RunEnd {
        let note = format!(
            "released finalizer {} although its work is not done: {why}",
            finalizer.name
        );
        let note = self.redactor.public(&note);
        let error = self.redactor.public(why);
        let name = self.redactor.public(&finalizer.name);
        log::warn!(
            "released a finalizer although its work is not done",
            finalizer = name,
            error = error
        );
        self.send(Event::warning(&self.cr, "FinalizerGivenUp", note));
        Outcome::Done.into()
    }

    /// Deletes the children that garbage collection cannot reach.
    async fn delete_unreachable_children(&self) -> RunEnd {
        if self.input.watch.on_delete == OnDelete::Orphan {
            return Outcome::Done.into();
        }
        let swept = self.context.child_kinds.done(&self.context.cluster).await;
        if let Err(error) = swept {
            return RunEnd::from_cluster_error(
                "cannot discover the kinds of children",
                &error,
                true,
                &self.redactor,
            );
        }
        match cleanup::clean_up(&self.cluster, &self.owner()).await {
            Ok(left) => match left.first() {
                None => Outcome::Done.into(),
                Some(first) => {
                    let on = format!("deletion of {first} and {} more", left.len() - 1);
                    let on = self.redactor.public(&on);
                    RunEnd {
                        waits: left.clone(),
                        ..Outcome::Waiting { on }.into()
                    }
                }
            },
            Err(error) => {
                RunEnd::from_apply_error("cannot delete children", &error, true, &self.redactor)
            }
        }
    }

    async fn release_finalizers(&mut self, names: &[&str]) -> Result<(), RunEnd> {
        match finalizer::remove(&self.cluster, self.cr.object(), names).await {
            Ok(Some(cr)) => self.cr.replace(cr),
            // The custom resource was deleted with its last finalizer.
            Ok(None) => return Err(RunEnd::for_finished_deletion()),
            Err(error) => {
                return Err(RunEnd::from_cluster_error(
                    "cannot remove finalizers",
                    &error,
                    true,
                    &self.redactor,
                ));
            }
        }
        Ok(())
    }

    fn role(&self, name: &str) -> Result<Arc<Role>, RunEnd> {
        let role = self.input.roles.get(name).cloned();
        role.ok_or_else(|| {
            let message = self.redactor.public(&format!("role {name} is not loaded"));
            Outcome::Failed {
                message,
                after: None,
            }
            .into()
        })
    }

    /// Returns the custom resource as owner of the objects that the role applies.
    pub(super) fn owner(&self) -> Owner {
        let guarded = self.input.mode != Mode::Plan && !self.finalizing && !self.cr.uid.is_empty();
        let finalizer =
            self.input.mode == Mode::Operator && self.input.watch.on_delete == OnDelete::Delete;
        let mut listed = ChildList::read_from(&self.cr);
        // Children that this run listed may be in the cache only. The list alone proves nothing, so a
        // longer one does no harm.
        if let Some(Some(cached)) = self.cluster.cached(&self.cr.object_ref()) {
            listed.extend(ChildList::read_from(&cached));
        }
        Owner {
            listed_children: Arc::new(listed),
            force: self.input.watch.force,
            adopt: self.input.watch.adopt,
            finalizing: self.finalizing,
            registrar: guarded.then(|| {
                let (cluster, cr) = (self.cluster.clone(), Arc::clone(self.cr.object()));
                let holder = self.context.holder.clone();
                Arc::new(ChildRegistrar::new(cluster, cr, holder, finalizer))
            }),
            ..Owner::new(&self.cr)
        }
    }

    /// Queues an Event; a plan sends none.
    pub(super) fn send(&self, event: Event) {
        if self.input.mode != Mode::Plan {
            self.context.events.send(event);
        }
    }
}
