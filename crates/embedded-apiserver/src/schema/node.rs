//! The nodes of a schema, like the types of structured-merge-diff.
//!
//! A node can have several alternatives (a scalar, a list and a map), and the value selects one. Types are
//! recursive, so the nodes are stored in an arena and refer to each other by number.

use serde_json::Value;

/// The number of a node in its arena.
pub(crate) type Id = usize;

/// A type with up to three alternatives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// The scalar alternative.
    pub scalar: Option<Scalar>,
    /// The list alternative.
    pub list: Option<List>,
    /// The map or struct alternative.
    pub map: Option<Map>,
    /// The Go type of a built-in struct, as error messages of Go print it: `v1.PodSpec`.
    pub go: Option<Box<str>>,
}

/// The kinds of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// `true` or `false`.
    Boolean,
    /// Any scalar.
    Untyped,
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// The type of the items.
    pub items: Id,
    /// The relation of the items.
    pub relation: Relation,
}

/// The relation of the items of a list (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The list is one atomic value.
    Atomic,
    /// Each item is its own key.
    Set,
    /// A map with these fields of the items as the key.
    Keys(Vec<Box<str>>),
}

/// A map, a struct or both: named fields, and other keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    /// The named fields, sorted by name.
    pub fields: Vec<(Box<str>, Field)>,
    /// The type of all other values. Absent if other keys are not allowed.
    pub rest: Option<Id>,
    /// True if the map is one atomic value (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// True if unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    pub free: bool,
}

/// A named field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The type of the field.
    pub node: Id,
    /// The default of a key that an item does not contain.
    pub default: Option<Value>,
    /// `x-kubernetes-patch-strategy`, without `retainKeys`, which only clients that create patches need.
    pub strategy: Strategy,
    /// `x-kubernetes-patch-merge-key`.
    pub merge_key: Option<Box<str>>,
    /// The Go type of the field without pointers. Absent in custom resources.
    pub go: Option<Box<str>>,
    /// The embedded Go struct that declares the field. Error messages of Go contain it.
    pub embedded: Option<Box<str>>,
    /// The condition under which Go writes the field.
    pub write: Write,
}

/// The strategies of a strategic merge patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// True if lists are merged by key, or as sets if their items are primitive.
    pub merge: bool,
    /// True if maps are replaced.
    pub replace: bool,
}

/// The condition under which Go writes a field of a built-in type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Write {
    /// If the value is not null: pointers, and fields of custom resources.
    #[default]
    Set,
    /// If the value is neither zero nor empty.
    NotEmpty,
    /// If the value contains a field that is written.
    NotZero,
    /// Always.
    Always,
    /// Always, with null if it is not set.
    Null,
}

impl Map {
    /// Returns a field by its name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let place = self
            .fields
            .binary_search_by(|(known, _)| (**known).cmp(name));
        place.ok().map(|place| &self.fields[place].1)
    }

    /// Returns the type of the value of a key.
    pub(crate) fn child(&self, key: &str) -> Option<Id> {
        self.field(key).map(|field| field.node).or(self.rest)
    }
}
