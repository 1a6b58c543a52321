//! Computes the status at the end of a run, and writes it if it differs.
//!
//! The write is a merge patch of the status subresource with uid and resourceVersion, so that keys and
//! conditions of other clients stay, with every list type of the CRD. A run that completes owns its
//! fields: a status field that an earlier run set and this run does not is removed. A run that ends
//! early only adds fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::conditions::{self, ConditionChange, RunSummary};
use super::{merge_patch, status_ownership};
use crate::cluster::conflict_retry::ConflictRetry;
use crate::cluster::request::WriteOptions;
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::condition::{self, Condition, ConditionStamp};
use crate::model::owner::field_manager;
use crate::model::{Object, Outcome, ParsedObject};
use crate::watches::Conditions;

/// The status that a run wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct DesiredStatus<'a> {
    /// The status of the role, as a merge patch.
    pub(super) role: &'a Map<String, Value>,
    /// The conditions of the role.
    pub(super) conditions: &'a [Condition],
    /// The style of the runtime's own conditions.
    pub(super) style: Conditions,
    /// The runtime's own part of the status.
    pub(super) own: RuntimeStatus<'a>,
    /// The generation that the run saw, and the end of the run.
    pub(super) stamp: ConditionStamp<'a>,
    /// Fields that the server dropped before. A write that contains only these is not sent.
    pub(super) dropped: &'a BTreeSet<String>,
}

/// The runtime's own part of the status.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuntimeStatus<'a> {
    /// None: the watch has `manageStatus: false`.
    Unmanaged {
        /// True if the run completed.
        complete: bool,
    },
    /// The result of the run.
    Finished(&'a RunSummary<'a>),
    /// The custom resource is paused.
    Paused,
}

impl RuntimeStatus<'_> {
    fn complete(&self) -> bool {
        match self {
            Self::Unmanaged { complete } => *complete,
            Self::Finished(situation) => *situation.outcome == Outcome::Done,
            Self::Paused => false,
        }
    }

    fn changes(&self, style: Conditions, list: &[Value]) -> Vec<ConditionChange> {
        match self {
            Self::Unmanaged { .. } => Vec::new(),
            Self::Finished(situation) => conditions::for_outcome(style, situation),
            Self::Paused => conditions::for_paused(style, list),
        }
    }

    /// Returns whether the run processed the generation. A paused or cancelled run did not.
    fn observes_generation(&self) -> bool {
        matches!(self, Self::Finished(situation) if *situation.outcome != Outcome::Cancelled)
    }
}

/// The result of a status write.
#[derive(Debug)]
pub(super) enum StatusWrite {
    /// The status was already as wanted.
    Unchanged(Arc<Object>),
    /// The status was written.
    Changed {
        /// The custom resource after the write.
        cr: Arc<Object>,
        /// Paths that the server dropped, except the runtime's own.
        dropped: BTreeSet<String>,
        /// All paths that the server dropped.
        all_dropped: BTreeSet<String>,
    },
    /// The custom resource no longer exists, or another object has its name.
    Gone,
}

/// Writes the status if it differs.
pub(super) async fn write(
    cluster: &Cluster,
    cr: &ParsedObject,
    wanted: &DesiredStatus<'_>,
) -> Result<StatusWrite, cluster::Error> {
    let reference = cr.object_ref();
    let manager = field_manager(&reference);
    let mut current = cr.clone();
    let mut attempts = ConflictRetry::default();
    loop {
        let Some(patch) = patch(&current, &manager, wanted) else {
            return Ok(StatusWrite::Unchanged(current.into_object()));
        };
        let body = json!({
            "metadata": {"uid": current.uid, "resourceVersion": current.resource_version},
            "status": patch,
        });
        let options = WriteOptions {
            manager: manager.clone(),
            ..WriteOptions::default()
        };
        let body = body.to_string().into();
        let error = match cluster.patch_status(&reference, body, &options).await {
            Ok(answer) => return Ok(changed(answer.object, &patch, wanted)),
            Err(error) => error,
        };
        if error.kind == ErrorKind::NotFound {
            return Ok(StatusWrite::Gone);
        }
        // For a wrong uid, the server returns a conflict or an invalid-object error.
        let overtaken = matches!(error.kind, ErrorKind::Conflict | ErrorKind::Invalid);
        if !overtaken || !attempts.wait_for_retry().await {
            return Err(error);
        }
        let live = cluster.get(&reference).await?;
        match live.filter(|live| live.uid == cr.uid) {
            None => return Ok(StatusWrite::Gone),
            Some(live) if live.resource_version == current.resource_version => return Err(error),
            Some(live) => current.replace(live),
        }
    }
}

