//! Write conflicts with another controller over a child.

use std::hash::{Hash, Hasher};

use twox_hash::XxHash3_64;

use super::child_change;
use super::index::{ConflictTracker, Index, LostField};
use super::queue::Key;
use super::shared::Shared;
use crate::clock;
use crate::cluster::watch::ObjectChange;
use crate::model::{Gvk, ObjectRef, Outcome, Redactor};
use crate::reconcile::Report;

impl ConflictTracker {
    /// Records a field of a child that another manager took.
    pub(super) fn record_loss(&mut self, child: &ObjectRef, field: String) {
        // During a run, the recorded managers are those that took the field earlier.
        let known = self.loss.take();
        let known = known.filter(|loss| loss.child == *child && loss.field == field);
        self.loss = Some(LostField {
            child: child.clone(),
            field,
            managers: known.map(|loss| loss.managers).unwrap_or_default(),
        });
    }
}

impl Shared {
    /// Records a field that a change of a child took from the runtime, if the runtime wrote the child
    /// recently.
    pub(super) fn record_loss(&self, key: &Key, child: &ObjectRef, change: &ObjectChange) {
        let is_tracked = self
            .index
            .read()
            .entry(key)
            .and_then(|entry| entry.conflict.as_ref())
            .is_some_and(|conflict| conflict.detector.count(child) > 0);
        let (true, Some(old), Some(new)) = (is_tracked, &change.old, &change.new) else {
            return;
        };
        // Not under the lock, because it parses the managed fields of both versions.
        let Some(field) = child_change::lost_field(old, new) else {
            return;
        };
        let mut index = self.index.write();
        if let Some(conflict) = index
            .entry_mut(key)
            .and_then(|entry| entry.conflict.as_mut())
        {
            conflict.record_loss(child, field);
        }
    }

    /// Requests the managers that took the field of a child if one more write makes a conflict. After the
    /// next apply the server no longer has this information.
    pub(super) async fn fetch_conflicting_managers(&self, key: &Key) {
        let Some(child) = self.contested_child(key) else {
            return;
        };
        // Without an answer the message names no manager.
        let managers = self
            .context
            .cluster
            .other_managers(&child)
            .await
            .unwrap_or_default();
        let mut index = self.index.write();
        if let Some(conflict) = index
            .entry_mut(key)
            .and_then(|entry| entry.conflict.as_mut())
            && let Some(loss) = conflict.loss.as_mut().filter(|loss| loss.child == child)
        {
            loss.managers = managers.into_iter().collect();
        }
    }

    /// Returns the child for which one more write makes a conflict.
    fn contested_child(&self, key: &Key) -> Option<ObjectRef> {
        let index = self.index.read();
        let conflict = index.entry(key)?.conflict.as_ref()?;
        let loss = conflict.loss.as_ref()?;
        let is_last = conflict.detector.count(&loss.child) >= self.settings.conflicts.writes;
        is_last.then(|| loss.child.clone())
    }

    /// Counts the writes of a run. Returns the outcome of a conflict if a child was written too often.
    pub(super) fn detect_conflict(&self, key: &Key, report: &Report) -> Option<Outcome> {
        let (child, loss) = self.count_writes(key, report)?;
        let limits = self.settings.conflicts;
        let (writes, seconds) = (limits.writes, limits.window.as_secs());
        let times = format!("written more than {writes} times in {seconds} s");
        let message = match loss {
            Some(LostField {
                field, managers, ..
            }) if !managers.is_empty() => {
                let managers = managers.join(", ");
                format!("{child}: {times}: {field} is also set by {managers}")
            }
            Some(LostField { field, .. }) => {
                format!("{child}: {times}: {field} is also set by others")
            }
            None => format!("{child}: {times}, though nothing else changed"),
        };
        let message = Redactor::new(&report.cr).public(&message);
        Some(Outcome::Conflict { message })
    }

    /// Returns a child that was written too often, and its field that another manager took.
    fn count_writes(&self, key: &Key, report: &Report) -> Option<(ObjectRef, Option<LostField>)> {
        let is_tracked = |index: &Index| Some(index.entry(key)?.conflict.is_some());
        if report.effects.writes.is_empty() && !is_tracked(&self.index.read())? {
            return None;
        }
        let cause = cause(report);
        let mut index = self.index.write();
        let entry = index.entry_mut(key)?;
        let conflict = entry.conflict.get_or_insert_default();
        let child = conflict.detector.record(
            &report.effects.writes,
            cause,
            self.settings.conflicts,
            clock::now(),
        );
        let loss = conflict.loss.clone();
        if conflict.detector.is_empty() {
            entry.conflict = None;
        }
        let child = child?;
        let loss = loss.filter(|loss| loss.child == child);
        Some((child, loss))
    }
}

/// Returns a digest of the inputs that explain writes without a conflict: the generation, and the objects
/// that the run read, except children.
fn cause(report: &Report) -> u64 {
    let mut hasher = XxHash3_64::new();
    report.cr.generation.hash(&mut hasher);
    for read in report.effects.reads.objects() {
        if !report.effects.applied.contains(read.0) {
            read.hash(&mut hasher);
        }
    }
    // A list that can contain the contested child changes with it.
    let has_children = |kind: &Gvk| {
        report
            .effects
            .applied
            .iter()
            .any(|applied| applied.gvk == *kind)
    };
    let lists = report.effects.reads.lists();
    let lists = lists.filter(|(query, _)| !has_children(&query.gvk));
    // The digest does not depend on the order, because the lists of a read set have no order.
    let lists = lists.fold(0u64, |sum, (_, version)| sum.wrapping_add(version));
    lists.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_are_remembered_until_another_field_is_lost() {
        let child = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), None, "a");
        let mut conflict = ConflictTracker::default();
        conflict.record_loss(&child, "data.x".to_owned());
        conflict.loss.as_mut().unwrap().managers = vec!["other".to_owned()];
        conflict.record_loss(&child, "data.x".to_owned());
        assert_eq!(conflict.loss.as_ref().unwrap().managers, ["other"]);
        conflict.record_loss(&child, "data.y".to_owned());
        assert!(conflict.loss.unwrap().managers.is_empty());
    }
}
