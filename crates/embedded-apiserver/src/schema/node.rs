//! The nodes of a schema, in the terms of structured-merge-diff.
//!
//! A node may be several things at once (a scalar, a list and a map): the value decides. Nodes live in
//! an arena and name each other by number, because types are recursive.

use serde_json::Value;

/// The number of a node in its arena.
pub(crate) type Id = usize;

/// A type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// The scalar alternative.
    pub scalar: Option<Scalar>,
    /// The list alternative.
    pub list: Option<List>,
    /// The map or struct alternative.
    pub map: Option<Map>,
    /// The Go type of a built-in struct, as Go's errors print it: `v1.PodSpec`.
    pub go: Option<Box<str>>,
}

/// The kinds of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A text.
    String,
    /// `true` or `false`.
    Boolean,
    /// Any of them.
    Untyped,
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// The type of its items.
    pub items: Id,
    /// The relation of the items.
    pub relation: Relation,
}

/// The relation of the items of a list (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The list is one value.
    Atomic,
    /// Each item is its own key.
    Set,
    /// A map with these fields of the items as the key.
    Keys(Vec<Box<str>>),
}

/// A map, a struct or both: named fields, and the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    /// The fields that have names, sorted.
    pub fields: Vec<(Box<str>, Field)>,
    /// The type of all others; none where others are not allowed.
    pub rest: Option<Id>,
    /// True if the map is one value (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// True if unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    pub free: bool,
}

/// A named field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its type.
    pub node: Id,
    /// The default of a key that an item does not contain.
    pub default: Option<Value>,
    /// `x-kubernetes-patch-strategy`, less `retainKeys`, which only makers of patches ask for.
    pub strategy: Strategy,
    /// `x-kubernetes-patch-merge-key`.
    pub merge_key: Option<Box<str>>,
    /// Its Go type, pointers apart; none in custom resources.
    pub go: Option<Box<str>>,
    /// The Go struct that it is embedded with, which Go's errors name too.
    pub embedded: Option<Box<str>>,
    /// The condition under which Go writes the field.
    pub write: Write,
}

/// The strategies of a strategic merge patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// Lists are merged by key or, of primitives, as sets.
    pub merge: bool,
    /// Maps are replaced.
    pub replace: bool,
}

/// The condition under which Go writes a field of a built-in type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Write {
    /// The value is not null. Pointers and fields of custom resources.
    #[default]
    Set,
    /// The value is neither zero nor empty.
    NotEmpty,
    /// The value contains a field that is written.
    NotZero,
    /// Always.
    Always,
    /// Always, as null where it is not set.
    Null,
}

impl Map {
    /// The field of a name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let place = self
            .fields
            .binary_search_by(|(known, _)| (**known).cmp(name));
        place.ok().map(|place| &self.fields[place].1)
    }

    /// The type of what is under a key.
    pub(crate) fn child(&self, key: &str) -> Option<Id> {
        self.field(key).map(|field| field.node).or(self.rest)
    }
}
