//! Writes to `/scale`, which own one field of the object.
//!
//! Like `ScaleHandler` of apimachinery: entries have no time, and no manager owns a replica count of zero.

use serde_json::Value;

use super::{
    Manager,
    conflict::Conflicts,
    managers::{Entry, Identity, Managers},
    set::PathSet,
    strip,
};
use crate::error::ApiError;

/// Sets the owner of the replicas after an update through `/scale`. `path` is the path of the replicas in the
/// object. `manager.api_version` is that of the object, and `manager.subresource` is `scale`.
pub(crate) fn update(live: &Value, mut new: Value, manager: &Manager<'_>, path: &[&str]) -> Value {
    let mut managers = Managers::from_object(live).unwrap_or_default();
    strip(&mut new);
    let (before, after) = (at(live, path), at(&new, path));
    if before != after && !managers.0.is_empty() {
        let replicas = PathSet::of_fields(&[path]);
        for entry in &mut managers.0 {
            entry.set = std::mem::take(&mut entry.set).difference(&replicas);
        }
        managers.drop_empty();
        if after.is_some_and(|count| *count != 0) {
            own(&mut managers, manager, false, replicas);
        }
    }
    managers.write(&mut new);
    new
}

/// Sets the owner of the replicas after an apply to `/scale`. Returns a conflict unless `force` is set.
pub(crate) fn apply(
    live: &Value,
    mut new: Value,
    manager: &Manager<'_>,
    path: &[&str],
    force: bool,
) -> Result<Value, ApiError> {
    let mut managers = Managers::from_object(live).unwrap_or_default();
    strip(&mut new);
    let replicas = PathSet::of_fields(&[path]);
    let me = Identity::new(manager.name, true, manager.api_version, "scale");
    if at(live, path) != at(&new, path) {
        let others = managers.0.iter().filter(|entry| entry.id != me);
        let owners: Vec<(Identity, PathSet)> = others
            .map(|entry| (entry.id.clone(), entry.set.intersection(&replicas)))
            .filter(|(_, owned)| !owned.is_empty())
            .map(|(id, _)| (of_scale(id), PathSet::of_fields(&[&["spec", "replicas"]])))
            .collect();
        if !force && !owners.is_empty() {
            return Err(Conflicts::new(owners).refusal());
        }
        for entry in managers.0.iter_mut().filter(|entry| entry.id != me) {
            entry.set = std::mem::take(&mut entry.set).difference(&replicas);
        }
        managers.drop_empty();
    }
    if managers.get(&me).is_none() {
        own(&mut managers, manager, true, replicas);
    }
    managers.write(&mut new);
    Ok(new)
}

/// Returns the identity of an owner as messages of `/scale` show it: with the version of Scale if it updates.
fn of_scale(id: Identity) -> Identity {
    let version = if id.applies { "" } else { "autoscaling/v1" };
    Identity {
        version: version.to_owned(),
        ..id
    }
}

fn own(managers: &mut Managers, manager: &Manager<'_>, applies: bool, set: PathSet) {
    let id = Identity::new(manager.name, applies, manager.api_version, "scale");
    managers.take(&id);
    managers.0.push(Entry {
        id,
        api_version: manager.api_version.to_owned(),
        time: None,
        set,
    });
}

fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| value.get(step))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["spec", "replicas"];

    fn manager(name: &str) -> Manager<'_> {
        Manager {
            name,
            api_version: "apps/v1",
            kind: "Deployment",
            subresource: "scale",
            now: "2026-01-01T00:00:00Z",
            reset: &[],
            versions: &[],
        }
    }

    fn deployment(replicas: i64) -> Value {
        json!({"metadata": {"managedFields": [
            {"manager": "m1", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:paused": {}, "f:replicas": {}}}}]},
            "spec": {"replicas": replicas}})
    }

    fn owners(object: &Value) -> Vec<(&str, bool)> {
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let owns = |entry: &Value| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some();
        entries
            .iter()
            .map(|entry| (entry["manager"].as_str().unwrap(), owns(entry)))
            .collect()
    }

    #[test]
    fn an_update_takes_the_replicas() {
        let new = update(&deployment(1), deployment(2), &manager("s"), &PATH);
        assert_eq!(owners(&new), [("m1", false), ("s", true)]);
        let entry = &new["metadata"]["managedFields"][1];
        assert_eq!(entry["subresource"], "scale");
        assert!(entry.get("time").is_none());
        let none = update(&deployment(1), deployment(0), &manager("s"), &PATH);
        assert_eq!(owners(&none), [("m1", false)]);
        let same = update(&deployment(1), deployment(1), &manager("s"), &PATH);
        assert_eq!(owners(&same), [("m1", true)]);
    }

    #[test]
    fn an_apply_conflicts_shares_or_takes() {
        let apply =
            |to, force| super::apply(&deployment(1), deployment(to), &manager("s"), &PATH, force);
        assert_eq!(
            apply(2, false).unwrap_err().message,
            "Apply failed with 1 conflict: conflict with \"m1\": .spec.replicas"
        );
        assert_eq!(
            owners(&apply(2, true).unwrap()),
            [("m1", false), ("s", true)]
        );
        assert_eq!(
            owners(&apply(1, false).unwrap()),
            [("m1", true), ("s", true)]
        );
    }
}
