//! Stored objects as a version shows them, and back.
//!
//! Most kinds have one version. Custom kinds with several relabel their objects (conversion `None`);
//! Events are one kind in two groups.

use std::sync::Arc;

use serde_json::Value;

use super::rules;
use crate::apiserver::resource::Resource;

/// A stored object in a version of a resource.
pub fn presented(resource: &Resource, version: &str, stored: &Arc<Value>) -> Arc<Value> {
    let api_version = resource.api_version(version);
    if stored["apiVersion"] == api_version.as_str() {
        return Arc::clone(stored);
    }
    let mut object = (**stored).clone();
    convert(resource, version, &mut object);
    Arc::new(object)
}

/// An object of a request as it is stored.
pub(super) fn to_storage(resource: &Resource, mut object: Value) -> Value {
    let version = &resource.storage_version().name;
    if &**resource.id() == "events.events.k8s.io" {
        rules::convert(resource, "v1", "", &mut object);
        object["apiVersion"] = "v1".into();
        return object;
    }
    if object["apiVersion"] != resource.api_version(version).as_str() {
        convert(resource, version, &mut object);
    }
    object
}

fn convert(resource: &Resource, version: &str, object: &mut Value) {
    rules::convert(resource, version, &resource.group, object);
    object["apiVersion"] = resource.api_version(version).into();
}
