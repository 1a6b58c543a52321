//! `k8s_delete`, `k8s_patch`, `k8s_scale`.

use std::sync::Arc;

use bytes::Bytes;
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, Map, NativeCallContext};
use serde_json::Value;

use super::super::arguments::{self, Options, Reference};
use super::super::session::{Session, live};
use super::super::{HostResult, invalid};
use super::json_patch;
use super::read::read;
use crate::apply::{Claim, diff};
use crate::clock;
use crate::cluster::request::{DeleteOptions, DeleteResult, PatchKind, Propagation};
use crate::model::{Object, ObjectRef};
use crate::script::{self, HostError};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Deletes objects. An object that is absent, or is being deleted already, is no error.
    ///
    /// - `object`: any object, a map `#{apiVersion, kind, name, namespace}`, or an array of them, in whose
    ///   order they are deleted.
    /// - `options`: optional: `propagation`, the treatment of the object's dependents: `"background"`
    ///   (deleted afterwards, the default), `"foreground"` (deleted first), `"orphan"` (kept).
    ///
    /// ```rhai,no_run
    /// k8s_delete(#{apiVersion: "v1", kind: "ConfigMap", name: "obsolete"});
    /// k8s_delete(k8s_list("v1", "Pod", #{labels: #{job: meta.name}}), #{propagation: "foreground"});
    /// ```
    #[rhai_fn(name = "k8s_delete", volatile, return_raw)]
    pub fn k8s_delete(cx: NativeCallContext, object: Dynamic) -> HostResult<()> {
        delete(&cx, &object, Propagation::Background)
    }

    #[rhai_fn(name = "k8s_delete", volatile, return_raw)]
    pub fn k8s_delete_with(cx: NativeCallContext, object: Dynamic, options: Map) -> HostResult<()> {
        let mut options = Options::new(options);
        let propagation = propagation(options.take_text("propagation")?.as_deref())?;
        options.finish(&["propagation"])?;
        delete(&cx, &object, propagation)
    }

    /// Patches an object, which the custom resource does not have to own. Sends no request if nothing
    /// would change. The object gets no owner.
    ///
    /// - `object`: any object, or a map `#{apiVersion, kind, name, namespace}`.
    /// - `patch`: a map laid over the object, where `()` removes; for `"json"` an array of steps.
    /// - `form`: optional: `"merge"` (the default), `"json"` (RFC 6902), `"strategic"` (lists of
    ///   built-in kinds are merged by key).
    ///
    /// Returns the live object.
    ///
    /// Errors: `not_found`; `conflict` when the patch has a `resourceVersion` that is not current.
    ///
    /// ```rhai,no_run
    /// k8s_patch(#{apiVersion: "v1", kind: "Namespace", name: meta.namespace},
    ///           #{metadata: #{labels: #{team: spec.team}}});
    /// ```
    #[rhai_fn(name = "k8s_patch", volatile, return_raw)]
    pub fn k8s_patch(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> HostResult<Dynamic> {
        change(
            &cx,
            &Reference::from_dynamic(&object)?,
            &patch,
            PatchKind::Merge,
        )
    }

    #[rhai_fn(name = "k8s_patch", volatile, return_raw)]
    pub fn k8s_patch_as(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
        form: &str,
    ) -> HostResult<Dynamic> {
        let kind = match form {
            "merge" => PatchKind::Merge,
            "json" => PatchKind::Json,
            "strategic" => PatchKind::Strategic,
            other => {
                let expected = "expected merge, json or strategic";
                return Err(invalid(format!("form: {expected}, found {other}")));
            }
        };
        change(&cx, &Reference::from_dynamic(&object)?, &patch, kind)
    }

    /// Sets the number of replicas of a Deployment, a `StatefulSet`, or any kind with the subresource
    /// `scale`. Sends no request if the number is the same.
    ///
    /// - `object`: any object, or a map `#{apiVersion, kind, name, namespace}`.
    /// - `replicas`: how many.
    ///
    /// Errors: `not_found`; `invalid` for a negative number.
    ///
    /// ```rhai,no_run
    /// k8s_scale(#{apiVersion: "apps/v1", kind: "Deployment", name: "worker"}, 0);
    /// ```
    #[rhai_fn(name = "k8s_scale", volatile, return_raw)]
    pub fn k8s_scale(cx: NativeCallContext, object: Dynamic, replicas: i64) -> HostResult<()> {
        scale(&cx, &Reference::from_dynamic(&object)?, replicas)
    }
}

