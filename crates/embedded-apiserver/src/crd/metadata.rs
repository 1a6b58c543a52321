//! Decodes `ObjectMeta` like Go: removes unknown and empty fields, and refuses values of wrong types.
//!
//! The metadata of a custom resource is not part of its schema. It is decoded like that of a built-in
//! resource.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::go;

/// The type of a field. The texts are the Go types that error messages contain.
enum MetadataType {
    Text(&'static str),
    Whole,
    Flag,
    Time,
    /// Any value. `fieldsV1` is decoded elsewhere.
    Any,
    Texts,
    List(&'static str, &'static Self),
    Struct(&'static Struct),
}

struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, MetadataType)],
    /// The fields that are written even if they are empty.
    always: &'static [&'static str],
}

const STRING: MetadataType = MetadataType::Text("string");

static OBJECT_META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("annotations", MetadataType::Texts),
        ("creationTimestamp", MetadataType::Time),
        ("deletionGracePeriodSeconds", MetadataType::Whole),
        ("deletionTimestamp", MetadataType::Time),
        ("finalizers", MetadataType::List("[]string", &STRING)),
        ("generateName", STRING),
        ("generation", MetadataType::Whole),
        ("labels", MetadataType::Texts),
        (
            "managedFields",
            MetadataType::List(
                "[]v1.ManagedFieldsEntry",
                &MetadataType::Struct(&MANAGED_FIELDS),
            ),
        ),
        ("name", STRING),
        ("namespace", STRING),
        (
            "ownerReferences",
            MetadataType::List(
                "[]v1.OwnerReference",
                &MetadataType::Struct(&OWNER_REFERENCE),
            ),
        ),
        ("resourceVersion", STRING),
        ("selfLink", STRING),
        ("uid", MetadataType::Text("types.UID")),
    ],
    always: &[],
};

static OWNER_REFERENCE: Struct = Struct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", STRING),
        ("blockOwnerDeletion", MetadataType::Flag),
        ("controller", MetadataType::Flag),
        ("kind", STRING),
        ("name", STRING),
        ("uid", MetadataType::Text("types.UID")),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS: Struct = Struct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", STRING),
        ("fieldsType", STRING),
        ("fieldsV1", MetadataType::Any),
        ("manager", STRING),
        (
            "operation",
            MetadataType::Text("v1.ManagedFieldsOperationType"),
        ),
        ("subresource", STRING),
        ("time", MetadataType::Time),
    ],
    always: &[],
};

/// Decodes the metadata of a resource in place. `path` is the path of the metadata: `metadata` at the root.
/// Adds the paths of unknown fields to `unknown`. Errors have the messages of Go.
pub(super) fn decode(
    metadata: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut decoder = Decoder {
        unknown,
        error: None,
        keys: Vec::new(),
    };
    match metadata {
        Value::Object(fields) => decoder.fields(fields, &OBJECT_META, path),
        Value::Null => *metadata = Value::Object(Map::new()),
        other => {
            let actual = go::json_kind(other);
            return Err(format!(
                "json: cannot unmarshal {actual} into Go value of type v1.ObjectMeta"
            ));
        }
    }
    decoder.error.map_or(Ok(()), Err)
}

struct Decoder<'a> {
    unknown: &'a mut Vec<String>,
    /// The first error. Go continues after an error, but only reports the first one.
    error: Option<String>,
    keys: Vec<&'static str>,
}

