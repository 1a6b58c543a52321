//! The fields that a field manager owns, from `metadata.managedFields[].fieldsV1`, as a tree.
//!
//! Answers two questions without a schema, because the set itself contains which lists are maps or sets,
//! and which values are atomic:
//!
//! - [`FieldSet::matches`]: would an apply of this object change anything? Used when the process has no
//!   record of the last apply. `true` is always right. `false` can be wrong where the server normalizes a
//!   value (`1000m` to `1`); this costs one apply that changes nothing.
//! - [`FieldSet::digest`]: did the owned values change since the last check?

use std::hash::Hasher;

use serde_json::{Map, Value};
use twox_hash::XxHash3_64;

use super::json;

/// The reason that a text is not a field set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MalformedFieldSet {
    /// It is not JSON.
    #[error("not JSON")]
    Json(#[from] json::ParseError),
    /// A path element has an unknown form.
    #[error("unknown path element {0:?}")]
    Element(String),
}

/// The owned paths below one position of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet {
    children: Vec<(Element, Self)>,
}

/// The fields that a manager may own in addition to the desired ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdditionalFields {
    /// No other fields and no other items.
    Exact,
    /// Other fields, but no other list items.
    AtLeast,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    /// `f:`: a field of a map.
    Field(Box<str>),
    /// `k:`: the item of a list that has these values in its key fields.
    Key(Map<String, Value>),
    /// `v:`: the item of a set that has this value.
    Item(Value),
    /// `i:`: the item at this index.
    Index(usize),
}

impl Element {
    fn parse(text: &str) -> Result<Self, MalformedFieldSet> {
        let unknown = || MalformedFieldSet::Element(text.to_owned());
        let (form, rest) = text.split_once(':').ok_or_else(unknown)?;
        match form {
            "f" => Ok(Self::Field(rest.into())),
            "k" => Ok(Self::Key(
                serde_json::from_str(rest).map_err(json::ParseError::from)?,
            )),
            "v" => Ok(Self::Item(json::parse(rest)?)),
            "i" => rest.parse().map(Self::Index).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }

    /// Returns the value that this step selects.
    fn find_in<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Field(name) => value.get(&**name),
            Self::Index(index) => value.get(index),
            Self::Item(item) => value.as_array()?.iter().find(|v| same(item, v)),
            Self::Key(key) => value.as_array()?.iter().find(|item| {
                key.iter()
                    .all(|(name, wanted)| item.get(name).is_some_and(|v| same(wanted, v)))
            }),
        }
    }

    /// Returns the value in an object without the server's defaults, in which key fields can be absent.
    fn find_in_desired<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        let Self::Key(key) = self else {
            return self.find_in(value).filter(|v| !v.is_null());
        };
        let fits = |item: &&Value| {
            key.iter()
                .all(|(name, wanted)| item.get(name).is_none_or(|v| same(wanted, v)))
        };
        // An item with all key fields takes precedence over one that relies on a default.
        self.find_in(value)
            .or_else(|| value.as_array()?.iter().find(fits))
    }
}

impl FieldSet {
    /// Parses the text of `fieldsV1`.
    pub(crate) fn parse(text: &str) -> Result<Self, MalformedFieldSet> {
        Self::from_value(&json::parse_field_set(text)?)
    }

    fn from_value(value: &Value) -> Result<Self, MalformedFieldSet> {
        let members = value.as_object().into_iter().flatten();
        let children = members
            .filter(|(step, _)| *step != ".")
            .map(|(step, below)| Ok((Element::parse(step)?, Self::from_value(below)?)))
            .collect::<Result<_, MalformedFieldSet>>()?;
        Ok(Self { children })
    }

    /// Returns whether it contains no path.
    pub(crate) fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns whether applying `desired` would change nothing: its paths are exactly the owned ones, and
    /// `live` has its values there.
    ///
    /// Does not compare type, name and namespace, which are never owned. `desired` must not contain fields
    /// that the server ignores in an apply (`status`, if it is a subresource).
    pub(crate) fn matches(&self, desired: &Value, live: &Value) -> bool {
        self.top_matches(desired, live, AdditionalFields::Exact)
    }

    /// Returns whether all fields of `desired` are owned and have the same values in `live`. Further
    /// fields may be owned, such as the server's defaults of a created object.
    pub(crate) fn covers(&self, desired: &Value, live: &Value) -> bool {
        self.top_matches(desired, live, AdditionalFields::AtLeast)
    }

