//! The scale subresource: the wanted and actual number of replicas of an object of any kind.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/>

use std::sync::Arc;

use serde_json::{Value, json};

use super::ownership::{self, Ownership};
use super::request::{ObjectResponse, PatchType, ResourceRequest};
use super::strategy::custom;
use super::transaction::Transaction;
use super::update::replace;
use super::{decode, encode, identity, list, metadata, syntax};
use crate::error::{ApiError, FieldError};
use crate::go;
use crate::labels::LabelSelector;
use crate::store::Store;

/// Returns the Scale of an object.
pub(crate) fn get(store: &Store, call: &ResourceRequest) -> Result<ObjectResponse, ApiError> {
    scaled(call, list::get(store, call)?)
}

/// Writes the wanted replicas of a decoded Scale to the object.
pub(crate) fn update(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    scale: &Value,
) -> Result<ObjectResponse, ApiError> {
    if !metadata::name(scale).is_empty() {
        identity::name(call, scale)?;
    }
    let live = live(tx, call)?;
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        return Err(negative(call, replicas));
    }
    let mut object = (*live).clone();
    set_replicas(call, &mut object, replicas);
    for field in ["uid", "resourceVersion"] {
        if !metadata::text(scale, field).is_empty() {
            metadata::copy(field, scale, &mut object);
        }
    }
    scaled(call, replace(tx, call, &live, object, Ownership::Scale)?)
}

fn scaled(call: &ResourceRequest, answer: ObjectResponse) -> Result<ObjectResponse, ApiError> {
    Ok(ObjectResponse {
        object: Arc::new(scale_of(call, &answer.object)?),
        ..answer
    })
}

/// Patches the Scale of an object.
pub(crate) fn patch(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    kind: PatchType,
    body: &[u8],
) -> Result<ObjectResponse, ApiError> {
    let document = syntax::patch(call, kind, body)?.value;
    let live = live(tx, call)?;
    if kind == PatchType::Apply {
        return apply(tx, call, &live, &document);
    }
    // A patch can add the number of replicas, so a missing number is not an error here.
    let scale = shown(&live, &read(call, &live).unwrap_or_default());
    let patched = match kind {
        // A Scale has no lists, so a strategic merge patch is a merge patch.
        PatchType::Json => decode::apply_patch(call, kind, &scale, &document)?,
        _ => decode::apply_patch(call, PatchType::Merge, &scale, &document)?,
    };
    let replicas = &patched["spec"]["replicas"];
    if !replicas.is_null() && !replicas.is_i64() {
        let given = match replicas {
            Value::Number(number) => format!("number {number}"),
            other => go::json_kind(other).to_owned(),
        };
        let why = format!(
            "json: cannot unmarshal {given} into Go struct field ScaleSpec.spec.replicas of type int32"
        );
        return Err(ApiError::invalid_patch(go::object(&patched), why));
    }
    update(tx, call, &patched)
}

/// Performs a server-side apply of a Scale.
fn apply(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    live: &Arc<Value>,
    configuration: &Value,
) -> Result<ObjectResponse, ApiError> {
    let replicas = configuration["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        return Err(negative(call, replicas));
    }
    let mut object = (**live).clone();
    set_replicas(call, &mut object, replicas);
    let object = ownership::applied_scale(call, live, object, &tx.now_rfc3339())?;
    if custom(call).is_some() {
        let message = "apply to the scale of a custom resource is not implemented";
        return Err(ApiError::not_implemented(message));
    }
    scaled(call, replace(tx, call, live, object, Ownership::Applied)?)
}

fn live(tx: &Transaction<'_>, call: &ResourceRequest) -> Result<Arc<Value>, ApiError> {
    let stored = tx.live(call).ok_or_else(|| call.not_found(&call.name))?;
    Ok(encode::presented(&call.resource, &call.version, &stored))
}

/// The replicas and the selector of an object.
#[derive(Default)]
struct Replicas {
    wanted: i64,
    there: i64,
    selector: String,
}

fn scale_of(call: &ResourceRequest, object: &Value) -> Result<Value, ApiError> {
    Ok(shown(object, &read(call, object)?))
}

fn shown(object: &Value, replicas: &Replicas) -> Value {
    let Replicas {
        wanted,
        there,
        selector,
    } = replicas;
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {},
        "status": {"replicas": there},
    });
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        metadata::copy(field, object, &mut scale);
    }
    // The JSON encoder of Go omits a zero here.
    if *wanted != 0 {
        scale["spec"]["replicas"] = (*wanted).into();
    }
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.as_str().into();
    }
    scale
}

fn read(call: &ResourceRequest, object: &Value) -> Result<Replicas, ApiError> {
    let paths = custom(call).and_then(|custom| custom.version.scale());
    let Some(paths) = paths else {
        return Ok(Replicas {
            wanted: object["spec"]["replicas"].as_i64().unwrap_or(0),
            there: object["status"]["replicas"].as_i64().unwrap_or(0),
            selector: selector(object),
        });
    };
    let failed = |why: String| ApiError::internal(&why);
    let missing = || {
        let path = &paths.spec;
        format!("the spec replicas field {path:?} does not exist")
    };
    Ok(Replicas {
        wanted: paths
            .spec_replicas(object)
            .map_err(failed)?
            .ok_or_else(|| failed(missing()))?,
        there: paths.status_replicas(object).map_err(failed)?.unwrap_or(0),
        selector: paths.selector(object).map_err(failed)?.unwrap_or_default(),
    })
}

fn selector(object: &Value) -> String {
    let selector = LabelSelector::from_value(&object["spec"]["selector"]);
    selector.map(|one| one.to_string()).unwrap_or_default()
}

fn set_replicas(call: &ResourceRequest, object: &mut Value, replicas: i64) {
    match custom(call).and_then(|custom| custom.version.scale()) {
        Some(paths) => paths.set_spec_replicas(object, replicas),
        None => object["spec"]["replicas"] = replicas.into(),
    }
}

fn negative(call: &ResourceRequest, replicas: i64) -> ApiError {
    if let Some(paths) = custom(call).and_then(|custom| custom.version.scale()) {
        let text = "should be a non-negative integer";
        let error = FieldError::invalid(paths.spec.as_str(), replicas, text);
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        return ApiError::invalid(group, kind, &call.name, &[error]);
    }
    let text = "must be greater than or equal to 0";
    let error = FieldError::invalid("spec.replicas", replicas, text);
    ApiError::invalid("autoscaling", "Scale", &call.name, &[error])
}
