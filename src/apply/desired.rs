//! The object that a role wants, and the form in which it is sent.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use twox_hash::XxHash3_128;

use super::target::{ApplyTarget, Ownership};
use super::{Error, Owner};
use crate::model::annotations::{OWNER_LABEL, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE};
use crate::model::{Gvk, Object, json};

/// Metadata that only a server sets. An object that was read and is applied again contains it.
const SET_BY_SERVER: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object that a role wants to exist.
#[derive(Clone, Debug)]
pub struct DesiredObject {
    /// The kind of the object.
    pub gvk: Gvk,
    /// The namespace, if the role set one.
    pub namespace: Option<Arc<str>>,
    /// The name; empty if the server generates it.
    pub name: Arc<str>,
    /// The object as JSON text with sorted keys.
    pub json: Vec<u8>,
}

impl DesiredObject {
    /// Creates a desired object from a tree.
    pub fn from_value(object: &Value) -> Result<Self, Error> {
        let text = |value: &Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let absent = |field: &str| Error::InvalidObject(format!("the object has no {field}"));
        let api_version = text(&object["apiVersion"]).ok_or_else(|| absent("apiVersion"))?;
        let kind = text(&object["kind"]).ok_or_else(|| absent("kind"))?;
        let name = text(&object["metadata"]["name"]).ok_or_else(|| absent("metadata.name"))?;
        Ok(Self {
            gvk: Gvk::from_api_version(&api_version, &kind),
            namespace: text(&object["metadata"]["namespace"]).map(Into::into),
            name: name.into(),
            json: object.to_string().into_bytes(),
        })
    }

    /// Returns a hash of the object, its owner and its ownership.
    pub(super) fn digest(&self, owner: &Owner, ownership: Ownership) -> u128 {
        let mut hasher = XxHash3_128::new();
        for part in [&*owner.manager, &*owner.uid, owner.cr.namespace_or_empty()] {
            hasher.write(part.as_bytes());
            hasher.write(&[0]);
        }
        hasher.write(&[ownership as u8]);
        hasher.write(&self.json);
        hasher.finish_128()
    }

    /// Returns the object to send: without the metadata that only a server sets, and with its
    /// owner.
    pub(super) fn body(
        &self,
        target: &ApplyTarget,
        owner: &Owner,
        ownership: Ownership,
    ) -> Result<Value, Error> {
        let wrong = |what: &str| Error::InvalidObject(format!("{}: {what}", target.object));
        let Ok(Value::Object(mut top)) = json::parse_slice(&self.json) else {
            return Err(wrong("expected a map"));
        };
        drop_nulls(&mut top);
        // The server silently ignores the status of a kind with the status subresource.
        if target.kind.has_status {
            top.remove("status");
        }
        if target.object.gvk.same_kind(&Gvk::new("", "v1", "Secret")) {
            encode_string_data(&mut top);
        }
        let metadata = top.entry("metadata").or_insert_with(|| json!({}));
        let Value::Object(metadata) = metadata else {
            return Err(wrong("metadata is not a map"));
        };
        for field in SET_BY_SERVER {
            metadata.remove(field);
        }
        match &target.object.namespace {
            Some(namespace) => metadata.insert("namespace".to_owned(), json!(namespace)),
            None => metadata.remove("namespace"),
        };
        add_owner(metadata, owner, ownership)
            .map_err(|field| wrong(&format!("{field} has a wrong type")))?;
        Ok(Value::Object(top))
    }
}

/// Adds the owner to the metadata. On failure returns the field that has a wrong type.
fn add_owner(
    metadata: &mut Map<String, Value>,
    owner: &Owner,
    ownership: Ownership,
) -> Result<(), &'static str> {
    if ownership == Ownership::None {
        return Ok(());
    }
    if ownership.is_owned() {
        insert_into(metadata, "labels", OWNER_LABEL, json!(owner.uid)).ok_or("metadata.labels")?;
    }
    if matches!(ownership, Ownership::Annotations | Ownership::Informational) {
        let kind = json!(owner.cr.gvk.kind_group());
        let name = json!(owner.namespaced_name());
        return insert_into(metadata, "annotations", PRIMARY_RESOURCE, name)
            .and_then(|()| insert_into(metadata, "annotations", PRIMARY_RESOURCE_TYPE, kind))
            .ok_or("metadata.annotations");
    }
    let references = metadata
        .entry("ownerReferences")
        .or_insert_with(|| json!([]));
    let references = references
        .as_array_mut()
        .ok_or("metadata.ownerReferences")?;
    references.retain(|reference| reference["uid"] != *owner.uid);
    references.push(json!(owner.reference()));
    Ok(())
}

/// Sets an entry of a map in the metadata. Returns `None` if the field is not a map.
fn insert_into(
    metadata: &mut Map<String, Value>,
    field: &str,
    key: &str,
    value: Value,
) -> Option<()> {
    let map = metadata.entry(field).or_insert_with(|| json!({}));
    map.as_object_mut()?.insert(key.to_owned(), value);
    Some(())
}

