//! Server-side apply, and the field managers of all other writes.
//!
//! Follows structured-merge-diff and the package `managedfields` of apimachinery, with the same field sets
//! and messages. <https://kubernetes.io/docs/reference/using-api/server-side-apply/>, KEP-555.
//!
//! [`apply`] and [`update`] take objects with the stored `metadata.managedFields`, and return the object with
//! the new ones. The caller sets defaults, prunes and validates.

mod atomic;
mod cap;
mod compare;
mod conflict;
mod element;
mod engine;
mod fields;
mod last_applied;
mod managers;
mod merge;
mod reconcile;
mod remove;
pub(crate) mod reset;
pub(crate) mod scale;
mod set;
mod shape;
mod validate;

use serde_json::Value;

use self::{
    engine::Engine,
    managers::{Entry, Identity, Managers, asks_for_reset},
    set::PathSet,
};
use super::{
    error::ApiError,
    schema::{Schema, canonical},
};

/// The manager of a write, and the path of the write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager<'a> {
    /// The field manager. An empty name becomes `unknown`.
    pub name: &'a str,
    /// The `apiVersion` of the request: `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the request.
    pub kind: &'a str,
    /// The subresource. Empty for the object itself.
    pub subresource: &'a str,
    /// The time as RFC 3339.
    pub now: &'a str,
    /// The fields that this write cannot change: `[["status"]]` for an object with that subresource.
    pub reset: &'a [&'a [&'a str]],
    /// The schemas of the kind's other served versions, by `apiVersion`.
    pub versions: &'a [(&'a str, Schema)],
}

/// Paths that no manager owns.
const UNOWNED: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The manager of the fields that an object had before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to the live object, or creates the object.
///
/// Returns the live object if only owners changed. Returns a 409 for conflicts unless `force` is set, and a
/// 500 for a configuration that does not match the schema, like the real server.
pub(crate) fn apply(
    schema: &Schema,
    live: Option<&Value>,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
) -> Result<Value, ApiError> {
    check(schema, applied, manager)?;
    let empty = || canonical::empty(schema, manager.api_version, manager.kind);
    let mut object = live.cloned().unwrap_or_else(empty);
    let mut managers = Managers::from_object(&object)
        .map_err(|why| failure(format!("failed to decode managed fields: {why}")))?;
    strip(&mut object);
    let ignored = PathSet::of_fields(manager.reset);
    let engine = manager.engine(schema, &ignored);
    if managers.0.is_empty() {
        let before = Manager {
            name: BEFORE_FIRST_APPLY,
            ..*manager
        };
        managers = before.update(&engine, &empty(), &object, managers);
    }
    let me = manager.identity(true);
    // Only kubectl gets a second attempt, with the fields of the last client-side apply.
    let again = (manager.name == last_applied::MANAGER).then(|| managers.clone());
    let (new, mut managers) = match (engine.apply(&object, applied, managers, &me, force), again) {
        (Ok(done), _) => done,
        (Err(conflicts), None) => return Err(conflicts.refusal()),
        (Err(conflicts), Some(managers)) => {
            let conflicts = match last_applied::taken_over(schema, &object, manager.api_version) {
                Some(allowed) => conflicts.without(&allowed),
                None => conflicts,
            };
            if !conflicts.is_empty() {
                return Err(conflicts.refusal());
            }
            engine
                .apply(&object, applied, managers, &me, true)
                .map_err(|conflicts| conflicts.refusal())?
        }
    };
    strip_unowned(&mut managers, &me);
    if let Some(new) = new {
        if let Some(entry) = managers.get_mut(&me) {
            entry.time = manager.now.parse().ok();
        }
        object = new;
    }
    managers.write(&mut object);
    if manager.name == last_applied::MANAGER {
        last_applied::renew(&mut object, applied);
    }
    Ok(object)
}

/// Merges a configuration of an admission policy into an object, without owners of fields. The configuration
/// must match the schema, and must not set atomic lists and maps.
pub(crate) fn merge_into(
    schema: &Schema,
    object: &Value,
    configuration: &Value,
) -> Result<Value, String> {
    let place = schema.root();
    validate::validate(place, configuration, false)
        .map_err(|error| format!("failed to convert patch object to typed object: {error}"))?;
    if let Some(path) = atomic::find(place, configuration) {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}"
        ));
    }
    let merged = merge::merge(Some(place), Some(object), Some(configuration));
    Ok(merged.unwrap_or_else(|| object.clone()))
}

