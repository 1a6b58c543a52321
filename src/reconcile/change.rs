//! What a run changed, for people.

use std::collections::BTreeMap;

use crate::apply::diff::{self, Verb};
use crate::host::session::Write;
use crate::model::{ObjectRef, Redactor};

/// What a run changed about an object, or a plan would.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object.
    pub object: ObjectRef,
    /// What becomes of it.
    pub verb: Verb,
    /// The difference, as unified diff; no secret is in it.
    pub diff: String,
}

/// The changes of a run's writes, one per object, in the order of their first write.
pub(super) fn of_writes(writes: &[Write], redactor: &Redactor) -> Vec<Change> {
    let mut order: Vec<&ObjectRef> = Vec::new();
    let mut by_object: BTreeMap<&ObjectRef, (&Write, &Write)> = BTreeMap::new();
    for write in writes {
        by_object
            .entry(&write.object)
            .and_modify(|(_, last)| *last = write)
            .or_insert_with(|| {
                order.push(&write.object);
                (write, write)
            });
    }
    let ends = order
        .into_iter()
        .filter_map(|object| by_object.get(object).copied());
    ends.filter_map(|(first, last)| {
        let (before, after) = (first.before.as_deref(), last.after.as_deref());
        let diff = diff::unified(before, after);
        Some(Change {
            object: first.object.clone(),
            verb: diff::verb(before, after)?,
            diff: redactor.text(&diff).into_owned(),
        })
    })
    .collect()
}
