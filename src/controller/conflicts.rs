//! Fights over a child with another controller: who, over what, and the verdict.

use std::hash::{Hash, Hasher};

use twox_hash::XxHash3_64;

use super::index::{ConflictTracker, LostField};
use super::queue::Key;
use super::{Shared, child_change};
use crate::clock;
use crate::cluster::watch::ObjectChange;
use crate::model::{ObjectRef, Outcome, Redactor};
use crate::reconcile::{Report, Subscription};

impl ConflictTracker {
    /// Takes note of a field of ours that a change of a child took from us.
    pub(super) fn note_loss(&mut self, child: &ObjectRef, change: &ObjectChange) {
        if self.detector.count(child) == 0 {
            return;
        }
        if let (Some(old), Some(new)) = (&change.old, &change.new)
            && let Some(field) = child_change::lost_field(old, new)
        {
            // Who took it before takes it again, as far as is known while a run is on its way.
            let known = self.loss.take();
            let known = known.filter(|loss| loss.child == *child && loss.field == field);
            self.loss = Some(LostField {
                child: child.clone(),
                field,
                managers: known.map(|loss| loss.managers).unwrap_or_default(),
            });
        }
    }
}

impl Shared {
    /// Shortly before a verdict, asks who took the field: our next apply takes the answer away.
    pub(super) async fn fetch_conflicting_managers(&self, key: &Key) {
        let Some(child) = self.contested_child(key) else {
            return;
        };
        // Without an answer the verdict names nobody.
        let rivals = self
            .context
            .cluster
            .other_managers(&child)
            .await
            .unwrap_or_default();
        let mut index = self.index.lock();
        if let Some(fight) = index.entry(key).and_then(|entry| entry.conflict.as_mut())
            && let Some(loss) = fight.loss.as_mut().filter(|loss| loss.child == child)
        {
            loss.managers = rivals.into_iter().collect();
        }
    }

    /// The child that one more write makes a fight of.
    fn contested_child(&self, key: &Key) -> Option<ObjectRef> {
        let mut index = self.index.lock();
        let fight = index.entry(key)?.conflict.as_ref()?;
        let loss = fight.loss.as_ref()?;
        let last_round = fight.detector.count(&loss.child) >= self.settings.conflicts.writes;
        last_round.then(|| loss.child.clone())
    }

    /// Counts a run's writes; the verdict, if a child was written too often for anything but a fight.
    pub(super) fn detect_conflict(&self, key: &Key, report: &Report) -> Option<Outcome> {
        let mut index = self.index.lock();
        let entry = index.entry(key)?;
        if report.effects.writes.is_empty() && entry.conflict.is_none() {
            return None;
        }
        let fight = entry.conflict.get_or_insert_default();
        let (limits, now) = (self.settings.conflicts, clock::now());
        let child = fight
            .detector
            .record(&report.effects.writes, cause(report), limits, now);
        let loss = fight.loss.clone();
        if fight.detector.is_empty() {
            entry.conflict = None;
        }
        let child = child?;
        let loss = loss.filter(|loss| loss.child == child);
        let (writes, seconds) = (limits.writes, limits.window.as_secs());
        let times = format!("written more than {writes} times in {seconds} s");
        let message = match loss {
            Some(LostField {
                field,
                managers: rivals,
                ..
            }) if !rivals.is_empty() => {
                format!(
                    "{child}: {times}: {field} is also set by {}",
                    rivals.join(", ")
                )
            }
            Some(LostField { field, .. }) => {
                format!("{child}: {times}: {field} is also set by others")
            }
            None => format!("{child}: {times}, though nothing else changed"),
        };
        let message = Redactor::new(&report.cr).public(&message);
        Some(Outcome::Conflict { message })
    }
}

/// What writes may follow from besides a fight: the generation, and what was read but is no child.
fn cause(report: &Report) -> u64 {
    let mut hasher = XxHash3_64::new();
    report.cr.generation.hash(&mut hasher);
    for read in &report.effects.reads {
        match read {
            Subscription::Object(object, _) if report.effects.applied.contains(object) => {}
            Subscription::Object(object, version) => (object, version).hash(&mut hasher),
            // A list that may hold the contested child moves with it.
            Subscription::List(query, _)
                if report
                    .effects
                    .applied
                    .iter()
                    .any(|applied| applied.gvk == query.gvk) => {}
            Subscription::List(_, version) => version.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::LoopLimits;
    use super::*;
    use crate::model::{Gvk, Object};

    /// Somebody takes a field of ours.
    fn loss_of(field: &str) -> ObjectChange {
        let version = |fields: serde_json::Value| {
            let managed = json!([{"manager": "rhai-operator/0123", "operation": "Apply",
                                  "fieldsV1": fields}]);
            let whole = json!({"metadata": {"name": "a", "managedFields": managed}});
            let gvk = Gvk::new("", "v1", "ConfigMap");
            Some(Arc::new(Object::from_value(&gvk, &whole).unwrap()))
        };
        let key = format!("f:{field}");
        ObjectChange {
            old: version(json!({"f:data": {key: {}}})),
            new: version(json!({"f:kept": {}})),
        }
    }

    #[tokio::test]
    async fn rivals_are_remembered_until_another_field_is_lost() {
        let child = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), None, "a");
        let mut fight = ConflictTracker::default();
        let limits = LoopLimits::default();
        fight
            .detector
            .record(std::slice::from_ref(&child), 0, limits, clock::now());
        fight.note_loss(&child, &loss_of("x"));
        fight.loss.as_mut().unwrap().managers = vec!["rival".to_owned()];
        fight.note_loss(&child, &loss_of("x"));
        assert_eq!(fight.loss.as_ref().unwrap().managers, ["rival"]);
        fight.note_loss(&child, &loss_of("y"));
        assert!(fight.loss.unwrap().managers.is_empty());
    }
}
