//! A structural schema: the parsed OpenAPI v3 schema of a CRD version.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
//! Schemas below `allOf`, `anyOf`, `oneOf` and `not` use the same type, but only for validation.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::format::Format;
use super::pattern;

/// A node of a structural schema.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent switches of the schema"
)]
pub(super) struct Structural {
    /// `type`. Absent for int-or-string and for preserved unknown values.
    pub(super) kind: Option<String>,
    pub(super) int_or_string: bool,
    pub(super) nullable: bool,
    pub(super) preserve_unknown: bool,
    pub(super) embedded: bool,
    pub(super) default: Option<Value>,
    pub(super) items: Option<Box<Self>>,
    pub(super) properties: BTreeMap<String, Self>,
    pub(super) additional: Additional,
    pub(super) list_type: ListType,
    pub(super) list_map_keys: Vec<String>,
    pub(super) rules: Vec<Value>,
    pub(super) checks: Checks,
}

/// `additionalProperties`
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Unset,
    /// A boolean.
    Allowed(bool),
    /// A schema for all other keys.
    Schema(Box<Structural>),
}

/// `x-kubernetes-list-type`
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListType {
    /// A write replaces the list as a whole. This is the default.
    #[default]
    Atomic,
    /// The items are unique.
    Set,
    /// The items are objects that are identified by keys.
    Map,
}

/// The checks of a value other than its type.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// The format with its original name. Absent if the server does not know it for the type.
    pub(super) format: Option<(String, Format)>,
    pub(super) maximum: Option<NumberBound>,
    pub(super) minimum: Option<NumberBound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) required: Vec<String>,
    pub(super) values: Vec<Value>,
    pub(super) all_of: Vec<Structural>,
    pub(super) any_of: Vec<Structural>,
    pub(super) one_of: Vec<Structural>,
    pub(super) not: Option<Box<Structural>>,
}

/// `maximum` or `minimum`
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberBound {
    pub(super) value: f64,
    pub(super) exclusive: bool,
}

/// `pattern`
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// Absent for an invalid expression. Then no value matches.
    pub(super) parsed: Option<pattern::Pattern>,
}

impl Structural {
    /// Returns whether the schema declares all fields that rules see of every resource: apiVersion, kind and
    /// names.
    pub(super) fn describes_resource(&self) -> bool {
        let is = |schema: &Self, name: &str, kind: &str| {
            let property = schema.properties.get(name);
            property.is_some_and(|property| property.kind.as_deref() == Some(kind))
        };
        is(self, "apiVersion", "string")
            && is(self, "kind", "string")
            && is(self, "metadata", "object")
            && self.properties.get("metadata").is_some_and(|metadata| {
                is(metadata, "name", "string") && is(metadata, "generateName", "string")
            })
    }

    /// Parses a schema. Ignores invalid parts, which `check` has already refused.
    pub(super) fn read(schema: &Value) -> Self {
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");
        Self {
            kind: text(schema, "type"),
            int_or_string,
            nullable: flag(schema, "nullable"),
            preserve_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(schema, "x-kubernetes-embedded-resource"),
            default: schema.get("default").filter(|it| !it.is_null()).cloned(),
            items: child(schema, "items"),
            properties: object(schema, "properties")
                .map(|(name, property)| (name.clone(), Self::read(property)))
                .collect(),
            additional: Additional::read(schema),
            list_type: ListType::read(schema),
            list_map_keys: texts(schema, "x-kubernetes-list-map-keys"),
            rules: list(schema, "x-kubernetes-validations").cloned().collect(),
            checks: Checks::read(schema, int_or_string),
        }
    }

    /// Returns the allowed types: two for int-or-string, none if any type is allowed.
    pub(super) fn types(&self) -> &[&str] {
        if self.int_or_string {
            return &["integer", "string"];
        }
        match self.kind.as_deref() {
            Some("object") => &["object"],
            Some("array") => &["array"],
            Some("string") => &["string"],
            Some("integer") => &["integer"],
            Some("number") => &["number"],
            Some("boolean") => &["boolean"],
            _ => &[],
        }
    }

