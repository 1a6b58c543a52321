//! Stored objects as a version shows them, and back.
//!
//! Most kinds have one version. Custom kinds with several relabel their objects (conversion `None`).

use std::sync::Arc;

use serde_json::Value;

use super::strategy::strategy_of;
use super::{conversion, metadata};
use crate::resource::Resource;

/// A stored object in a version of a resource.
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

/// An object of a request as it is stored.
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

/// Gives an object its version, and the form that it has there.
fn relabel(resource: &Resource, version: &str, api_version: &str, object: &mut Value) {
    object["apiVersion"] = api_version.into();
    strategy_of(resource).convert(resource, version, object);
}