/// Removes fields without a value. `()` in a script and an empty key in a template mean absence.
fn drop_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    fields.values_mut().for_each(drop_nulls_below);
}

fn drop_nulls_below(value: &mut Value) {
    match value {
        Value::Object(fields) => drop_nulls(fields),
        Value::Array(items) => items.iter_mut().for_each(drop_nulls_below),
        _ => {}
    }
}

/// Moves `stringData` to `data`. The server stores only `data`, and would keep keys that a later apply
/// no longer contains.
fn encode_string_data(secret: &mut Map<String, Value>) {
    let Some(Value::Object(strings)) = secret.remove("stringData") else {
        return;
    };
    let data = secret.entry("data").or_insert_with(|| json!({}));
    if let Value::Object(data) = data {
        for (key, value) in strings {
            // The server refuses values that are not strings.
            let encoded = value.as_str().map(|text| json!(STANDARD.encode(text)));
            data.insert(key, encoded.unwrap_or(value));
        }
    }
}

/// Removes new finalizers from the body, because an object that is being deleted accepts none.
pub(super) fn keep_finalizers_of(body: &mut Value, live: &Object) {
    let present = live.details().finalizers;
    let wanted = body.pointer_mut("/metadata/finalizers");
    if let Some(wanted) = wanted.and_then(Value::as_array_mut) {
        wanted.retain(|wanted| present.iter().any(|finalizer| wanted == finalizer.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ApiKind;
    use crate::testing;

    fn owner(namespace: Option<&str>) -> Owner {
        Owner::new(&testing::owner(namespace))
    }

    fn kind(gvk: &Gvk, namespaced: bool) -> Arc<ApiKind> {
        Arc::new(ApiKind {
            gvk: gvk.clone(),
            plural: "things".into(),
            namespaced,
            verbs: Box::default(),
            has_status: true,
            has_scale: false,
        })
    }

    fn body(desired: &Value, namespaced: bool, ownership: Ownership) -> Value {
        let desired = DesiredObject::from_value(desired).unwrap();
        let owner = owner(Some("n"));
        let target = desired.target_of_kind(kind(&desired.gvk, namespaced), &owner);
        desired.body(&target.unwrap(), &owner, ownership).unwrap()
    }

    #[test]
    fn the_owner_is_put_in_beside_what_the_role_wrote() {
        let desired = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "labels": {"a": "b"}},
        });
        assert_eq!(
            body(&desired, true, Ownership::Reference)["metadata"],
            json!({
                "name": "c", "namespace": "n", "labels": {"a": "b", OWNER_LABEL: "u1"},
                "ownerReferences": [{
                    "apiVersion": "example.com/v1", "kind": "Web", "name": "w", "uid": "u1",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            })
        );
        assert_eq!(
            body(&desired, false, Ownership::Annotations)["metadata"],
            json!({
                "name": "c", "labels": {"a": "b", OWNER_LABEL: "u1"},
                "annotations": {
                    PRIMARY_RESOURCE: "n/w", PRIMARY_RESOURCE_TYPE: "Web.example.com",
                },
            })
        );
    }

    #[test]
    fn fields_that_the_server_sets_are_not_sent() {
        let desired = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1},
            "metadata": {
                "name": "d", "namespace": "other", "uid": "u", "resourceVersion": "7",
                "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"replicas": null, "list": [{"a": null}], "x": 1},
        });
        assert_eq!(
            body(&desired, true, Ownership::None),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "d", "namespace": "other"},
                "spec": {"list": [{}], "x": 1},
            })
        );
    }

    #[test]
    fn string_data_becomes_data() {
        let desired = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "eA=="}, "stringData": {"b": "y"},
        });
        let body = body(&desired, true, Ownership::None);
        assert_eq!(body["data"], json!({"a": "eA==", "b": "eQ=="}));
        assert!(body.get("stringData").is_none());
    }

    #[test]
    fn a_namespaced_object_of_a_cluster_scoped_owner_needs_a_namespace() {
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let desired = DesiredObject::from_value(&desired).unwrap();
        let error = desired.target_of_kind(kind(&desired.gvk, true), &owner(None));
        assert_eq!(
            error.unwrap_err().to_string(),
            "ConfigMap c: expected metadata.namespace, because Web.example.com w has no namespace"
        );
    }

    #[test]
    fn another_owner_or_another_way_is_another_digest() {
        let desired = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let desired = DesiredObject::from_value(&desired).unwrap();
        let one = desired.digest(&owner(Some("n")), Ownership::Reference);
        assert_ne!(one, desired.digest(&owner(Some("n")), Ownership::None));
        assert_ne!(one, desired.digest(&owner(Some("m")), Ownership::Reference));
        assert_eq!(one, desired.digest(&owner(Some("n")), Ownership::Reference));
    }

    #[test]
    fn values_that_are_not_objects_are_refused() {
        for object in [
            json!(7),
            json!({"kind": "K", "metadata": {"name": "n"}}),
            json!({"apiVersion": "v1", "metadata": {"name": "n"}}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": ""}}),
        ] {
            assert!(DesiredObject::from_value(&object).is_err(), "{object}");
        }
    }
}
