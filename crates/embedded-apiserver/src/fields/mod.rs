//! The fields of the built-in types of Kubernetes: their names, protobuf numbers, and the conditions under
//! which Go omits them.
//!
//! The data is in `fields.txt`, which `recipe.go` prints from the Go types of a Kubernetes release. This
//! module neither interprets the types nor validates values.

use std::collections::HashMap;
use std::sync::OnceLock;

#[cfg(test)]
mod tests;

/// The output of `recipe.go`.
const TEXT: &str = include_str!("fields.txt");

/// All built-in types.
pub(crate) struct Types {
    kinds: HashMap<(&'static str, &'static str), usize>,
    types: Vec<Type>,
}

/// A Go struct.
pub(crate) struct Type {
    /// The package and the name: `core/v1.Container`.
    pub(crate) name: &'static str,
    /// The fields in the order of the Go struct.
    pub(crate) fields: Vec<Field>,
}

/// A field of a [`Type`].
pub(crate) struct Field {
    /// The field number in the protobuf message, or 0 if it has none.
    pub(crate) number: u64,
    /// The name in JSON. Empty for a struct whose fields are inlined.
    pub(crate) name: &'static str,
    /// The type of the value.
    pub(crate) shape: FieldType,
    /// The condition under which Go omits the field.
    pub(crate) omit: OmitCondition,
}

/// The type of a field's value.
#[derive(Debug, PartialEq)]
pub(crate) enum FieldType {
    /// A string, or a type that is based on string.
    String,
    /// A boolean.
    Bool,
    /// A signed integer.
    Int,
    /// A 64-bit float.
    Float,
    /// Bytes, which are base64 in JSON.
    Bytes,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `metav1.Duration`
    Duration,
    /// Arbitrary JSON: `FieldsV1`, `RawExtension`, and the `JSON` of definitions.
    Raw,
    /// `resource.Quantity`
    Quantity,
    /// `intstr.IntOrString`
    IntOrString,
    /// A list of strings that is a separate message in protobuf (`ExtraValue`).
    Items,
    /// A struct, by its index in the list of types.
    Message(usize),
    /// A struct whose JSON is that of one of its fields (`JSONSchemaPropsOrBool`).
    OneOf(usize),
    /// A pointer: a missing value differs from zero.
    Pointer(Box<Self>),
    /// A list.
    List(Box<Self>),
    /// A map with string keys.
    Map(Box<Self>),
}

/// The condition under which Go's JSON encoder omits a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OmitCondition {
    /// Never.
    Never,
    /// If it is empty (`omitempty`): nil, zero or no items. Go never omits a struct.
    Empty,
    /// If it is zero (`omitzero`). Go also omits zero structs.
    Zero,
}

/// Returns the types, which are parsed once.
pub(crate) fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| Types::read(TEXT))
}

impl Types {
    fn read(text: &'static str) -> Self {
        let heads = text.lines().filter_map(|line| line.strip_prefix("type "));
        let places: HashMap<&str, usize> = heads.zip(0..).collect();
        let mut read = Self {
            kinds: HashMap::new(),
            types: Vec::new(),
        };
        for line in text.lines() {
            let words: Vec<&'static str> = line.split(' ').collect();
            match words.as_slice() {
                ["kind", version, kind, name] => {
                    if let Some(place) = places.get(name) {
                        read.kinds.insert((version, kind), *place);
                    }
                }
                ["type", name] => read.types.push(Type {
                    name,
                    fields: Vec::new(),
                }),
                [number, name, shape, omit] => {
                    if let Some(last) = read.types.last_mut() {
                        last.fields.push(field(number, name, shape, omit, &places));
                    }
                }
                _ => {}
            }
        }
        read
    }

    /// Returns the type of a kind, by its `apiVersion` and kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Type> {
        let place = self.kinds.get(&(api_version, kind))?;
        self.types.get(*place)
    }

    /// Returns the type at the index of a [`FieldType::Message`].
    pub(crate) fn at(&self, place: usize) -> &Type {
        &self.types[place]
    }
}

fn field(
    number: &str,
    name: &'static str,
    shape: &'static str,
    omit: &str,
    places: &HashMap<&str, usize>,
) -> Field {
    Field {
        number: number.parse().unwrap_or_default(),
        name: if name == "-" { "" } else { name },
        shape: shape_of(shape, places),
        omit: match omit {
            "always" => OmitCondition::Never,
            "omitempty" => OmitCondition::Empty,
            _ => OmitCondition::Zero,
        },
    }
}

fn shape_of(text: &str, places: &HashMap<&str, usize>) -> FieldType {
    let inner = |rest: &str| Box::new(shape_of(rest, places));
    if let Some(rest) = text.strip_prefix('*') {
        return FieldType::Pointer(inner(rest));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return FieldType::List(inner(rest));
    }
    if let Some(rest) = text.strip_prefix("{}") {
        return FieldType::Map(inner(rest));
    }
    if let Some(name) = text.strip_prefix("or:") {
        return places
            .get(name)
            .map_or(FieldType::Raw, |place| FieldType::OneOf(*place));
    }
    match text {
        "string" => FieldType::String,
        "bool" => FieldType::Bool,
        "int" => FieldType::Int,
        "float" => FieldType::Float,
        "bytes" => FieldType::Bytes,
        "time" => FieldType::Time,
        "microtime" => FieldType::MicroTime,
        "duration" => FieldType::Duration,
        "quantity" => FieldType::Quantity,
        "intorstring" => FieldType::IntOrString,
        "items" => FieldType::Items,
        name => places
            .get(name)
            .map_or(FieldType::Raw, |at| FieldType::Message(*at)),
    }
}
