//! The changes of a run, as diffs for the user.

use std::collections::BTreeMap;

use crate::apply::diff::{self, ChangeKind};
use crate::host::session::WrittenStates;
use crate::model::{Object, ObjectRef, PublicText, Redactor};

/// Maximum number of writes that a log line names.
const MAX_LOGGED: usize = 10;

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

/// Lists the writes of a run for the log: `created ConfigMap n/a, deleted Secret n/b`.
pub(super) fn describe_writes(objects: &[ObjectRef], states: &[WrittenStates]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (object, states) in objects.iter().zip(states) {
        let verb = match (&states.before, &states.after) {
            (None, _) => "created",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "deleted",
        };
        let part = format!("{verb} {object}");
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let more = parts.len().saturating_sub(MAX_LOGGED);
    parts.truncate(MAX_LOGGED);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
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

    #[test]
    fn the_log_names_each_written_object_once_and_how() {
        let object = |name: &str| {
            let gvk = Gvk::new("", "v1", "ConfigMap");
            ObjectRef::new(gvk, Some("n"), name)
        };
        let state = |name: &str| {
            let tree = json!({"metadata": {"name": name, "namespace": "n"}});
            Some(Arc::new(
                Object::from_value(&object(name).gvk, &tree).unwrap(),
            ))
        };
        let written = |before, after| WrittenStates { before, after };
        let objects = [object("a"), object("b"), object("b"), object("c")];
        let states = [
            written(None, state("a")),
            written(state("b"), state("b")),
            written(state("b"), state("b")),
            written(state("c"), None),
        ];
        assert_eq!(
            describe_writes(&objects, &states),
            "created ConfigMap n/a, changed ConfigMap n/b, deleted ConfigMap n/c"
        );
        let many: Vec<_> = (0..12).map(|n| object(&n.to_string())).collect();
        let states: Vec<_> = many.iter().map(|_| written(None, state("x"))).collect();
        assert!(describe_writes(&many, &states).ends_with("ConfigMap n/9, and 2 more"));
    }
}
