//! The part of a custom resource that triggers runs, as a small value for the comparison of two versions.
//!
//! It does not contain status, managed fields, resource version and finalizers, because the runtime writes
//! them itself. [`crate::reconcile::status_digest`] detects drift of a status.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde_json::value::RawValue;
use twox_hash::XxHash3_64;

use crate::model::annotations::{
    ANSIBLE_RECONCILE_PERIODS, CHILDREN, HELD_BY_LABEL, PAUSED, RECONCILE_AT, RECONCILE_PERIOD,
    STEPS,
};
use crate::model::{Object, Reason};

/// The part of a custom resource that triggers runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TriggerState {
    deleting: bool,
    paused: bool,
    generation: i64,
    /// A digest of labels and annotations, if the watch includes them, and of the content of kinds without
    /// a generation.
    content: u64,
    /// The value of the annotation that requests a run.
    request: u64,
    /// The annotations that set the period.
    period: u64,
}

impl TriggerState {
    /// Extracts the part of an object that triggers runs. Includes labels and annotations if
    /// `with_metadata`.
    pub(super) fn new(object: &Object, with_metadata: bool) -> Self {
        let annotations = object.details().annotations;
        let value = |key: &str| annotations.get(key);
        let bare = object.generation == 0;
        let mut content = XxHash3_64::new();
        if with_metadata || bare {
            hash_metadata(object, &annotations, &mut content);
        }
        if bare {
            hash_content(object, &mut content);
        }
        object.unreadable.hash(&mut content);
        Self {
            deleting: object.deleting,
            paused: value(PAUSED).is_some_and(|value| value == "true"),
            generation: object.generation,
            content: content.finish(),
            request: digest(&value(RECONCILE_AT)),
            period: digest(&period_keys().map(value).collect::<Vec<_>>()),
        }
    }

    /// Returns the reason of a run for the newer version; `None` if nothing changed that triggers one.
    pub(super) fn reason(&self, newer: &Self) -> Option<Reason> {
        if newer.deleting && !self.deleting {
            Some(Reason::Deleted)
        } else if newer.generation != self.generation || newer.content != self.content {
            Some(Reason::Changed)
        } else if newer.request != self.request {
            Some(Reason::Requested)
        } else if newer.paused != self.paused {
            Some(Reason::Resumed)
        } else if newer.period != self.period {
            // The current timer has the former period.
            Some(Reason::Period)
        } else {
            None
        }
    }

    /// Returns whether the newer version has a different generation.
    pub(super) fn is_other_generation(&self, newer: &Self) -> bool {
        newer.generation != self.generation
    }
}

/// Returns the annotations that set a period. The first one takes precedence.
pub(super) fn period_keys() -> impl Iterator<Item = &'static str> {
    [RECONCILE_PERIOD]
        .into_iter()
        .chain(ANSIBLE_RECONCILE_PERIODS)
}

fn hash_metadata(object: &Object, annotations: &BTreeMap<String, String>, hasher: &mut XxHash3_64) {
    for pair in object
        .labels
        .iter()
        .filter(|(key, _)| &**key != HELD_BY_LABEL)
    {
        pair.hash(hasher);
    }
    for pair in annotations.iter().filter(|(key, _)| !has_own_field(key)) {
        pair.hash(hasher);
    }
}

/// Annotations that are a field of [`TriggerState`], or that the runtime writes.
fn has_own_field(key: &str) -> bool {
    [CHILDREN, PAUSED, RECONCILE_AT, STEPS].contains(&key)
        || period_keys().any(|period| period == key)
}

fn hash_content(object: &Object, hasher: &mut XxHash3_64) {
    let top = members(object);
    for (key, value) in top {
        if !matches!(&*key, "apiVersion" | "kind" | "metadata" | "status") {
            (key, value.get()).hash(hasher);
        }
    }
}

/// Returns the members of an object; a metadata-only one has none.
fn members(object: &Object) -> BTreeMap<Cow<'_, str>, &RawValue> {
    if object.json().is_empty() {
        return BTreeMap::new();
    }
    serde_json::from_str(object.json()).expect("it was read when the object was made")
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = XxHash3_64::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::{Value, json};

    fn mk_state(value: &Value, with_metadata: bool) -> TriggerState {
        TriggerState::new(&testing::custom_resource(value), with_metadata)
    }

    fn mk_cr(metadata: &Value) -> Value {
        let mut base = json!({"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1});
        let more = metadata.as_object().cloned().unwrap_or_default();
        base.as_object_mut().unwrap().extend(more);
        json!({"metadata": base, "spec": {}})
    }

    fn reason(new: &Value, with_metadata: bool) -> Option<Reason> {
        let old = mk_state(&mk_cr(&json!({})), with_metadata);
        old.reason(&mk_state(new, with_metadata))
    }

    #[test]
    fn each_trigger_has_its_reason() {
        for (metadata, expected) in [
            (json!({"generation": 2}), Reason::Changed),
            (
                json!({"generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
                Reason::Deleted,
            ),
            (
                json!({"annotations": {RECONCILE_AT: "now"}}),
                Reason::Requested,
            ),
            (json!({"annotations": {PAUSED: "true"}}), Reason::Resumed),
            (
                json!({"annotations": {RECONCILE_PERIOD: "1m"}}),
                Reason::Period,
            ),
        ] {
            assert_eq!(
                reason(&mk_cr(&metadata), false),
                Some(expected),
                "{metadata}"
            );
        }
    }

    #[test]
    fn writes_of_the_runtime_trigger_no_run() {
        let mut new = mk_cr(
            &json!({"resourceVersion": "2", "finalizers": ["rhai.operator/cleanup"],
                          "labels": {HELD_BY_LABEL: "n.o"}}),
        );
        new["status"] = json!({"x": 1});
        assert_eq!(reason(&new, true), None);
    }

    #[test]
    fn labels_and_annotations_trigger_only_where_asked() {
        for metadata in [
            json!({"labels": {"a": "b"}}),
            json!({"annotations": {"a": "b"}}),
        ] {
            assert_eq!(reason(&mk_cr(&metadata), false), None);
            assert_eq!(reason(&mk_cr(&metadata), true), Some(Reason::Changed));
        }
    }

    #[test]
    fn a_kind_without_generation_triggers_by_content_and_labels() {
        let secret = |metadata: Value, data: &str, status: &str| {
            let mut object = mk_cr(&metadata);
            object["metadata"]["generation"] = json!(0);
            object["data"] = json!({"a": data});
            object["status"] = json!(status);
            mk_state(&object, false)
        };
        let old = secret(json!({}), "1", "a");
        let finalized = json!({"resourceVersion": "9", "finalizers": ["f"]});
        assert_eq!(old.reason(&secret(finalized, "1", "b")), None);
        assert_eq!(
            old.reason(&secret(json!({}), "2", "a")),
            Some(Reason::Changed)
        );
        let labelled = json!({"labels": {"a": "b"}});
        assert_eq!(
            old.reason(&secret(labelled, "1", "a")),
            Some(Reason::Changed)
        );
    }
}