fn changed(cr: Arc<Object>, patch: &Value, wanted: &DesiredStatus<'_>) -> StatusWrite {
    let all_dropped = merge_patch::missing_paths(patch, &cr.value()["status"], "status");
    let told = all_dropped
        .iter()
        .filter(|path| !is_own(path, wanted))
        .cloned();
    StatusWrite::Changed {
        cr,
        dropped: told.collect(),
        all_dropped,
    }
}

/// Returns whether the path belongs to the runtime's own part. It is not reported if the CRD lacks it.
fn is_own(path: &str, wanted: &DesiredStatus<'_>) -> bool {
    match path.strip_prefix("status.").unwrap_or_default() {
        "observedGeneration" => true,
        "conditions" => wanted.conditions.is_empty(),
        field => field.starts_with("conditions["),
    }
}

/// Returns the status that a custom resource outside the cluster would have.
pub(super) fn preview(cr: &ParsedObject, wanted: &DesiredStatus<'_>) -> Value {
    next(&status_of(cr), &[], wanted).into()
}

fn status_of(cr: &ParsedObject) -> Map<String, Value> {
    cr.value()["status"]
        .as_object()
        .cloned()
        .unwrap_or_default()
}

/// Returns the merge patch to the wanted status; `None` if there is no difference.
pub(super) fn patch(cr: &ParsedObject, manager: &str, wanted: &DesiredStatus<'_>) -> Option<Value> {
    let live = status_of(cr);
    let sets = status_ownership::field_sets(cr, manager);
    let next = next(&live, &sets, wanted);
    let patch = merge_patch::diff(&live, &next)?;
    (!merge_patch::is_within(&patch, wanted.dropped, "status")).then_some(patch)
}

/// Returns the wanted status.
fn next(
    live: &Map<String, Value>,
    sets: &[Value],
    wanted: &DesiredStatus<'_>,
) -> Map<String, Value> {
    let mut next = live.clone();
    if wanted.own.complete() {
        for set in sets {
            status_ownership::remove_owned(&mut next, set);
        }
    }
    merge_patch::apply(&mut next, wanted.role);
    let old = live.get("conditions").and_then(Value::as_array);
    let old = old.map_or(&[][..], Vec::as_slice);
    let list = merged_conditions(old, sets, wanted);
    if list.is_empty() && old.is_empty() {
        // An existing empty list stays.
    } else if list.is_empty() {
        next.remove("conditions");
    } else {
        next.insert("conditions".into(), list.into());
    }
    let generation = wanted.stamp.generation;
    if let Some(generation) = generation.filter(|_| wanted.own.observes_generation()) {
        let key = "observedGeneration";
        let seen = live.get(key).cloned();
        next.remove(key);
        next.extend(seen.clone().map(|seen| (key.to_owned(), seen)));
        // A CRD may lack the field, so its absence alone does not cause a write.
        if seen.is_some() || merge_patch::diff(live, &next).is_some() {
            next.insert(key.into(), generation.into());
        }
    }
    next
}

fn merged_conditions(old: &[Value], sets: &[Value], wanted: &DesiredStatus<'_>) -> Vec<Value> {
    let complete = wanted.own.complete();
    let own_types = conditions::own_types(wanted.style);
    let managed = !matches!(wanted.own, RuntimeStatus::Unmanaged { .. });
    // After a completed run, the conditions of the role have precedence; otherwise those of the runtime.
    let by_role: BTreeMap<&str, &Condition> = wanted
        .conditions
        .iter()
        .filter(|condition| complete || !managed || !own_types.contains(&&*condition.kind))
        .map(|condition| (&*condition.kind, condition))
        .collect();
    let mut changes = wanted.own.changes(wanted.style, old);
    changes.retain(|change| !by_role.contains_key(change.kind()));
    let mut list = old.to_vec();
    if complete {
        let kept: BTreeSet<&str> = changes
            .iter()
            .map(ConditionChange::kind)
            .chain(by_role.keys().copied())
            .collect();
        for kind in status_ownership::own_conditions(sets) {
            if !kept.contains(&*kind) {
                condition::remove(&mut list, &kind);
            }
        }
    }
    for change in &changes {
        match change {
            ConditionChange::Set(condition) => {
                condition::merge(&mut list, condition, &wanted.stamp);
            }
            ConditionChange::Clear(kind) => condition::remove(&mut list, kind),
        }
    }
    for condition in by_role.values() {
        condition::merge(&mut list, condition, &wanted.stamp);
    }
    list
}

#[cfg(test)]
mod tests;
