//! Estimates the maximum size of the values of a schema in a request. The costs of rules follow from it.
//!
//! Follows `SchemaDeclType` of the real server. The sizes are those of the JSON in a request of the maximum
//! length, in bytes or items.

use std::collections::BTreeMap;

use super::names::escape;
use crate::crd::structural::{Additional, Structural};

/// The maximum size of a request, in bytes.
const REQUEST: u64 = 3 << 20;
/// The length of the shortest JSON string, in bytes.
const STRING: u64 = 2;
const DURATION: u64 = 3;
const DATE: u64 = 12;
const TIME: u64 = 21;
/// The length of the longest duration, in bytes.
const MAX_DURATION_LENGTH: u64 = 32;
const MAX_TIME_LENGTH: u64 = 32;

/// The types that the estimate distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// Numbers.
    Number,
    String,
    Bytes,
    /// Durations and times.
    Time,
    List,
    Map,
    Object,
    Optional,
    /// Quantities, addresses and versions, which are compared in constant time.
    Opaque,
    /// A value of unknown type.
    Dyn,
}

/// The bounds of the values at a node.
#[derive(Debug)]
pub(in crate::crd) struct Bounds {
    pub(super) kind: Kind,
    /// The maximum number of characters, items or entries. 0 for types without a size.
    pub(super) most: u64,
    /// The length of the shortest JSON, in bytes.
    least: u64,
    pub(super) element: Option<Box<Self>>,
    pub(super) fields: BTreeMap<String, Self>,
}

impl Bounds {
    /// Returns the bounds of a schema. Absent if rules do not see its values.
    pub(in crate::crd) fn estimate(schema: &Structural, is_resource: bool) -> Option<Self> {
        if schema.int_or_string {
            let most = match schema.checks.max_length {
                Some(length) => natural(length).saturating_mul(4),
                None => REQUEST - STRING,
            };
            return Some(Self::simple(Kind::Dyn, most, 1));
        }
        if is_resource {
            return Some(Self::object(schema, true));
        }
        match schema.kind.as_deref()? {
            "array" => {
                let items = schema.items.as_deref()?;
                let items = Self::estimate(items, items.embedded)?;
                let most = match schema.checks.max_items {
                    Some(most) => natural(most),
                    None => (REQUEST - 2) / (items.least + 1),
                };
                Some(Self::collection(Kind::List, items, most))
            }
            "object" => match &schema.additional {
                Additional::Schema(values) => {
                    let values = Self::estimate(values, values.embedded)?;
                    let most = match schema.checks.max_properties {
                        Some(most) => natural(most),
                        // An entry needs at least the shortest key with its quotes, a colon and a comma.
                        None => (REQUEST - 2) / (values.least + 6),
                    };
                    Some(Self::collection(Kind::Map, values, most))
                }
                _ => Some(Self::object(schema, false)),
            },
            "string" => Some(Self::string(schema)),
            "boolean" => Some(Self::simple(Kind::Bool, 0, 4)),
            "number" | "integer" => Some(Self::simple(Kind::Number, 0, 1)),
            _ => None,
        }
    }

    /// Returns the maximum number of such values in a request.
    pub(in crate::crd) fn repeated(&self) -> u64 {
        REQUEST / (self.least + 1)
    }

    fn simple(kind: Kind, most: u64, least: u64) -> Self {
        Self {
            kind,
            most,
            least,
            element: None,
            fields: BTreeMap::new(),
        }
    }

    fn collection(kind: Kind, element: Self, most: u64) -> Self {
        Self {
            element: Some(Box::new(element)),
            ..Self::simple(kind, most, 2)
        }
    }

    /// Returns the bounds of a key of a map.
    pub(super) fn key() -> Self {
        Self::simple(Kind::String, 0, STRING)
    }

    fn free_text() -> Self {
        Self::simple(Kind::String, REQUEST - STRING, STRING)
    }

    fn object(schema: &Structural, is_resource: bool) -> Self {
        let mut object = Self::simple(Kind::Object, 0, 2);
        for (name, property) in &schema.properties {
            let Some(bounds) = Self::estimate(property, property.embedded) else {
                continue;
            };
            if schema.checks.required.contains(name) && property.default.is_none() {
                object.least += length(name) + bounds.least + 4;
            }
            object.fields.insert(escape(name), bounds);
        }
        if is_resource && !schema.describes_resource() {
            let mut metadata = Self::simple(Kind::Object, 0, 2);
            for name in ["name", "generateName"] {
                metadata.fields.insert(name.to_owned(), Self::free_text());
            }
            object.fields.insert("metadata".to_owned(), metadata);
            for name in ["apiVersion", "kind"] {
                object.fields.insert(name.to_owned(), Self::free_text());
            }
        }
        object
    }

    fn string(schema: &Structural) -> Self {
        let format = schema.checks.format.as_ref().map(|(name, _)| name.as_str());
        let max_length = schema.checks.max_length.map(natural);
        let free = REQUEST - STRING;
        match format {
            Some("byte") => Self::simple(Kind::Bytes, max_length.unwrap_or(free), STRING),
            Some("duration") => Self::simple(Kind::Time, MAX_DURATION_LENGTH, DURATION),
            Some("date") => Self::simple(Kind::Time, DATE, DATE),
            Some("date-time") => Self::simple(Kind::Time, MAX_TIME_LENGTH, TIME),
            _ => {
                let texts = schema
                    .checks
                    .values
                    .iter()
                    .filter_map(|value| value.as_str());
                let longest = texts.map(length).max();
                let most = match max_length {
                    // A character can take four bytes.
                    Some(most) => most.saturating_mul(4),
                    None if schema.checks.values.is_empty() => free,
                    None => longest.unwrap_or(0),
                };
                Self::simple(Kind::String, most, STRING)
            }
        }
    }
}

/// Converts a limit. A negative limit becomes 0.
fn natural(limit: i64) -> u64 {
    u64::try_from(limit).unwrap_or(0)
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
