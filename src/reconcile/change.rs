//! What a run changed, for people.

use std::collections::BTreeMap;

use crate::apply::diff::{self, ChangeKind};
use crate::host::session::Write;
use crate::model::{Object, ObjectRef, PublicText, Redactor};

/// What a run changed about an object, or a plan would.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The object.
    pub object: ObjectRef,
    /// What becomes of it.
    pub kind: ChangeKind,
    /// The difference, as unified diff; no secret is in it.
    pub diff: PublicText,
    /// The step that made it, by its path; none for scripts and what is pruned.
    pub step: Option<String>,
}

/// The changes of a run's writes, one per object, in the order of their first write; and which write
/// that is.
pub(super) fn changes_from_writes(
    writes: &[Write],
    redactor: &Redactor,
) -> (Vec<ObjectChange>, Vec<usize>) {
    let mut order: Vec<(usize, &ObjectRef)> = Vec::new();
    let mut by_object: BTreeMap<&ObjectRef, (&Write, &Write)> = BTreeMap::new();
    for (index, write) in writes.iter().enumerate() {
        by_object
            .entry(&write.object)
            .and_modify(|(_, last)| *last = write)
            .or_insert_with(|| {
                order.push((index, &write.object));
                (write, write)
            });
    }
    let ends = order
        .into_iter()
        .filter_map(|(index, object)| Some((index, *by_object.get(object)?)));
    ends.filter_map(|(index, (first, last))| {
        let (before, after) = (first.before.as_deref(), last.after.as_deref());
        let change = ObjectChange {
            object: first.object.clone(),
            kind: diff::change_kind(before, after)?,
            diff: redacted_diff(before, after, redactor),
            step: None,
        };
        Some((change, index))
    })
    .unzip()
}

/// The difference between two states of an object. Secrets are masked before the diff breaks them into
/// lines, and what the masks do not cover after it.
fn redacted_diff(
    before: Option<&Object>,
    after: Option<&Object>,
    redactor: &Redactor,
) -> PublicText {
    let (old, new) = (before.map(Object::value), after.map(Object::value));
    let (mut old, mut new) = (old.unwrap_or_default(), new.unwrap_or_default());
    redactor.states(&mut old, &mut new);
    let masked = |object: Option<&Object>, tree| Object::from_value(&object?.gvk, tree).ok();
    let (old, new) = (masked(before, &old), masked(after, &new));
    redactor.public(&diff::unified_diff(old.as_ref(), new.as_ref()))
}