    fn top_matches(&self, desired: &Value, live: &Value, extent: AdditionalFields) -> bool {
        let Value::Object(top) = desired else {
            return false;
        };
        let mut compared = 0;
        for (name, wanted) in top {
            if matches!(name.as_str(), "apiVersion" | "kind") || wanted.is_null() {
                continue;
            }
            let below = self.field(name);
            let present = live.get(name).unwrap_or(&Value::Null);
            let equal = match (name.as_str(), wanted) {
                ("metadata", Value::Object(metadata)) => {
                    let mut rest = metadata.clone();
                    rest.remove("name");
                    rest.remove("namespace");
                    below_matches(below, &Value::Object(rest), present, name, extent)
                }
                _ => below_matches(below, wanted, present, name, extent),
            };
            if !equal {
                return false;
            }
            compared += usize::from(below.is_some());
        }
        extent == AdditionalFields::AtLeast || compared == self.children.len()
    }

    /// Returns the hash of the owned values of `live`.
    ///
    /// `desired` is the applied object. Where it has an empty map or list, the content of the live one
    /// belongs to other managers and is not hashed.
    pub(crate) fn digest(&self, live: &Value, desired: &Value) -> u64 {
        let mut hasher = XxHash3_64::new();
        self.digest_into(&mut hasher, live, Some(desired));
        hasher.finish()
    }

    fn digest_into(&self, hasher: &mut XxHash3_64, live: &Value, desired: Option<&Value>) {
        for (step, below) in &self.children {
            let wanted = desired.and_then(|v| step.find_in_desired(v));
            match step.find_in(live) {
                None => hasher.write_u8(0),
                Some(value) if below.leads_into(value) => {
                    hasher.write_u8(1);
                    below.digest_into(hasher, value, wanted);
                }
                Some(value) if wanted.is_some_and(|v| others_may_fill(v, value)) => {
                    hasher.write_u8(0);
                }
                Some(value) => {
                    hasher.write_u8(2);
                    hash_value(hasher, value);
                }
            }
        }
    }

    /// Returns the hash of the owned paths that `desired` contains, without their values.
    ///
    /// If two objects have the same hash, neither of them omits a path of this set that the other
    /// contains.
    pub(crate) fn shape(&self, desired: &Value) -> u64 {
        let mut hasher = XxHash3_64::new();
        self.shape_into(&mut hasher, desired);
        hasher.finish()
    }

    fn shape_into(&self, hasher: &mut XxHash3_64, desired: &Value) {
        for (index, (step, below)) in self.children.iter().enumerate() {
            if let Some(wanted) = step.find_in_desired(desired) {
                hasher.write_usize(index);
                below.shape_into(hasher, wanted);
                hasher.write_u8(0);
            }
        }
    }

    /// Returns whether the steps below select parts of a value of this type.
    fn leads_into(&self, value: &Value) -> bool {
        match self.children.first() {
            Some((Element::Field(_), _)) => value.is_object(),
            Some(_) => value.is_array(),
            None => false,
        }
    }

    fn field(&self, name: &str) -> Option<&Self> {
        self.children
            .iter()
            .find(|(step, _)| matches!(step, Element::Field(field) if &**field == name))
            .map(|(_, below)| below)
    }

    /// [`FieldSet::matches`] below the top, at the field `name` or an item of it.
    fn node_matches(
        &self,
        desired: &Value,
        live: &Value,
        name: &str,
        extent: AdditionalFields,
    ) -> bool {
        if self.is_empty() {
            return leaf_matches(desired, live, name);
        }
        match desired {
            // The server may have dropped an empty value and its field. A value of another type is a
            // different value.
            Value::Object(fields) if live.is_object() || live.is_null() => {
                let owned = |(name, wanted): (&String, &Value)| {
                    let present = live.get(name).unwrap_or(&Value::Null);
                    below_matches(self.field(name), wanted, present, name, extent)
                };
                let listed = |name: &str| fields.get(name).is_some_and(|wanted| !wanted.is_null());
                fields.iter().filter(|(_, v)| !v.is_null()).all(owned)
                    && (extent == AdditionalFields::AtLeast
                        || self
                            .children
                            .iter()
                            .all(|(step, _)| matches!(step, Element::Field(name) if listed(name))))
            }
            Value::Array(items) => {
                items.len() == self.children.len()
                    && self.children.iter().all(|(step, below)| {
                        match (step.find_in_desired(desired), step.find_in(live)) {
                            (Some(wanted), Some(value)) => {
                                below.node_matches(wanted, value, name, extent)
                            }
                            _ => false,
                        }
                    })
            }
            _ => false,
        }
    }
}