/// Parses the propagation policy of a deletion.
pub(crate) fn propagation(word: Option<&str>) -> HostResult<Propagation> {
    match word {
        None | Some("background" | "Background") => Ok(Propagation::Background),
        Some("foreground" | "Foreground") => Ok(Propagation::Foreground),
        Some("orphan" | "Orphan") => Ok(Propagation::Orphan),
        Some(other) => {
            let expected = "expected background, foreground or orphan";
            Err(invalid(format!("propagation: {expected}, found {other}")))
        }
    }
}

/// Deletes one object or several. Checks all references before the first deletion.
pub(crate) fn delete(
    cx: &NativeCallContext,
    object: &Dynamic,
    propagation: Propagation,
) -> HostResult<()> {
    let Some(objects) = object.read_lock::<Array>() else {
        return delete_one(
            cx,
            &Reference::from_dynamic(object)?,
            propagation,
            Scope::Any,
        );
    };
    let references: Vec<_> = objects
        .iter()
        .map(Reference::from_dynamic)
        .collect::<HostResult<_>>()?;
    references
        .iter()
        .try_for_each(|reference| delete_one(cx, reference, propagation, Scope::Any))
}

/// The objects that a deletion selects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All.
    Any,
    /// Objects that the custom resource owns. Others count as absent.
    Owned,
}

pub(super) fn delete_one(
    cx: &NativeCallContext,
    reference: &Reference,
    propagation: Propagation,
    scope: Scope,
) -> HostResult<()> {
    let session = Session::from_call(cx)?;
    let since = clock::now();
    let answer = script::block_on(cx, async {
        let cluster = &session.cluster();
        if cluster.kind(&reference.gvk).await?.is_none() {
            // The cluster does not serve the kind, so it has no such object.
            return Ok((reference.name.clone(), "absent"));
        }
        let (object, found) = read(&session, reference).await?;
        let Some(found) = found else {
            return Ok((object.to_string(), "absent"));
        };
        if found.deleting {
            return Ok((object.to_string(), "is being deleted"));
        }
        let foreign = Claim::determine(&session.setup.owner, &found) != Claim::Own;
        if scope == Scope::Owned && foreign {
            return Ok((object.to_string(), "not owned, left"));
        }
        let uid = (scope == Scope::Owned).then(|| found.uid.to_string());
        let options = DeleteOptions {
            propagation,
            uid: reference.uid.clone().or(uid),
            ..DeleteOptions::default()
        };
        let result = match cluster.delete(&object, &options).await? {
            DeleteResult::Absent => return Ok((object.to_string(), "absent")),
            DeleteResult::Gone => "deleted",
            DeleteResult::Marked(_) => "marked for deletion",
        };
        session.note_write(object.clone(), Some(found), None);
        Ok((object.to_string(), result))
    });
    let (object, result) =
        session.trace_failure("k8s_delete", since, || reference.to_string(), answer)?;
    session.trace("k8s_delete", since, || object, || result);
    Ok(())
}

fn change(
    cx: &NativeCallContext,
    reference: &Reference,
    patch: &Dynamic,
    kind: PatchKind,
) -> HostResult<Dynamic> {
    let session = Session::from_call(cx)?;
    let since = clock::now();
    let patch = arguments::json(patch)?;
    if reference.gvk.group.is_empty() && &*reference.gvk.kind == "Secret" {
        // A server that refuses the patch quotes it.
        session.setup.redactor.learn_patch(&patch);
        session.check_secrets()?;
    }
    let answer = script::block_on(cx, async {
        let cluster = &session.cluster();
        let (object, found) = read(&session, reference).await?;
        let before = found.ok_or_else(|| not_found(&object))?;
        if changes_nothing(&before.value(), &patch, kind) {
            session.effects().skipped += 1;
            return Ok((object, before, "skipped"));
        }
        let body = Bytes::from(patch.to_string());
        let written = cluster
            .patch(&object, kind, body, &session.write_options())
            .await?;
        if diff::is_equivalent(&before, &written.object) {
            session.effects().skipped += 1;
            return Ok((object, written.object, "unchanged"));
        }
        session.learn(&written.object)?;
        session.note_warnings(&object, &written.warnings);
        let after = Arc::clone(&written.object);
        session.note_write(object.clone(), Some(before), Some(after));
        Ok((object, written.object, "changed"))
    });
    let (object, after, result) =
        session.trace_failure("k8s_patch", since, || reference.to_string(), answer)?;
    session.trace("k8s_patch", since, || object, || result);
    live(&after)
}