/// Updates field ownership for all writes but applies. `new` replaces `live`.
pub(crate) fn update(
    schema: &Schema,
    live: Option<&Value>,
    mut new: Value,
    manager: &Manager<'_>,
) -> Value {
    let mut managers = given(live, &new, manager);
    let is_create = live.is_none();
    let empty = || canonical::empty(schema, manager.api_version, manager.kind);
    let mut live = live.cloned().unwrap_or_else(empty);
    strip(&mut live);
    strip(&mut new);
    // If managers are not tracked since the creation, tracking starts with the first apply.
    if !managers.0.is_empty() || is_create {
        let ignored = PathSet::of_fields(manager.reset);
        let engine = manager.engine(schema, &ignored);
        managers = manager.update(&engine, &live, &new, managers);
        cap::cap(&mut managers);
    }
    managers.write(&mut new);
    new
}

/// Restores the times of the managed fields if the write changed nothing else, so that it becomes a no-op.
pub(crate) fn ignore_times(live: &Value, new: &mut Value) {
    let entries = |object: &Value| Managers::from_object(object).unwrap_or_default();
    let (old, now) = (entries(live), entries(new));
    let same_but_time = |(old, new): (&Entry, &Entry)| {
        old.id == new.id && old.api_version == new.api_version && old.set == new.set
    };
    if old.0.len() != now.0.len() || !old.0.iter().zip(&now.0).all(same_but_time) {
        return;
    }
    let fields = live["metadata"]["managedFields"].clone();
    let Some(place) = new.pointer_mut("/metadata/managedFields") else {
        return;
    };
    let changed = std::mem::replace(place, fields);
    if new != live {
        new["metadata"]["managedFields"] = changed;
    }
}

/// Returns the managers before the write: those of the new object, or else those of the live object.
fn given(live: Option<&Value>, new: &Value, manager: &Manager<'_>) -> Managers {
    let stored = || {
        live.and_then(|live| Managers::from_object(live).ok())
            .unwrap_or_default()
    };
    if !manager.subresource.is_empty() {
        return stored();
    }
    if asks_for_reset(new) {
        return Managers::default();
    }
    match Managers::from_object(new) {
        Ok(brought) if !brought.0.is_empty() => brought,
        _ => stored(),
    }
}

impl Manager<'_> {
    fn engine<'b>(&'b self, schema: &'b Schema, ignored: &'b PathSet) -> Engine<'b> {
        Engine {
            api_version: self.api_version,
            schema,
            versions: self.versions,
            ignored,
        }
    }

    fn identity(&self, applies: bool) -> Identity {
        Identity::new(self.name, applies, self.api_version, self.subresource)
    }

    /// Adds the fields that `live -> new` changed to this manager.
    fn update(
        &self,
        engine: &Engine<'_>,
        live: &Value,
        new: &Value,
        managers: Managers,
    ) -> Managers {
        // First, all managers including this one lose the changed fields. Then this manager gets them with a
        // new time.
        let nobody = Identity::new("current-operation", false, "", "");
        let (mut managers, took) = engine.update(live, new, managers, &nobody);
        let took = took.difference(&PathSet::of_fields(&UNOWNED));
        if took.is_empty() {
            return managers;
        }
        let id = self.identity(false);
        let time = self.now.parse().ok();
        let api_version = self.api_version.to_owned();
        match managers.get_mut(&id) {
            Some(entry) => {
                entry.set = took.union(&entry.set);
                entry.time = time;
            }
            None => managers.0.push(Entry {
                id,
                api_version,
                time,
                set: took,
            }),
        }
        managers
    }
}

fn strip_unowned(managers: &mut Managers, me: &Identity) {
    if let Some(entry) = managers.get_mut(me) {
        entry.set = std::mem::take(&mut entry.set).difference(&PathSet::of_fields(&UNOWNED));
    }
    managers.drop_empty();
}

fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Returns the error of the real server for unexpected failures: a 500 without a reason.
fn failure(message: String) -> ApiError {
    ApiError::unclassified(message)
}

/// Checks an applied configuration before the merge.
fn check(schema: &Schema, applied: &Value, manager: &Manager<'_>) -> Result<(), ApiError> {
    let text = |name: &str| applied[name].as_str().unwrap_or_default();
    let kind = title(text("apiVersion"), text("kind"));
    if kind != title(manager.api_version, manager.kind) {
        return Err(ApiError::bad_request(format!(
            "invalid object type: {kind}"
        )));
    }
    let metadata = &applied["metadata"];
    if metadata["managedFields"].is_array() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    validate::validate(schema.root(), applied, false).map_err(|why| {
        let name = metadata["name"].as_str().unwrap_or_default();
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        failure(format!(
            "failed to create typed patch object ({namespace}/{name}; {kind}): {why}"
        ))
    })
}

/// Formats a kind like Go: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`.
fn title(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

#[cfg(test)]
mod tests;