/// Compares a desired value with its owned paths. An empty map or list may be missing from the paths,
/// because a server that knows the type drops it.
fn below_matches(
    below: Option<&FieldSet>,
    desired: &Value,
    live: &Value,
    name: &str,
    extent: AdditionalFields,
) -> bool {
    match below {
        Some(below) => below.node_matches(desired, live, name, extent),
        None => vanishes(desired),
    }
}

/// Returns whether the server drops a desired value completely.
fn vanishes(desired: &Value) -> bool {
    match desired {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(vanishes),
        _ => false,
    }
}

fn leaf_matches(desired: &Value, live: &Value, name: &str) -> bool {
    others_may_fill(desired, live) || same_but_defaults(desired, live, name)
}

/// The defaults that the server adds inside values that are owned as a whole, by the name of the map or the
/// list, and of the field: <https://kubernetes.io/docs/reference/kubernetes-api/>
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("fieldRef", "apiVersion", "v1"),
    ("onPodConditions", "status", "True"),
    ("ports", "protocol", "TCP"),
    ("resourceFieldRef", "divisor", "0"),
    ("roleRef", "apiGroup", "rbac.authorization.k8s.io"),
    // Of a claim in `volumeClaimTemplates`.
    ("spec", "volumeMode", "Filesystem"),
    ("status", "phase", "Pending"),
    ("subjects", "apiGroup", "rbac.authorization.k8s.io"),
    ("volumeClaimTemplates", "apiVersion", "v1"),
    ("volumeClaimTemplates", "kind", "PersistentVolumeClaim"),
];

/// Returns whether two values are equal, except for [`DEFAULTS`] that only the live one has. `name` is the
/// name of the field; items have that of their list.
fn same_but_defaults(desired: &Value, live: &Value, name: &str) -> bool {
    match (desired, live) {
        (Value::Array(wanted), Value::Array(present)) => {
            let mut pairs = wanted.iter().zip(present);
            wanted.len() == present.len()
                && pairs.all(|(wanted, present)| same_but_defaults(wanted, present, name))
        }
        (Value::Object(wanted), Value::Object(present)) => {
            let is_present = |key: &String| present.contains_key(key);
            wanted.keys().all(is_present)
                && present.iter().all(|(key, value)| match wanted.get(key) {
                    Some(wanted) => same_but_defaults(wanted, value, key),
                    None => is_default(name, key, value),
                })
        }
        _ => same(desired, live),
    }
}

/// Returns whether a field that only the live value has is a default, or a map of defaults.
fn is_default(parent: &str, name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => DEFAULTS.contains(&(parent, name, text.as_str())),
        Value::Object(fields) => fields
            .iter()
            .all(|(below, value)| is_default(name, below, value)),
        _ => false,
    }
}

/// Returns whether two values are equal. `2` and `2.0` are the same number, because the server writes the
/// shorter one.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

/// Returns whether an empty map or list was applied. The manager then owns the field but no content: the
/// server can drop it, and other managers can fill it.
fn others_may_fill(desired: &Value, live: &Value) -> bool {
    match desired {
        Value::Array(items) => items.is_empty() && (live.is_array() || live.is_null()),
        Value::Object(fields) => fields.is_empty() && (live.is_object() || live.is_null()),
        _ => false,
    }
}

/// Writes the kind and the size before each value, so that two sequences of values never give the same
/// bytes.
fn hash_value(hasher: &mut XxHash3_64, value: &Value) {
    match value {
        Value::Null => hasher.write_u8(b'n'),
        Value::Bool(yes) => hasher.write(&[b'b', u8::from(*yes)]),
        Value::Number(number) => hash_text(hasher, b'd', &number.to_string()),
        Value::String(text) => hash_text(hasher, b's', text),
        Value::Array(items) => {
            hasher.write_u8(b'a');
            hasher.write_usize(items.len());
            for item in items {
                hash_value(hasher, item);
            }
        }
        Value::Object(fields) => {
            hasher.write_u8(b'o');
            hasher.write_usize(fields.len());
            for (name, field) in fields {
                hash_text(hasher, b'f', name);
                hash_value(hasher, field);
            }
        }
    }
}

fn hash_text(hasher: &mut XxHash3_64, kind: u8, text: &str) {
    hasher.write_u8(kind);
    hasher.write_usize(text.len());
    hasher.write(text.as_bytes());
}

#[cfg(test)]
mod tests;