fn scale(cx: &NativeCallContext, reference: &Reference, replicas: i64) -> HostResult<()> {
    if replicas < 0 {
        return Err(invalid(format!("replicas: {replicas} is negative")));
    }
    let session = Session::from_call(cx)?;
    let since = clock::now();
    let answer = script::block_on(cx, async {
        let cluster = &session.cluster();
        let (object, found) = read(&session, reference).await?;
        let before = found.ok_or_else(|| not_found(&object))?;
        if before.value()["spec"]["replicas"] == replicas {
            session.effects().skipped += 1;
            return Ok((object, "skipped"));
        }
        cluster
            .scale(&object, replicas, &session.write_options())
            .await?;
        let after = scaled(&before, replicas).unwrap_or_else(|| Arc::clone(&before));
        session.note_write(object.clone(), Some(before), Some(after));
        Ok((object, "changed"))
    });
    let (object, result) =
        session.trace_failure("k8s_scale", since, || reference.to_string(), answer)?;
    session.trace("k8s_scale", since, || object, || result);
    Ok(())
}

/// The object with that many replicas: the server answers with a `Scale` only.
fn scaled(before: &Object, replicas: i64) -> Option<Arc<Object>> {
    let mut value = before.value();
    value["spec"]["replicas"] = replicas.into();
    Object::from_value(&before.gvk, &value).ok().map(Arc::new)
}

fn not_found(object: &ObjectRef) -> HostError {
    HostError {
        code: Some(404),
        reason: "NotFound".to_owned(),
        ..HostError::new("not_found", format!("{object} does not exist"))
    }
}

/// Returns true if a patch certainly changes nothing. Returns false if only the server can know.
fn changes_nothing(object: &Value, patch: &Value, kind: PatchKind) -> bool {
    match kind {
        PatchKind::Merge => merges_to_same(object, patch),
        // Only the server knows the merge keys of lists, and only the server executes directives.
        PatchKind::Strategic => !is_strategic(patch) && merges_to_same(object, patch),
        PatchKind::Json => json_patch::patched(object, patch).is_some_and(|after| after == *object),
    }
}

/// Returns true if a merge patch (RFC 7386) changes nothing. A resource version in the patch is a
/// precondition, not a change.
fn merges_to_same(target: &Value, patch: &Value) -> bool {
    let Value::Object(fields) = patch else {
        return target == patch;
    };
    target.is_object()
        && fields
            .iter()
            .all(|(name, value)| match (target.get(name), value) {
                _ if name == "resourceVersion" => true,
                (None, Value::Null) => true,
                (None, _) | (Some(_), Value::Null) => false,
                (Some(present), value) => merges_to_same(present, value),
            })
}

fn is_strategic(patch: &Value) -> bool {
    match patch {
        Value::Array(items) => items.iter().any(Value::is_object),
        Value::Object(fields) => {
            fields.keys().any(|name| name.starts_with('$')) || fields.values().any(is_strategic)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_that_changes_nothing_is_seen() {
        let object = json!({"metadata": {"resourceVersion": "7", "labels": {"a": "1"}}, "spec": {"list": [1]}});
        let same = |patch: Value| changes_nothing(&object, &patch, PatchKind::Merge);
        assert!(same(json!({"metadata": {"labels": {"a": "1", "b": null}}})));
        assert!(same(
            json!({"metadata": {"resourceVersion": "6"}, "spec": {"list": [1]}})
        ));
        assert!(!same(json!({"metadata": {"labels": {"a": null}}})));
        assert!(!same(json!({"spec": {"list": [1, 2]}})));
        assert!(!same(json!({"status": {}})));
    }

    #[test]
    fn a_strategic_patch_of_lists_is_left_to_the_server() {
        let object = json!({"spec": {"containers": [{"name": "a"}], "replicas": 1}});
        let same = |patch: Value| changes_nothing(&object, &patch, PatchKind::Strategic);
        assert!(same(json!({"spec": {"replicas": 1}})));
        assert!(!same(json!({"spec": {"containers": [{"name": "a"}]}})));
        assert!(!same(json!({"spec": {"$patch": "replace", "replicas": 1}})));
    }

    #[test]
    fn json_steps_without_effect_are_seen() {
        let object = json!({"data": {"a": "1"}});
        let same = |patch: Value| changes_nothing(&object, &patch, PatchKind::Json);
        assert!(same(
            json!([{"op": "replace", "path": "/data/a", "value": "1"}])
        ));
        assert!(!same(
            json!([{"op": "replace", "path": "/data/a", "value": "2"}])
        ));
        assert!(!same(json!([{"op": "remove", "path": "/data/absent"}])));
    }
}
