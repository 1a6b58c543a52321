//! Field ownership: the managers of the fields that a write changes.

use serde_json::Value;

use super::metadata;
use super::request::{ResourceRequest, WriteOptions};
use super::strategy::{custom, schema, schema_of, strategy_of};
use crate::apply::{self, Manager};
use crate::error::ApiError;
use crate::schema::Schema;

/// The way in which the fields of a write get their owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The manager of the request owns the fields that it changes.
    Changed,
    /// The manager owns the replicas, as the only field of a Scale.
    Scale,
    /// An apply has set the owners.
    Applied,
}

impl Ownership {
    /// Sets the owners of the fields of a new object or version.
    pub(super) fn set(
        self,
        call: &ResourceRequest,
        live: Option<&Value>,
        new: Value,
        now: &str,
    ) -> Value {
        match self {
            Self::Changed => track(call, live, new, now),
            Self::Scale => track_scale(call, live, new, now),
            Self::Applied => new,
        }
    }
}

/// Calls a function with the manager of a request.
fn as_manager<T>(
    call: &ResourceRequest,
    now: &str,
    act: impl FnOnce(&Schema, &Manager<'_>) -> T,
) -> T {
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
        reset: strategy_of(&call.resource).reset_fields(call),
        versions: &others,
    };
    act(&schema(call), &manager)
}

/// Makes the manager of the request the owner of the fields that the write changed.
pub(super) fn track(call: &ResourceRequest, live: Option<&Value>, new: Value, now: &str) -> Value {
    as_manager(call, now, |schema, manager| {
        apply::update(schema, live, new, manager)
    })
}

/// Sets the owner of the replicas, which are the only field of a Scale.
pub(super) fn track_scale(
    call: &ResourceRequest,
    live: Option<&Value>,
    new: Value,
    now: &str,
) -> Value {
    let path = replicas_path(call);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    as_manager(call, now, |_, manager| {
        apply::scale::update(live.unwrap_or(&Value::Null), new, manager, &path)
    })
}

/// Applies the replicas of `new` to the live object.
pub(super) fn applied_scale(
    call: &ResourceRequest,
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

/// Returns the path of the field that contains the wanted replicas.
fn replicas_path(call: &ResourceRequest) -> Vec<String> {
    let custom = custom(call).and_then(|custom| custom.version.scale());
    let path = custom.map_or(".spec.replicas", |scale| &scale.spec);
    let keys = path.split('.').filter(|key| !key.is_empty());
    keys.map(str::to_owned).collect()
}

/// Applies a configuration to the live object, or to nothing if there is none.
pub(super) fn applied(
    call: &ResourceRequest,
    live: Option<&Value>,
    configuration: &Value,
    now: &str,
) -> Result<Value, ApiError> {
    as_manager(call, now, |schema, manager| {
        apply::apply(schema, live, configuration, manager, call.options.force)
    })
}

/// Restores the times of managers whose entries did not change otherwise.
pub(super) fn settle_times(live: &Value, object: &mut Value) {
    apply::ignore_times(live, object);
    // An object without managers has no `managedFields`.
    if object["metadata"]["managedFields"].is_null() {
        metadata::of_mut(object).remove("managedFields");
    }
}
