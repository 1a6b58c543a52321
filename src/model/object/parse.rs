//! Parses objects in one pass: the indexed metadata, and the texts of the other members.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{MalformedObject, Managed, Object, UnreadableMembers};
use crate::model::owner::{FIELD_MANAGER_PREFIX, OwnerReference};
use crate::model::{Gvk, json};

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

/// A whole object, deserialized in one pass: the indexed metadata, and the texts of the members.
#[derive(Default)]
struct WholeObject<'a> {
    metadata: WholeMetadata<'a>,
    /// All members except the type and the metadata.
    others: Members<'a>,
}

#[derive(Default)]
struct WholeMetadata<'a> {
    indexed: Metadata<'a>,
    /// All metadata except `managedFields`.
    members: Members<'a>,
}

type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// A string that borrows from the text if it contains no escape. Serde supports this only for fields.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for WholeObject<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Reader(PhantomData))
    }
}

impl<'de> Deserialize<'de> for WholeMetadata<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Reader(PhantomData))
    }
}

/// Deserializes a JSON object member by member.
struct Reader<T>(PhantomData<T>);

/// A value that [`Reader`] fills with the members of a JSON object.
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
        while let Some(BorrowedText(key)) = map.next_key()? {
            read.read(key, &mut map)?;
        }
        Ok(read)
    }
}

impl<'de> ReadMembers<'de> for WholeObject<'de> {
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
        if self.members.iter().any(|(known, _)| *known == key) {
            return Err(A::Error::custom("a key occurs twice"));
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
            "creationTimestamp" => optional(raw).map(drop),
            "annotations" => check::<BTreeMap<BorrowedText<'_>, BorrowedText<'_>>>(raw),
            "finalizers" => check::<Vec<BorrowedText<'_>>>(raw),
            "ownerReferences" => check::<Vec<OwnerReference>>(raw),
            _ => Ok(()),
        };
        self.members.push((key, raw));
        read.map_err(A::Error::custom)
    }
}

fn optional(raw: &RawValue) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    serde_json::from_str::<Option<BorrowedText<'_>>>(raw.get())
        .map(|text| text.map(|BorrowedText(text)| text))
}

/// Checks the type of a member that [`Object::details`] parses later.
fn check<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Option<T>>(raw.get()).map(drop)
}

fn text(raw: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    serde_json::from_str(raw.get()).map(|BorrowedText(text)| text)
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
            unreadable: None,
            json,
        }
    }
}

impl Object {
    /// Parses an answer or a watch event. `gvk` is the requested kind: items of a list have none.
    pub fn from_json(gvk: &Gvk, text: &str) -> Result<Self, MalformedObject> {
        let WholeObject {
            mut metadata,
            mut others,
        } = serde_json::from_str(text)?;
        let mut unreadable = None;
        drop_unreadable(&mut metadata.members, "metadata.", 2, &mut unreadable);
        drop_unreadable(&mut others, "", 1, &mut unreadable);
        let json = compact(gvk, &metadata.members, &others)?;
        let metadata = metadata.indexed;
        let entries = metadata.managed_fields.as_deref().unwrap_or_default();
        let mut managed = Vec::new();
        for entry in entries {
            if !entry.manager.starts_with(FIELD_MANAGER_PREFIX) {
                continue;
            }
            match entry.fields_v1.map_or(Ok(()), json::check_field_set) {
                Ok(()) => managed.push(Managed::from_entry(entry)),
                Err(error) => note(&mut unreadable, "metadata.managedFields".to_owned(), &error),
            }
        }
        Ok(Self {
            unreadable,
            ..metadata.indexed(gvk, managed.into(), json)
        })
    }

    /// Parses the indexed metadata only, and leaves the body empty. `text` may be a
    /// `PartialObjectMetadata`.
    pub fn metadata_from_json(gvk: &Gvk, text: &str) -> Result<Self, MalformedObject> {
        #[derive(Deserialize)]
        struct Top<'a> {
            #[serde(borrow)]
            metadata: Metadata<'a>,
        }
        let top: Top<'_> = serde_json::from_str(text)?;
        Ok(top.metadata.indexed(gvk, Box::default(), "".into()))
    }
}

impl Managed {
    fn from_entry(entry: &Entry<'_>) -> Self {
        Self {
            manager: (&*entry.manager).into(),
            apply: entry.operation == "Apply",
            subresource: entry.subresource.as_deref().map(Into::into),
            fields: entry.fields_v1.map_or("{}", RawValue::get).into(),
        }
    }
}

/// Removes and records the members that cannot be read. They are nested in `outer` levels.
fn drop_unreadable(
    members: &mut Members<'_>,
    path: &str,
    outer: usize,
    unreadable: &mut Option<Box<UnreadableMembers>>,
) {
    members.retain(|(key, raw)| match json::check(raw, outer) {
        Ok(()) => true,
        Err(error) => {
            note(unreadable, format!("{path}{key}"), &error);
            false
        }
    });
}

fn note(unreadable: &mut Option<Box<UnreadableMembers>>, member: String, error: &json::ParseError) {
    let noted = unreadable.get_or_insert_with(|| {
        Box::new(UnreadableMembers {
            members: Vec::new(),
            why: error.to_string().into(),
        })
    });
    noted.members.push(member.into());
}

/// Builds the text: the type first, then the metadata, with the exact text of each member.
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
