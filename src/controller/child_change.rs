//! The changes of a child that trigger its owner.
//!
//! All changes do, except of resource version and generation alone. Fields of other managers count too: to
//! distinguish them costs more than a run without a write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::watch::ObjectChange;
use crate::model::Object;
use crate::model::object::Managed;

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Returns whether the change triggers a run of the CR.
pub(super) fn is_relevant(change: &ObjectChange) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.uid != new.uid || differs(old, new).unwrap_or(true),
        // Another client created it, or it was deleted.
        _ => true,
    }
}

fn differs(old: &Object, new: &Object) -> Result<bool, serde_json::Error> {
    let (old, new) = (members(old.json())?, members(new.json())?);
    if differ(&old, &new, |key| key == "metadata") {
        return Ok(true);
    }
    let metadata = |top: &Members<'_>| top.get("metadata").map_or("{}", |raw| raw.get()).to_owned();
    let (old, new) = (metadata(&old), metadata(&new));
    let bookkeeping = |key: &str| matches!(key, "resourceVersion" | "generation");
    Ok(differ(&members(&old)?, &members(&new)?, bookkeeping))
}

fn members(json: &str) -> Result<Members<'_>, serde_json::Error> {
    serde_json::from_str(json)
}

fn differ(old: &Members<'_>, new: &Members<'_>, ignored: impl Fn(&str) -> bool) -> bool {
    let count = |members: &Members<'_>| members.keys().filter(|key| !ignored(key)).count();
    count(old) != count(new)
        || old
            .iter()
            .filter(|(key, _)| !ignored(key))
            .any(|(key, value)| new.get(key).is_none_or(|other| other.get() != value.get()))
}

/// Returns a field that a manager of the runtime owned before and does not own now, because another
/// manager wrote it.
pub(super) fn lost_field(old: &Object, new: &Object) -> Option<String> {
    let sets = |object: &Object| -> Vec<Value> {
        let own = object
            .managed
            .iter()
            .filter(|entry| entry.subresource.is_none());
        own.map(Managed::value).collect()
    };
    let (old, new) = (sets(old), sets(new));
    let mut path = Vec::new();
    old.iter()
        .find_map(|set| lost(set, &new.iter().collect::<Vec<_>>(), &mut path))
}

/// Returns the first leaf of `old` that none of `new` contains.
fn lost(old: &Value, new: &[&Value], path: &mut Vec<String>) -> Option<String> {
    let members = old.as_object().filter(|members| !members.is_empty());
    let Some(members) = members else {
        return new.is_empty().then(|| path.join("."));
    };
    members.iter().find_map(|(key, inner)| {
        path.push(key.strip_prefix("f:").unwrap_or(key).to_owned());
        let inside: Vec<_> = new.iter().filter_map(|set| set.get(key)).collect();
        let found = lost(inner, &inside, path);
        path.pop();
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use serde_json::json;

    use crate::model::Gvk;

    fn mk_change(old: &Value, new: &Value) -> ObjectChange {
        let object = |value| {
            let gvk = Gvk::new("", "v1", "ConfigMap");
            Some(Arc::new(Object::from_value(&gvk, value).unwrap()))
        };
        ObjectChange {
            old: object(old),
            new: object(new),
        }
    }

    fn mk_child(more: &Value) -> Value {
        let mut child = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1},
            "data": {"x": "1"},
        });
        for (pointer, value) in more.as_object().unwrap() {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            child.pointer_mut(parent).unwrap()[key] = value.clone();
        }
        child
    }

    fn matters_to(more: &Value) -> bool {
        is_relevant(&mk_change(&mk_child(&json!({})), &mk_child(more)))
    }

    #[test]
    fn content_status_finalizers_and_deletion_matter() {
        for more in [
            json!({"/data": {"x": "2"}}),
            json!({"/status": {"ready": true}}),
            json!({"/metadata/finalizers": ["f"]}),
            json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}),
            json!({"/metadata/labels": {}}),
            json!({"/metadata/uid": "other"}),
        ] {
            assert!(matters_to(&more), "{more}");
        }
    }

    #[test]
    fn bookkeeping_does_not_matter() {
        assert!(!matters_to(
            &json!({"/metadata/resourceVersion": "2", "/metadata/generation": 2})
        ));
    }

    #[test]
    fn a_child_that_comes_or_goes_matters() {
        let whole = mk_change(&mk_child(&json!({})), &mk_child(&json!({})));
        assert!(is_relevant(&ObjectChange {
            old: None,
            ..whole.clone()
        }));
        assert!(is_relevant(&ObjectChange { new: None, ..whole }));
    }

    #[test]
    fn a_field_that_another_manager_took_is_named() {
        let managed = |fields: &Value| {
            let child = json!({"metadata": {"name": "a", "managedFields": [
                {"manager": "rhai-operator/1", "operation": "Apply", "fieldsV1": fields},
            ]}});
            Object::from_value(&Gvk::new("apps", "v1", "Deployment"), &child).unwrap()
        };
        let all = managed(&json!({"f:spec": {"f:replicas": {}, "f:template": {"f:x": {}}}}));
        let less = managed(&json!({"f:spec": {"f:template": {"f:x": {}}}}));
        assert_eq!(lost_field(&all, &less).as_deref(), Some("spec.replicas"));
        assert_eq!(lost_field(&less, &all), None);
    }
}
