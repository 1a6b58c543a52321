//! Functions that read and write objects as the user of the scenario.

use std::sync::Arc;

use bytes::Bytes;
use rhai::plugin::export_module;
use rhai::{Array, Dynamic, NativeCallContext};
use serde_json::Value;

use super::call::{ScriptResult, context, json, script_error, wait};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::host;
use crate::model::{Gvk, Object, ObjectRef};
use crate::scenario::context::ScenarioContext;
use crate::scenario::expectation_check;
use crate::scenario::failure::Failure;
use crate::script::value;

#[export_module]
pub(super) mod functions {
    /// Returns whether an object has become what its spec asks for.
    #[rhai_fn(return_raw)]
    pub(crate) fn ready(object: Dynamic) -> ScriptResult<bool> {
        Ok(!object.is_unit() && host::readiness::not_ready(&json(&object)?).is_none())
    }

    /// Applies an object.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_apply(cx: NativeCallContext, object: Dynamic) -> ScriptResult<Dynamic> {
        let (context, value) = (context(&cx)?, json(&object)?);
        let gvk = gvk_of(&value)?;
        let applied = wait(&cx, context.apply_value(&gvk, value))?;
        Ok(live(&applied))
    }

    /// Returns an object, or `()` if it does not exist.
    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> ScriptResult<Dynamic> {
        get(&cx, &Gvk::from_api_version(api_version, kind), None, name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> ScriptResult<Dynamic> {
        let gvk = Gvk::from_api_version(api_version, kind);
        get(&cx, &gvk, Some(namespace), name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_ref(cx: NativeCallContext, object: Dynamic) -> ScriptResult<Dynamic> {
        let value = json(&object)?;
        let (gvk, namespace, name) = reference(&value)?;
        get(&cx, &gvk, namespace, name)
    }

    /// Reads all objects of a kind in the scenario's namespace, or another.
    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
    ) -> ScriptResult<Array> {
        list(&cx, &Gvk::from_api_version(api_version, kind), None)
    }

    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> ScriptResult<Array> {
        let gvk = Gvk::from_api_version(api_version, kind);
        list(&cx, &gvk, Some(namespace))
    }

    /// Deletes an object; that it is absent is no error.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_delete(cx: NativeCallContext, object: Dynamic) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&context, &value).await?;
            context.delete(&object).await
        })
    }

    /// Waits until an object is gone.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn wait_gone(cx: NativeCallContext, object: Dynamic) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&context, &value).await?;
            context.wait_gone(&object, context.deadline).await
        })
    }

    /// Changes parts of an object by a merge patch.
    #[rhai_fn(name = "k8s_patch", volatile, return_raw)]
    pub(crate) fn k8s_patch(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> ScriptResult<Dynamic> {
        change(&cx, &object, &patch, None)
    }

    /// Changes parts of an object's status by a merge patch.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_patch_status(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> ScriptResult<Dynamic> {
        change(&cx, &object, &patch, Some("status"))
    }
}

fn live(object: &Arc<Object>) -> Dynamic {
    value::from_json(object.json().as_bytes()).unwrap_or_default()
}

/// Kind, namespace and name of an object, or of a map `#{apiVersion, kind, name, namespace}`.
fn reference(value: &Value) -> ScriptResult<(Gvk, Option<&str>, &str)> {
    let text = |key: &str| {
        let found = value["metadata"].get(key).or_else(|| value.get(key));
        found.and_then(Value::as_str)
    };
    let Some(name) = text("name") else {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        return Err(script_error(Failure::new(format!(
            "{expected}: name is missing"
        ))));
    };
    Ok((gvk_of(value)?, text("namespace"), name))
}

fn gvk_of(value: &Value) -> ScriptResult<Gvk> {
    let text = |key: &str| {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        let missing = || script_error(Failure::new(format!("{expected}: {key} is missing")));
        value[key].as_str().ok_or_else(missing)
    };
    Ok(Gvk::from_api_version(text("apiVersion")?, text("kind")?))
}

async fn address(context: &ScenarioContext, value: &Value) -> Result<ObjectRef, Failure> {
    let reference = reference(value).map_err(|error| Failure::new(error.to_string()));
    let (gvk, namespace, name) = reference?;
    context.object_ref(&gvk, namespace, name).await
}

fn get(
    cx: &NativeCallContext,
    gvk: &Gvk,
    namespace: Option<&str>,
    name: &str,
) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let found = wait(cx, async {
        let object = context.object_ref(gvk, namespace, name).await?;
        context.get(&object).await
    })?;
    Ok(found.as_ref().map(live).unwrap_or_default())
}

fn list(cx: &NativeCallContext, gvk: &Gvk, namespace: Option<&str>) -> ScriptResult<Array> {
    let context = context(cx)?;
    let found = wait(cx, expectation_check::objects(&context, gvk, namespace))?;
    Ok(found.iter().map(value::to_dynamic).collect())
}

fn change(
    cx: &NativeCallContext,
    object: &Dynamic,
    patch: &Dynamic,
    subresource: Option<&'static str>,
) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let (value, patch) = (json(object)?, json(patch)?);
    let written = wait(cx, async {
        let object = address(&context, &value).await?;
        let options = WriteOptions {
            subresource,
            ..WriteOptions::default()
        };
        let body = Bytes::from(patch.to_string());
        let written = context
            .cluster
            .patch(&object, PatchKind::Merge, body, &options);
        written
            .await
            .map_err(|error| Failure::from_cluster_error("cannot patch", &error))
    })?;
    Ok(live(&written.object))
}
