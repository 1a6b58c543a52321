//! A Kubernetes object as the caches keep it: compact JSON text and the metadata that is indexed.
//!
//! `managedFields` is cut out of the text; only the entries of our own field managers are kept, each
//! as the text of its field set. Everything else is parsed when it is asked for. A 6 KB Pod takes
//! about 5 KB here and 55 KB as a tree of values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::annotations::OWNER_LABEL;
use super::owner::{FIELD_MANAGER_PREFIX, OwnerReference, is_manager};
use super::{Gvk, ObjectRef};

/// Why bytes are not an object.
#[derive(Debug, thiserror::Error)]
#[error("not a Kubernetes object")]
pub struct Malformed(#[from] serde_json::Error);

/// One object, immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its kind, as the watch or request that brought it named it.
    pub gvk: Gvk,
    /// `metadata.namespace`.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid`, empty for an object that no server has seen.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: Box<str>,
    /// `metadata.generation`, 0 where the kind has none.
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.labels`, in the order of their keys.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// What our own field managers own of it.
    pub managed: Box<[Managed]>,
    json: Box<str>,
}

/// An entry of `metadata.managedFields` by one of our managers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// Its name, `rhai-operator/…`.
    pub manager: Box<str>,
    /// Whether it was an apply; else an update (a create or a patch).
    pub apply: bool,
    /// The subresource that was written, `None` for the object itself.
    pub subresource: Option<Box<str>>,
    /// `fieldsV1` as JSON text.
    pub fields: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(default)]
    generation: i64,
    #[serde(borrow, default)]
    deletion_timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    labels: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(borrow, default)]
    managed_fields: Option<Vec<Entry<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    operation: Cow<'a, str>,
    #[serde(borrow, default)]
    subresource: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    fields_v1: Option<&'a RawValue>,
}

/// A whole object, read in one pass: what is indexed, and the members as they came.
#[derive(Default)]
struct Whole<'a> {
    metadata: WholeMetadata<'a>,
    /// All but the type and the metadata.
    others: Members<'a>,
}

#[derive(Default)]
struct WholeMetadata<'a> {
    indexed: Metadata<'a>,
    /// All but `managedFields`.
    members: Members<'a>,
}

type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// A string that borrows where nothing in it is escaped: serde lets only fields do so.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Whole<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for WholeMetadata<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Reader(PhantomData))
    }
}

/// Reads a JSON object member by member.
struct Reader<T>(PhantomData<T>);

/// What a [`Reader`] fills.
trait ReadMembers<'de>: Default {
    fn read<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error>;
}

impl<'de, T: ReadMembers<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut read = T::default();
        while let Some(Text(key)) = map.next_key()? {
            read.read(key, &mut map)?;
        }
        Ok(read)
    }
}

impl<'de> ReadMembers<'de> for Whole<'de> {
    fn read<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        match &*key {
            "metadata" => self.metadata = map.next_value()?,
            "apiVersion" | "kind" => drop(map.next_value::<IgnoredAny>()?),
            _ => self.others.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> ReadMembers<'de> for WholeMetadata<'de> {
    fn read<A: MapAccess<'de>>(&mut self, key: Cow<'de, str>, map: &mut A) -> Result<(), A::Error> {
        if key == "managedFields" {
            self.indexed.managed_fields = map.next_value()?;
            return Ok(());
        }
        let raw: &'de RawValue = map.next_value()?;
        let indexed = &mut self.indexed;
        let read = match &*key {
            "name" => text(raw).map(|text| indexed.name = text),
            "namespace" => optional(raw).map(|text| indexed.namespace = text),
            "uid" => text(raw).map(|text| indexed.uid = text),
            "resourceVersion" => text(raw).map(|text| indexed.resource_version = text),
            "generation" => {
                serde_json::from_str(raw.get()).map(|number| indexed.generation = number)
            }
            "deletionTimestamp" => optional(raw).map(|time| indexed.deletion_timestamp = time),
            "labels" => serde_json::from_str(raw.get()).map(|labels| indexed.labels = labels),
            _ => Ok(()),
        };
        self.members.push((key, raw));
        read.map_err(A::Error::custom)
    }
}

fn optional(raw: &RawValue) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    serde_json::from_str::<Option<Text<'_>>>(raw.get()).map(|text| text.map(|Text(text)| text))
}

fn text(raw: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    serde_json::from_str(raw.get()).map(|Text(text)| text)
}

impl Metadata<'_> {
    fn indexed(self, gvk: &Gvk, managed: Box<[Managed]>, json: Box<str>) -> Object {
        let labels = self.labels.unwrap_or_default();
        Object {
            gvk: gvk.clone(),
            namespace: self.namespace.as_deref().map(Into::into),
            name: (&*self.name).into(),
            uid: (&*self.uid).into(),
            resource_version: (&*self.resource_version).into(),
            generation: self.generation,
            deleting: self.deletion_timestamp.is_some(),
            labels: labels
                .into_iter()
                .map(|(k, v)| ((&*k).into(), (&*v).into()))
                .collect(),
            managed,
            json,
        }
    }
}

impl Object {
    /// From an answer or a watch event; `gvk` is what was asked for (items of a list carry none).
    pub fn from_json(gvk: &Gvk, text: &str) -> Result<Self, Malformed> {
        let Whole { metadata, others } = serde_json::from_str(text)?;
        let json = compact(gvk, &metadata.members, &others)?;
        let metadata = metadata.indexed;
        let managed = metadata.managed_fields.as_deref().unwrap_or_default();
        let managed = managed
            .iter()
            .filter(|entry| entry.manager.starts_with(FIELD_MANAGER_PREFIX))
            .map(|entry| Managed {
                manager: (&*entry.manager).into(),
                apply: entry.operation == "Apply",
                subresource: entry.subresource.as_deref().map(Into::into),
                fields: entry.fields_v1.map_or("{}", RawValue::get).into(),
            })
            .collect();
        Ok(metadata.indexed(gvk, managed, json))
    }

    /// Metadata only: what is indexed, and an empty body. `text` may be a `PartialObjectMetadata`.
    pub fn metadata_from_json(gvk: &Gvk, text: &str) -> Result<Self, Malformed> {
        #[derive(Deserialize)]
        struct Top<'a> {
            #[serde(borrow)]
            metadata: Metadata<'a>,
        }
        let top: Top<'_> = serde_json::from_str(text)?;
        Ok(top.metadata.indexed(gvk, Box::default(), "".into()))
    }

    /// The same without its body and without what our managers own.
    #[must_use]
    pub fn metadata_only(&self) -> Self {
        Self {
            managed: Box::default(),
            json: "".into(),
            ..self.clone()
        }
    }

    /// About what it takes in memory, in bytes.
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

    /// From a tree, e.g. a custom resource out of a file.
    pub fn from_value(gvk: &Gvk, value: &Value) -> Result<Self, Malformed> {
        Self::from_json(gvk, &value.to_string())
    }

    /// Its address.
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef {
            gvk: self.gvk.clone(),
            namespace: self.namespace.clone(),
            name: Arc::clone(&self.name),
        }
    }

    /// The text, with `apiVersion` and `kind` and without `managedFields`.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The tree. Costs a parse.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(k, _)| &**k == key)
            .map(|(_, value)| &**value)
    }

    /// Uid of the custom resource that owns it, by our label.
    pub fn owner_uid(&self) -> Option<&str> {
        self.label(OWNER_LABEL)
    }

    /// What one of our managers owns of the object itself or of a subresource, its creates included.
    pub fn managed_by<'a>(
        &'a self,
        manager: &'a str,
        subresource: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Managed> {
        self.managed.iter().filter(move |entry| {
            is_manager(&entry.manager, manager) && entry.subresource.as_deref() == subresource
        })
    }

    /// The parts of the metadata that are not indexed. Costs a parse of the metadata.
    pub fn details(&self) -> Details {
        #[derive(Deserialize)]
        struct Top {
            #[serde(default)]
            metadata: Details,
        }
        serde_json::from_str::<Top>(&self.json)
            .map(|top| top.metadata)
            .unwrap_or_default()
    }
}

/// Metadata that is parsed on demand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.ownerReferences`.
    pub owner_references: Vec<OwnerReference>,
    /// `metadata.creationTimestamp`, RFC 3339.
    pub creation_timestamp: Option<String>,
    /// `metadata.deletionTimestamp`, RFC 3339.
    pub deletion_timestamp: Option<String>,
}