impl Decoder<'_> {
    fn fields(&mut self, fields: &mut Map<String, Value>, of: &'static Struct, path: &str) {
        fields.retain(|key, value| {
            let Some((key, shape)) = of.fields.iter().find(|(name, _)| name == key) else {
                self.unknown.push(format!("{path}.{key}"));
                return false;
            };
            self.keys.push(key);
            let kept = self.field(value, shape, of, || format!("{path}.{key}"));
            self.keys.pop();
            kept
        });
        for key in of.always {
            fields
                .entry(*key)
                .or_insert_with(|| Value::String(String::new()));
        }
    }

    /// Returns whether to keep the field. Empty fields are removed.
    fn field(
        &mut self,
        value: &mut Value,
        shape: &'static MetadataType,
        of: &'static Struct,
        path: impl Fn() -> String,
    ) -> bool {
        match (shape, &mut *value) {
            (_, Value::Null) => false,
            (MetadataType::Text(_), Value::String(text)) => {
                !text.is_empty() || self.keys.last().is_some_and(|key| of.always.contains(key))
            }
            (MetadataType::Flag, Value::Bool(_)) | (MetadataType::Any, _) => true,
            (MetadataType::Whole, Value::Number(number)) if number.is_i64() => {
                // A grace period is a pointer in Go, so zero is a value.
                number.as_i64() != Some(0) || self.keys.last() != Some(&"generation")
            }
            (MetadataType::Time, Value::String(text)) => self.time(text),
            (MetadataType::Time, other) => {
                let actual = go::json_kind(other);
                let why = format!("json: cannot unmarshal {actual} into Go value of type string");
                self.refuse(why);
                true
            }
            (MetadataType::Texts, Value::Object(texts)) => {
                for text in texts.values_mut() {
                    match text {
                        Value::String(_) => {}
                        Value::Null => *text = Value::String(String::new()),
                        other => self.wrong(other, of, "string"),
                    }
                }
                !texts.is_empty()
            }
            (MetadataType::List(_, of_items), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.item(item, of_items, of, || format!("{}[{index}]", path()));
                }
                !items.is_empty()
            }
            (shape, other) => {
                self.wrong(other, of, shape.go_type());
                true
            }
        }
    }

    fn item(
        &mut self,
        item: &mut Value,
        shape: &'static MetadataType,
        of: &'static Struct,
        path: impl Fn() -> String,
    ) {
        match (shape, &mut *item) {
            (MetadataType::Struct(inner), Value::Object(fields)) => {
                self.fields(fields, inner, &path());
            }
            (MetadataType::Struct(inner), Value::Null) => {
                let mut fields = Map::new();
                self.fields(&mut fields, inner, &path());
                *item = Value::Object(fields);
            }
            (MetadataType::Text(_), Value::Null) => *item = Value::String(String::new()),
            (MetadataType::Text(_), Value::String(_)) => {}
            (shape, other) => self.wrong(other, of, shape.go_type()),
        }
    }

    fn time(&mut self, text: &mut String) -> bool {
        // Go writes times in UTC with whole seconds.
        if let Ok(time) = text.parse::<Timestamp>() {
            *text = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            return true;
        }
        let quoted = go::quote(text);
        self.refuse(format!(
            "parsing time {quoted} as \"2006-01-02T15:04:05Z07:00\": \
             cannot parse {quoted} as \"2006\""
        ));
        true
    }

    fn wrong(&mut self, value: &Value, of: &Struct, wanted: &str) {
        let mut actual = go::json_kind(value).to_owned();
        if wanted == "int64" && value.is_number() {
            actual = format!("number {value}");
        }
        let keys = self.keys.join(".");
        let name = of.name;
        self.refuse(format!(
            "json: cannot unmarshal {actual} into Go struct field {name}.{keys} of type {wanted}"
        ));
    }

    fn refuse(&mut self, why: String) {
        self.error.get_or_insert(why);
    }
}

impl MetadataType {
    fn go_type(&self) -> &'static str {
        match self {
            Self::Text(name) | Self::List(name, _) => name,
            Self::Whole => "int64",
            Self::Flag => "bool",
            Self::Time => "v1.Time",
            Self::Any => "v1.FieldsV1",
            Self::Texts => "map[string]string",
            Self::Struct(inner) => match inner.name {
                "OwnerReference" => "v1.OwnerReference",
                _ => "v1.ManagedFieldsEntry",
            },
        }
    }
}
