//! Converts stored objects to the version of a request, and back.
//!
//! Most kinds have one version. For custom kinds with several versions, only the `apiVersion` changes
//! (conversion strategy `None`).

use std::sync::Arc;

use serde_json::Value;

use super::strategy::strategy_of;
use super::{conversion, metadata};
use crate::resource::Resource;

/// Returns a stored object in a version of a resource.
pub(crate) fn presented(resource: &Resource, version: &str, stored: &Arc<Value>) -> Arc<Value> {
    let api_version = resource.api_version(version);
    let revision = metadata::text(stored, "resourceVersion");
    let is_same = stored["apiVersion"] == api_version.as_str();
    if is_same && !resource.may_outdate(revision) {
        return Arc::clone(stored);
    }
    let mut object = (**stored).clone();
    conversion::from_storage(resource, version, &mut object);
    relabel(resource, version, &api_version, &mut object);
    Arc::new(object)
}

/// Returns an object of a request in the stored form.
pub(super) fn to_storage(resource: &Resource, mut object: Value) -> Value {
    let version = &resource.storage_version().name;
    let events = &**resource.id() == "events.events.k8s.io";
    let api_version = if events {
        "v1".to_owned()
    } else {
        resource.api_version(version)
    };
    if object["apiVersion"] != api_version.as_str() {
        conversion::to_storage(resource, &mut object);
        relabel(resource, version, &api_version, &mut object);
    }
    object
}

/// Sets the version of an object, and converts the object to the form of this version.
fn relabel(resource: &Resource, version: &str, api_version: &str, object: &mut Value) {
    object["apiVersion"] = api_version.into();
    strategy_of(resource).convert(resource, version, object);
}
