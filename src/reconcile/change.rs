//! The changes of a run, as diffs for the user.

use std::collections::BTreeMap;

use crate::apply::diff::{self, ChangeKind};
use crate::host::session::WrittenStates;
use crate::model::{Object, ObjectRef, PublicText, Redactor};

/// A change of one object in a run, or in a plan.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The changed object.
    pub object: ObjectRef,
    /// Creation, change or deletion.
    pub kind: ChangeKind,
    /// The unified diff, without values of Secrets.
    pub diff: PublicText,
    /// Path of the step that made the change; `None` for scripts and pruned objects.
    pub step: Option<String>,
}

/// Combines the writes of a run to one change per object, in the order of the first write of each. The
/// second list contains the index of that first write.
pub(super) fn changes_from_writes(
    objects: &[ObjectRef],
    states: &[WrittenStates],
    redactor: &Redactor,
) -> (Vec<ObjectChange>, Vec<usize>) {
    let mut writes: Vec<(usize, &ObjectRef, &WrittenStates, &WrittenStates)> = Vec::new();
    let mut positions: BTreeMap<&ObjectRef, usize> = BTreeMap::new();
    for (index, (object, states)) in objects.iter().zip(states).enumerate() {
        let position = *positions.entry(object).or_insert(writes.len());
        match writes.get_mut(position) {
            Some((_, _, _, last)) => *last = states,
            None => writes.push((index, object, states, states)),
        }
    }
    writes
        .into_iter()
        .filter_map(|(index, object, first, last)| {
            let (before, after) = (first.before.as_deref(), last.after.as_deref());
            let change = ObjectChange {
                object: object.clone(),
                kind: diff::change_kind(before, after)?,
                diff: redacted_diff(object, before, after, redactor),
                step: None,
            };
            Some((change, index))
        })
        .unzip()
}

/// Returns the diff between two states of an object. Values of Secrets are masked before the diff splits
/// them into lines, and the text is masked again afterwards.
///
/// The diff works on trees: a masked value does not have to fit the type of its field.
fn redacted_diff(
    object: &ObjectRef,
    before: Option<&Object>,
    after: Option<&Object>,
    redactor: &Redactor,
) -> PublicText {
    let (mut old, mut new) = (before.map(Object::value), after.map(Object::value));
    match (&mut old, &mut new) {
        (Some(old), Some(new)) => redactor.states(old, new),
        (Some(one), None) | (None, Some(one)) => redactor.value(one),
        (None, None) => {}
    }
    redactor.public(&diff::unified_diff(object, old, new))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::Gvk;

    #[test]
    fn an_object_with_a_masked_number_is_shown_as_changed() {
        let state = |data: &str| {
            let object = json!({
                "metadata": {"name": "c", "generation": 123_456_789_012_i64},
                "data": {"key": data},
            });
            let gvk = Gvk::new("", "v1", "ConfigMap");
            Some(Arc::new(Object::from_value(&gvk, &object).unwrap()))
        };
        let redactor = Redactor::default();
        redactor.add("123456789012");
        let states = WrittenStates {
            before: state("old"),
            after: state("new"),
        };
        let object = states.before.as_ref().unwrap().object_ref();
        let (changes, order) = changes_from_writes(&[object], &[states], &redactor);
        assert_eq!(order, [0]);
        let diff = &*changes[0].diff;
        assert!(
            diff.starts_with("--- ConfigMap c\n+++ ConfigMap c\n"),
            "{diff}"
        );
        assert!(diff.contains("-  key: old\n+  key: new\n"), "{diff}");
    }
}
