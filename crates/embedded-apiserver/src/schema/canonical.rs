//! Converts an object to the form that the Go types of the real server give it.
//!
//! Removes unknown fields, nulls and empty optional fields. Sets missing required fields to the zero value of
//! their type. Keeps the text of quantities and times.

use serde_json::{Map as Object, Value, json};

use super::{
    Schema, Type,
    node::{Field, Map, Write},
};

/// Converts an object to the form in which the real server writes it. Does not change custom resources.
pub(crate) fn canonical(schema: &Schema, object: &mut Value) {
    if let Some(map) = go_struct(schema.root()) {
        of_struct(schema.root(), map, object);
    }
}

/// Returns the empty object of a kind.
pub(crate) fn empty(schema: &Schema, api_version: &str, kind: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind});
    canonical(schema, &mut object);
    object
}

/// Returns the fields of a type that is a struct in Go.
fn go_struct(place: Type<'_>) -> Option<&Map> {
    let node = place.node();
    node.go.as_ref()?;
    node.map.as_ref().filter(|map| !map.fields.is_empty())
}

fn of_struct(place: Type<'_>, map: &Map, value: &mut Value) {
    if value.is_null() {
        *value = json!({});
    }
    let Some(object) = value.as_object_mut() else {
        return;
    };
    object.retain(|name, _| map.field(name).is_some());
    for (name, field) in &map.fields {
        of_field(place.at(field.node), name, field, object);
    }
}

fn of_field(place: Type<'_>, name: &str, field: &Field, object: &mut Object<String, Value>) {
    let go = field.go.as_deref().unwrap_or_default();
    let given = object.get_mut(name).filter(|value| !value.is_null());
    let Some(value) = given else {
        match field.write {
            Write::Always => object.insert(name.to_owned(), zero(place, go)),
            Write::Null => object.insert(name.to_owned(), Value::Null),
            _ => object.remove(name),
        };
        return;
    };
    of_value(place, go, value);
    let is_unwritten = match field.write {
        Write::NotEmpty => is_empty(value),
        Write::NotZero => *value == zero(place, go),
        Write::Set | Write::Always | Write::Null => false,
    };
    if is_unwritten {
        object.remove(name);
    }
}

/// Converts a value. `go` is its Go type, which determines the zero values of list items and map values.
fn of_value(place: Type<'_>, go: &str, value: &mut Value) {
    if let Some(map) = go_struct(place) {
        return of_struct(place, map, value);
    }
    let node = place.node();
    match value {
        Value::Array(items) => {
            let (Some(list), Some(go)) = (&node.list, go.strip_prefix("[]")) else {
                return;
            };
            for item in items {
                of_item(place.at(list.items), go, item);
            }
        }
        Value::Object(fields) => {
            let rest = node.map.as_ref().and_then(|map| map.rest);
            let (Some(rest), Some((_, go))) = (rest, go.split_once(']')) else {
                return;
            };
            if !go.is_empty() {
                fields
                    .values_mut()
                    .for_each(|field| of_item(place.at(rest), go, field));
            }
        }
        _ => {}
    }
}

fn of_item(place: Type<'_>, go: &str, item: &mut Value) {
    if !item.is_null() {
        of_value(place, go, item);
    } else if !go.starts_with('*') {
        *item = zero(place, go);
    }
}

/// Returns the zero value of a Go type as JSON.
fn zero(place: Type<'_>, go: &str) -> Value {
    if let Some(map) = go_struct(place) {
        let mut value = json!({});
        of_struct(place, map, &mut value);
        return value;
    }
    match go {
        "string" => "".into(),
        "bool" => false.into(),
        "int" | "int32" | "int64" | "float64" => 0.into(),
        "resource.Quantity" | "intstr.IntOrString" => match go {
            "resource.Quantity" => "0".into(),
            _ => 0.into(),
        },
        _ if go.starts_with("[]") || go.starts_with("map[") => Value::Null,
        _ => match place.node().scalar {
            Some(super::node::Scalar::String) => "".into(),
            Some(super::node::Scalar::Numeric) => 0.into(),
            Some(super::node::Scalar::Boolean) => false.into(),
            _ => Value::Null,
        },
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
