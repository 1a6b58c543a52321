//! A Kubernetes object as the caches store it: compact JSON text, and the metadata that is indexed.
//!
//! The text has no `managedFields`. Of these, an object keeps only the entries of the runtime's own field
//! managers, each as the text of its field set. Other members are parsed on demand. A 6 KB Pod takes about
//! 5 KB here, and 55 KB as a tree of values.
//!
//! # Guarantees
//! The constructor checks each member, so each stored member parses. It omits a member that cannot be read
//! ([`super::json`]), and [`Object::unreadable`] returns its path and the reason. So an object with
//! readable metadata always has an address, and a caller can distinguish an unreadable member from an
//! empty one.

mod parse;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::annotations::OWNER_LABEL;
use super::owner::{OwnerReference, is_manager};
use super::{Gvk, ObjectRef, json};

/// The reason that bytes are not an object.
#[derive(Debug, thiserror::Error)]
#[error("not a Kubernetes object")]
pub struct MalformedObject(#[from] serde_json::Error);

/// One object, immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The kind that the watch or request asked for.
    pub gvk: Gvk,
    /// `metadata.namespace`.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid`; empty if the object does not come from a server.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// `metadata.generation`; 0 if the kind has none.
    pub generation: i64,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.labels`, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The fields that field managers of the runtime own.
    pub managed: Box<[Managed]>,
    /// The members that are missing because they cannot be read.
    pub unreadable: Option<Box<UnreadableMembers>>,
    json: Box<str>,
}

/// The members of an object that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnreadableMembers {
    /// The paths, such as `spec`; at least one.
    members: Vec<Box<str>>,
    /// The error of the first one.
    why: Box<str>,
}

impl fmt::Display for UnreadableMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.members.join(", "), self.why)
    }
}

/// An entry of `metadata.managedFields` of one of the runtime's field managers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// The name of the manager, `rhai-operator/…`.
    pub manager: Box<str>,
    /// True for an apply, false for an update (a create or a patch).
    pub apply: bool,
    /// The subresource that was written; `None` for the object itself.
    pub subresource: Option<Box<str>>,
    /// `fieldsV1` as JSON text.
    pub fields: Box<str>,
}

impl Managed {
    /// Parses its field set.
    pub fn value(&self) -> Value {
        json::parse_field_set(&self.fields).expect("it was checked when the object was made")
    }
}

impl Object {
    /// Returns a copy without the body and without managed fields.
    #[must_use]
    pub fn metadata_only(&self) -> Self {
        Self {
            managed: Box::default(),
            json: "".into(),
            ..self.clone()
        }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        let labels = self
            .labels
            .iter()
            .map(|(key, value)| key.len() + value.len() + 32);
        let managed = self
            .managed
            .iter()
            .map(|entry| entry.manager.len() + entry.fields.len() + 64);
        let strings = self.json.len() + self.name.len() + self.uid.len();
        size_of::<Self>() + strings + labels.sum::<usize>() + managed.sum::<usize>()
    }

    /// Converts a tree, such as a custom resource from a file.
    pub fn from_value(gvk: &Gvk, value: &Value) -> Result<Self, MalformedObject> {
        Self::from_json(gvk, &value.to_string())
    }

    /// Returns whether a top-level member exists and cannot be read.
    pub fn is_unreadable(&self, member: &str) -> bool {
        let unreadable = self.unreadable.as_ref();
        unreadable.is_some_and(|unreadable| unreadable.members.iter().any(|m| **m == *member))
    }

    /// Returns its address.
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef {
            gvk: self.gvk.clone(),
            namespace: self.namespace.clone(),
            name: Arc::clone(&self.name),
        }
    }

    /// Returns the text, with `apiVersion` and `kind`, without `managedFields`.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Parses the text to a tree, without [unreadable](Self::unreadable) members. Returns null if only
    /// metadata was read.
    #[expect(
        clippy::missing_panics_doc,
        reason = "an object is made of what was read"
    )]
    pub fn value(&self) -> Value {
        if self.json.is_empty() {
            return Value::Null;
        }
        json::parse(&self.json).expect("each member was checked when the object was made")
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(k, _)| &**k == key)
            .map(|(_, value)| &**value)
    }

    /// Returns the uid of the custom resource that owns it, from the owner label of the runtime.
    pub fn owner_uid(&self) -> Option<&str> {
        self.label(OWNER_LABEL)
    }

    /// Returns the fields that a manager of the runtime owns of the object or of a subresource, including
    /// those of its creates.
    pub fn managed_by<'a>(
        &'a self,
        manager: &'a str,
        subresource: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Managed> {
        self.managed.iter().filter(move |entry| {
            is_manager(&entry.manager, manager) && entry.subresource.as_deref() == subresource
        })
    }

    /// Parses the parts of the metadata that are not indexed.
    #[expect(
        clippy::missing_panics_doc,
        reason = "an object is made of what was read"
    )]
    pub fn details(&self) -> Details {
        #[derive(Deserialize)]
        struct DetailsOnly {
            metadata: Details,
        }
        if self.json.is_empty() {
            return Details::default();
        }
        let top: DetailsOnly = serde_json::from_str(&self.json)
            .expect("the metadata was checked when the object was made");
        top.metadata
    }
}

/// The metadata that is parsed on demand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// `metadata.annotations`.
    #[serde(deserialize_with = "null_is_none")]
    pub annotations: BTreeMap<String, String>,
    /// `metadata.finalizers`.
    #[serde(deserialize_with = "null_is_none")]
    pub finalizers: Vec<String>,
    /// `metadata.ownerReferences`.
    #[serde(deserialize_with = "null_is_none")]
    pub owner_references: Vec<OwnerReference>,
    /// `metadata.creationTimestamp`, RFC 3339.
    pub creation_timestamp: Option<String>,
    /// `metadata.deletionTimestamp`, RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// Deserializes a collection. Null, which Go writes for an empty collection, is an empty one.
fn null_is_none<'de, D, T>(reader: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(reader).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::owner::FIELD_MANAGER_PREFIX;
    use serde_json::json;

    fn gvk() -> Gvk {
        Gvk::new("apps", "v1", "Deployment")
    }

    #[test]
    fn managed_fields_are_cut_and_ours_are_kept() {
        let object = Object::from_value(&gvk(), &json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2,
                "labels": {OWNER_LABEL: "cr-uid"},
                "managedFields": [
                    {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}},
                    {"manager": "rhai-operator/0123", "operation": "Apply",
                     "fieldsV1": {"f:data": {"f:x": {}}}},
                ],
            },
            "spec": {"replicas": 1},
        }))
        .unwrap();
        assert_eq!(object.owner_uid(), Some("cr-uid"));
        assert_eq!(object.generation, 2);
        assert_eq!(object.managed.len(), 1);
        assert_eq!(&*object.managed[0].fields, r#"{"f:data":{"f:x":{}}}"#);
        assert!(object.managed[0].apply);
        assert!(!object.json().contains("managedFields"));
        assert_eq!(object.value()["apiVersion"], "apps/v1");
        assert_eq!(object.value()["spec"]["replicas"], 1);
    }

    fn nested(levels: usize) -> String {
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        format!(
            r#"{{"metadata":{{"name":"a","finalizers":["f"]}},"spec":{open}1{close},"status":{{"x":1}}}}"#
        )
    }

    #[test]
    fn values_deeper_than_the_limit_of_serde_json_are_not_null() {
        for levels in [126, 127, 128, 399] {
            let object = Object::from_json(&gvk(), &nested(levels)).unwrap();
            assert_eq!(object.unreadable, None);
            let mut value = &object.value()["spec"];
            for _ in 0..levels {
                value = &value["a"];
            }
            assert_eq!(*value, 1, "{levels}");
        }
    }

    /// The leaves of a field set are empty maps: it has one level more than its object.
    #[test]
    fn the_field_set_of_an_object_with_the_maximum_nesting_is_read() {
        for (levels, is_readable) in [(400, true), (401, false)] {
            let fields = r#"{"f:a":"#.repeat(levels) + "{}" + &"}".repeat(levels);
            let entry = format!(
                r#"{{"manager":"{FIELD_MANAGER_PREFIX}x","operation":"Apply","fieldsV1":{fields}}}"#
            );
            let text = format!(r#"{{"metadata":{{"name":"a","managedFields":[{entry}]}}}}"#);
            let object = Object::from_json(&gvk(), &text).unwrap();
            assert_eq!(object.unreadable.is_none(), is_readable, "{levels}");
            if is_readable {
                assert_eq!(object.managed[0].value().to_string(), fields);
                assert!(
                    crate::model::field_set::FieldSet::parse(&object.managed[0].fields).is_ok()
                );
            }
        }
    }

    #[test]
    fn unreadable_fields_are_named_and_the_others_are_read() {
        let object = Object::from_json(&gvk(), &nested(400)).unwrap();
        let why = "spec: nested more than 400 levels deep";
        assert_eq!(object.unreadable.as_ref().unwrap().to_string(), why);
        assert!(object.is_unreadable("spec") && !object.is_unreadable("status"));
        assert_eq!(object.value()["status"]["x"], 1);
        assert!(object.value()["spec"].is_null());
        assert_eq!(object.details().finalizers, ["f"]);
        for bad in [r#""\ud800""#, "1e999", &"9".repeat(400)] {
            let text = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"k":{bad}}}}}"#);
            let object = Object::from_json(&gvk(), &text).unwrap();
            assert!(object.unreadable.is_some(), "{bad}");
            assert!(object.value()["data"].is_null());
        }
    }

    #[test]
    fn metadata_of_a_wrong_type_is_refused_and_null_is_empty() {
        for field in [
            r#""annotations":{"a":1}"#,
            r#""finalizers":[1]"#,
            r#""ownerReferences":[{}]"#,
            r#""creationTimestamp":7"#,
            r#""annotations":{},"annotations":{}"#,
        ] {
            let text = format!(r#"{{"metadata":{{"name":"a",{field}}}}}"#);
            assert!(Object::from_json(&gvk(), &text).is_err(), "{field}");
        }
        let text = r#"{"metadata":{"name":"a","finalizers":["f"],"annotations":null}}"#;
        let object = Object::from_json(&gvk(), text).unwrap();
        assert_eq!(object.details().finalizers, ["f"]);
    }

    #[test]
    fn escapes_in_keys_and_values_survive() {
        let object = Object::from_json(
            &gvk(),
            r#"{"metadata":{"name":"a","annotations":{"k\"é":"v\n\\"}},"we\u0069rd":[1]}"#,
        )
        .unwrap();
        assert_eq!(object.details().annotations["k\"é"], "v\n\\");
        assert_eq!(object.value()["weird"], json!([1]));
    }

    #[test]
    fn values_that_are_not_objects_are_refused() {
        for text in [
            "",
            "[]",
            "7",
            r#"{"metadata":[]}"#,
            r#"{"metadata":{"name":7}}"#,
        ] {
            assert!(Object::from_json(&gvk(), text).is_err(), "{text}");
        }
    }
}