/// The text anew: type first, then the metadata, everything to the letter.
fn compact(
    gvk: &Gvk,
    metadata: &Members<'_>,
    others: &Members<'_>,
) -> Result<Box<str>, serde_json::Error> {
    let members = metadata.iter().chain(others);
    let length: usize = members
        .map(|(key, raw)| key.len() + raw.get().len() + 4)
        .sum();
    let mut text = String::with_capacity(length + gvk.group.len() + gvk.kind.len() + 64);
    text.push_str("{\"apiVersion\":");
    text.push_str(&serde_json::to_string(&gvk.api_version())?);
    text.push_str(",\"kind\":");
    text.push_str(&serde_json::to_string(&*gvk.kind)?);
    text.push_str(",\"metadata\":{");
    for (index, (key, raw)) in metadata.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_member(&mut text, key, raw)?;
    }
    text.push('}');
    for (key, raw) in others {
        text.push(',');
        push_member(&mut text, key, raw)?;
    }
    text.push('}');
    Ok(text.into_boxed_str())
}

fn push_member(text: &mut String, key: &str, raw: &RawValue) -> Result<(), serde_json::Error> {
    text.push_str(&serde_json::to_string(key)?);
    text.push(':');
    text.push_str(raw.get());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn what_is_no_object_is_refused() {
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
