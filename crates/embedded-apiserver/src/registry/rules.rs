//! The rules of one kind: schema, defaults, validation, field ownership.
//!
//! The narrow door to the modules that know them, one side for built-in kinds, one for custom ones.

use serde_json::Value;

use super::call::{Call, WriteOptions};
use super::identity;
use super::patch::PatchType;
use crate::apply::{self, Manager, reset};
use crate::builtin::{self, metadata::NameRule};
use crate::crd::{self, Verdict};
use crate::error::ApiError;
use crate::patch;
use crate::resource::{Custom, Resource, Version};
use crate::schema::{Schema, canonical, mismatch, strict};

/// The resource of definitions.
pub(super) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// What is known of the version of a call, if it is custom.
pub(super) fn custom(call: &Call) -> Option<&Custom> {
    call.served().custom.as_deref()
}

fn is_definition(call: &Call) -> bool {
    &**call.resource.id() == DEFINITIONS
}

/// What decoding an object of this version does to it: unknown fields go, defaults come. Returns
/// what strict decoding says of unknown fields.
pub(super) fn decode(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    if identity::is_custom(call)
        && let Some(custom) = custom(call)
    {
        let unknown = custom.version.coerce(object)?;
        custom.version.default(object);
        identity::shape(object)?;
        let told = unknown.iter().map(|path| format!("unknown field {path:?}"));
        return Ok(told.collect());
    }
    decode_builtin(call, object)
}

/// The same for what an apply has made: of a custom resource, nulls stay, for validation to tell.
pub(super) fn decode_applied(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let Some(custom) = custom(call).filter(|_| identity::is_custom(call)) else {
        return decode(call, object);
    };
    let mut head = object.clone();
    if let Some(fields) = head.as_object_mut() {
        fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    }
    custom.version.coerce(&mut head)?;
    identity::shape(&mut head)?;
    object["metadata"] = head["metadata"].take();
    custom.version.default(object);
    Ok(Vec::new())
}

fn decode_builtin(call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let (group, version) = crate::resource::split_api_version(&api_version);
    let mut unknown = Vec::new();
    if let Some(schema) = Schema::builtin(group, version, &kind) {
        mismatch::check(&schema, &kind, version, object)?;
        unknown = strict::unknown_fields(&schema, object);
        if is_definition(call) {
            canonical::canonical(&schema, object);
            crd::default(object);
        }
    }
    identity::shape(object)?;
    builtin::defaults(group, version, &kind, object);
    if is_definition(call) {
        crd::prepare(object, None);
    }
    Ok(unknown)
}

/// What reading an object that was stored under an older definition does to it.
pub(super) fn refresh(version: &Version, object: &mut Value) {
    if let Some(custom) = &version.custom {
        // What cannot be read in the new form is shown as it is.
        let _ = custom.version.coerce(object);
        custom.version.default(object);
    }
}

/// What a create does to an object before it is checked.
pub(super) fn prepare_for_create(call: &Call, object: &mut Value, now: &str) {
    if is_definition(call) {
        crd::prepare(object, None);
    } else if call.resource.is_custom() {
        if call.served().subresource("status").is_some()
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
    } else {
        let Resource { group, kind, .. } = &*call.resource;
        builtin::defaults(group, &call.version, kind, object);
        builtin::prepare_for_create(group, &call.version, kind, object, now);
    }
}

/// What an update does to an object before it is checked.
pub(super) fn prepare_for_update(call: &Call, object: &mut Value, live: &Value) {
    if call.subresource == "status" || call.subresource == "finalize" {
        return;
    }
    if is_definition(call) {
        crd::prepare(object, Some(live));
    } else if !call.resource.is_custom() {
        let Resource { group, kind, .. } = &*call.resource;
        builtin::defaults(group, &call.version, kind, object);
        builtin::prepare_for_update(group, &call.version, kind, object, live);
    }
}

/// Everything that is wrong with an object, and what is only to be warned of.
pub(super) fn validate(call: &Call, object: &Value, live: Option<&Value>) -> Verdict {
    let Resource {
        group,
        kind,
        namespaced,
        ..
    } = &*call.resource;
    let rule = if call.resource.is_custom() {
        NameRule::Subdomain
    } else {
        builtin::metadata::name_rule(group, kind)
    };
    let mut errors = builtin::metadata::validate(object, live, *namespaced, rule);
    if live.is_some() {
        // The real server checks the metadata of updates twice, and says so.
        errors.extend(errors.clone());
    }
    let verdict = match (custom(call), live) {
        (Some(custom), Some(live)) if call.subresource == "status" => {
            custom.version.validate_status(object, live)
        }
        (Some(custom), _) => custom.version.validate(object, live),
        (None, _) if is_definition(call) => definition(call, object, live),
        (None, _) => Verdict {
            errors: builtin::validate(group, kind, object, live),
            warnings: match live {
                None => builtin::warnings(group, kind, object),
                Some(_) => Vec::new(),
            },
        },
    };
    errors.extend(verdict.errors);
    Verdict { errors, ..verdict }
}