    /// Returns the schema of a key: that of the property, or else that of additional properties.
    pub(super) fn of_key(&self, key: &str) -> Option<&Self> {
        self.properties.get(key).or(match &self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// Returns whether the schema contains a rule of the Common Expression Language.
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.items.as_ref().is_some_and(|items| items.has_rules())
            || matches!(&self.additional, Additional::Schema(schema) if schema.has_rules())
            || self.properties.values().any(Self::has_rules)
            || self.checks.all_of.iter().any(Self::has_rules)
    }
}

impl Additional {
    fn read(schema: &Value) -> Self {
        match schema.get("additionalProperties") {
            Some(Value::Bool(allowed)) => Self::Allowed(*allowed),
            Some(inner @ Value::Object(_)) => Self::Schema(Box::new(Structural::read(inner))),
            _ => Self::Unset,
        }
    }
}

impl ListType {
    fn read(schema: &Value) -> Self {
        match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => Self::Set,
            Some("map") => Self::Map,
            _ => Self::Atomic,
        }
    }
}

impl Checks {
    fn read(schema: &Value, int_or_string: bool) -> Self {
        Self {
            format: format(schema, int_or_string),
            maximum: bound(schema, "maximum", "exclusiveMaximum"),
            minimum: bound(schema, "minimum", "exclusiveMinimum"),
            multiple_of: schema.get("multipleOf").and_then(Value::as_f64),
            max_length: whole(schema, "maxLength"),
            min_length: whole(schema, "minLength"),
            pattern: text(schema, "pattern").map(|text| Pattern {
                parsed: pattern::Pattern::parse(&text).ok(),
                text,
            }),
            max_items: whole(schema, "maxItems"),
            min_items: whole(schema, "minItems"),
            max_properties: whole(schema, "maxProperties"),
            min_properties: whole(schema, "minProperties"),
            unique_items: flag(schema, "uniqueItems"),
            required: texts(schema, "required"),
            values: list(schema, "enum").cloned().collect(),
            all_of: list(schema, "allOf").map(Structural::read).collect(),
            any_of: list(schema, "anyOf").map(Structural::read).collect(),
            one_of: list(schema, "oneOf").map(Structural::read).collect(),
            not: child(schema, "not"),
        }
    }
}

fn child(schema: &Value, key: &str) -> Option<Box<Structural>> {
    let inner = schema.get(key).filter(|it| it.is_object())?;
    Some(Box::new(Structural::read(inner)))
}

fn bound(schema: &Value, key: &str, exclusive: &str) -> Option<NumberBound> {
    Some(NumberBound {
        value: schema.get(key)?.as_f64()?,
        exclusive: flag(schema, exclusive),
    })
}

/// Returns the format, unless the server does not know it for the type. Unknown formats are not checked.
fn format(schema: &Value, int_or_string: bool) -> Option<(String, Format)> {
    let name = text(schema, "format")?;
    let kind = if int_or_string {
        ""
    } else {
        schema.get("type").and_then(Value::as_str).unwrap_or("")
    };
    let format = Format::named(kind, &name)?;
    Some((name, format))
}

/// Returns a non-empty string.
pub(super) fn text(schema: &Value, key: &str) -> Option<String> {
    let text = schema.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a boolean, or false if it is missing.
pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the items of a list, or none if it is missing.
pub(super) fn list<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns the fields of an object, or none if it is missing.
pub(super) fn object<'a>(
    schema: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

fn texts(schema: &Value, key: &str) -> Vec<String> {
    list(schema, key)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a length written as 3.0 is 3, as in Go"
)]
fn whole(schema: &Value, key: &str) -> Option<i64> {
    let number = schema.get(key)?;
    number
        .as_i64()
        .or_else(|| number.as_f64().map(|it| it as i64))
}
