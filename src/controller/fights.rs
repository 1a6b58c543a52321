//! Fights over a child with another controller: who, over what, and the verdict.

use std::hash::{Hash, Hasher};

use twox_hash::XxHash3_64;

use super::index::{Fight, Loss};
use super::queue::Key;
use super::{Shared, child_change};
use crate::clock;
use crate::cluster::watch::Change;
use crate::model::{ObjectRef, Outcome};
use crate::reconcile::{Report, Subscription};

impl Fight {
    /// Takes note of a field of ours that a change of a child took from us.
    pub(super) fn note_loss(&mut self, child: &ObjectRef, change: &Change) {
        if self.detector.count(child) == 0 {
            return;
        }
        if let (Some(old), Some(new)) = (&change.old, &change.new)
            && let Some(field) = child_change::lost_field(old, new)
        {
            self.loss = Some(Loss {
                child: child.clone(),
                field,
                rivals: Vec::new(),
            });
        }
    }
}

impl Shared {
    /// Shortly before a verdict, asks who took the field: our next apply takes the answer away.
    pub(super) async fn look_for_rivals(&self, key: &Key) {
        let Some(child) = self.contested(key) else {
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
        if let Some(fight) = index.entry(key).and_then(|entry| entry.fight.as_mut())
            && let Some(loss) = fight.loss.as_mut().filter(|loss| loss.child == child)
        {
            loss.rivals = rivals.into_iter().collect();
        }
    }

    /// The child that one more write makes a fight of.
    fn contested(&self, key: &Key) -> Option<ObjectRef> {
        let mut index = self.index.lock();
        let fight = index.entry(key)?.fight.as_ref()?;
        let loss = fight.loss.as_ref()?;
        let last_round = fight.detector.count(&loss.child) >= self.settings.fights.writes;
        last_round.then(|| loss.child.clone())
    }

    /// Counts a run's writes; the verdict, if a child was written too often for anything but a fight.
    pub(super) fn fought_over(&self, key: &Key, report: &Report) -> Option<Outcome> {
        let mut index = self.index.lock();
        let entry = index.entry(key)?;
        if report.writes.is_empty() && entry.fight.is_none() {
            return None;
        }
        let fight = entry.fight.get_or_insert_default();
        let (limits, now) = (self.settings.fights, clock::now());
        let child = fight
            .detector
            .record(&report.writes, cause(report), limits, now);
        let loss = fight.loss.clone();
        if fight.detector.is_empty() {
            entry.fight = None;
        }
        let child = child?;
        let loss = loss.filter(|loss| loss.child == child);
        let (writes, seconds) = (limits.writes, limits.window.as_secs());
        let times = format!("written more than {writes} times in {seconds} s");
        let message = match loss {
            Some(Loss { field, rivals, .. }) if !rivals.is_empty() => {
                format!(
                    "{child}: {times}: {field} is also set by {}",
                    rivals.join(", ")
                )
            }
            Some(Loss { field, .. }) => format!("{child}: {times}: {field} is also set by others"),
            None => format!("{child}: {times}, though nothing else changed"),
        };
        Some(Outcome::Fighting { message })
    }
}

/// What writes may follow from besides a fight: the generation, and what was read but is no child.
fn cause(report: &Report) -> u64 {
    let mut hasher = XxHash3_64::new();
    report.cr.generation.hash(&mut hasher);
    for read in &report.reads {
        match read {
            Subscription::Object(object, _) if report.applied.contains(object) => {}
            Subscription::Object(object, version) => (object, version).hash(&mut hasher),
            // A list that may hold the contested child moves with it.
            Subscription::List(query, _)
                if report
                    .applied
                    .iter()
                    .any(|applied| applied.gvk == query.gvk) => {}
            Subscription::List(_, version) => version.hash(&mut hasher),
        }
    }
    hasher.finish()
}