/// The form in which a valid object is kept: of custom resources' numbers, `1.0` is `1`.
pub(super) fn kept(call: &Call, object: &mut Value) {
    if call.resource.is_custom() {
        crd::canonical_numbers(object);
    }
}

fn definition(call: &Call, object: &Value, live: Option<&Value>) -> Verdict {
    if call.subresource == "status" {
        return Verdict {
            errors: crd::validate_status(object),
            warnings: Vec::new(),
        };
    }
    Verdict {
        errors: crd::validate(object, live),
        warnings: crd::warnings(object, live),
    }
}

/// The types of the call's kind.
pub(super) fn schema(call: &Call) -> Schema {
    schema_of(&call.resource, call.served())
}

fn schema_of(resource: &Resource, version: &Version) -> Schema {
    if let Some(custom) = &version.custom {
        return custom.schema.clone();
    }
    let found = Schema::builtin(&resource.group, &version.name, &resource.kind);
    found.unwrap_or_else(Schema::unknown)
}

/// Fields that a write at this path leaves alone, so that nobody comes to own them by it.
fn reset(call: &Call) -> reset::Fields {
    let has_status = call.served().subresource("status").is_some();
    if call.resource.is_custom() {
        reset::custom(has_status, &call.subresource)
    } else {
        reset::builtin(&call.resource.kind, &call.subresource)
    }
}

/// Does something as the manager of a call.
fn as_manager<T>(call: &Call, now: &str, act: impl FnOnce(&Schema, &Manager<'_>) -> T) -> T {
    let WriteOptions { manager, .. } = &call.options;
    let api_version = call.api_version();
    let others: Vec<(String, Schema)> = call
        .resource
        .versions
        .iter()
        .filter(|version| version.served && version.name != call.version)
        .map(|version| {
            let name = call.resource.api_version(&version.name);
            (name, schema_of(&call.resource, version))
        })
        .collect();
    let others: Vec<(&str, Schema)> = others
        .iter()
        .map(|(name, schema)| (&**name, schema.clone()))
        .collect();
    let manager = Manager {
        name: manager,
        api_version: &api_version,
        kind: &call.resource.kind,
        subresource: &call.subresource,
        now,
        reset: reset(call),
        versions: &others,
    };
    act(&schema(call), &manager)
}

/// Moves the ownership of fields to whoever has written them.
pub(super) fn track(call: &Call, live: Option<&Value>, new: Value, now: &str) -> Value {
    as_manager(call, now, |schema, manager| {
        apply::update(schema, live, new, manager)
    })
}

/// The same of a write through `/scale`, which is of one field.
pub(super) fn track_scale(call: &Call, live: Option<&Value>, new: Value, now: &str) -> Value {
    let path = replicas_path(call);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    as_manager(call, now, |_, manager| {
        apply::scale::update(live.unwrap_or(&Value::Null), new, manager, &path)
    })
}

/// Applies the replicas of `new` to the live object.
pub(super) fn applied_scale(
    call: &Call,
    live: &Value,
    new: Value,
    now: &str,
) -> Result<Value, ApiError> {
    let path = replicas_path(call);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    as_manager(call, now, |_, manager| {
        apply::scale::apply(live, new, manager, &path, call.options.force)
    })
}

/// Where an object keeps the replicas that it wants.
fn replicas_path(call: &Call) -> Vec<String> {
    let custom = custom(call).and_then(|custom| custom.version.scale());
    let path = custom.map_or(".spec.replicas", |scale| &scale.spec);
    let keys = path.split('.').filter(|key| !key.is_empty());
    keys.map(str::to_owned).collect()
}

/// For objects whose owners are known already: what an apply has made.
pub(super) fn tracked(_: &Call, _: Option<&Value>, new: Value, _: &str) -> Value {
    new
}

/// The live object, or nothing, with a configuration applied.
pub(super) fn applied(
    call: &Call,
    live: Option<&Value>,
    configuration: &Value,
    now: &str,
) -> Result<Value, ApiError> {
    as_manager(call, now, |schema, manager| {
        apply::apply(schema, live, configuration, manager, call.options.force)
    })
}

/// Takes back new times of owners where nothing else has changed.
pub(super) fn settle_times(live: &Value, object: &mut Value) {
    apply::ignore_times(live, object);
    // What has no owners says nothing of them.
    if object["metadata"]["managedFields"].is_null() {
        super::metadata::of_mut(object).remove("managedFields");
    }
}

/// The live object with a patch applied.
pub(super) fn patched(
    call: &Call,
    kind: PatchType,
    live: &Value,
    document: &Value,
) -> Result<Value, ApiError> {
    match kind {
        PatchType::Json => patch::json(live, document),
        PatchType::Strategic => patch::strategic(&schema(call), live, document),
        // An apply merges by owners and has a path of its own, see `applied`.
        PatchType::Merge | PatchType::Apply => patch::merge(live, document),
    }
}
