//! The inputs of a role, which describe the spec of its custom resource.

use std::collections::BTreeMap;

use serde_json::Value;

/// A field of the spec, as OpenAPI describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The type of its values.
    pub kind: Kind,
    /// The description for users.
    pub description: String,
    /// True if a custom resource must contain it.
    pub required: bool,
    /// The value of a missing field.
    pub default: Option<Value>,
    /// The allowed values; empty allows all.
    pub choices: Vec<Value>,
    /// The minimum of a number.
    pub minimum: Option<f64>,
    /// The maximum of a number.
    pub maximum: Option<f64>,
    /// The regular expression that a string must match.
    pub pattern: Option<Pattern>,
    /// The format of a string, one of [`FORMATS`].
    pub format: Option<&'static str>,
    /// The number of characters of a string, or of items of an array.
    pub size: Size,
    /// True if the value of a custom resource must not change. Only the CRD can check it: a run does not know
    /// the previous value.
    pub immutable: bool,
    /// The fields of an object.
    pub properties: BTreeMap<String, Self>,
    /// The type of the items of an array.
    pub items: Option<Box<Self>>,
}

/// The formats of strings that inputs can name. The API server checks them, and so does a run.
pub const FORMATS: [&str; 13] = [
    "byte",
    "cidr",
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "mac",
    "password",
    "uri",
    "uuid",
];

/// Bounds of a number of characters or items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The minimum.
    pub least: Option<u64>,
    /// The maximum.
    pub most: Option<u64>,
}

impl Size {
    pub(super) fn contains(self, size: usize) -> bool {
        let size = size as u64;
        self.least.is_none_or(|least| size >= least) && self.most.is_none_or(|most| size <= most)
    }
}

/// A regular expression in Go's dialect, which is that of a CRD.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The expression as written in the file.
    pub source: String,
    pub(super) regex: embedded_apiserver::string_checks::Pattern,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// The type of an [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A map.
    Object,
    /// A list.
    Array,
}

pub(super) const KINDS: [(&str, Kind); 6] = [
    ("string", Kind::String),
    ("integer", Kind::Integer),
    ("number", Kind::Number),
    ("boolean", Kind::Boolean),
    ("object", Kind::Object),
    ("array", Kind::Array),
];

impl Kind {
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    /// Returns the name in `type`.
    pub fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }
}
