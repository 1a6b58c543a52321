//! Finds wrong values in the result of a strategic merge patch. The messages are those of apimachinery's
//! converter from maps to Go types, which differ from those of its JSON decoder.

use serde_json::Value;

use super::{
    Schema, Type, mismatch,
    node::{Map, Scalar},
};

/// Returns the message for the first wrong value.
pub(crate) fn error(schema: &Schema, object: &Value) -> Option<String> {
    of_value(schema.root(), "", object).or_else(|| mismatch::error(schema, object))
}

fn of_value(place: Type<'_>, go: &str, value: &Value) -> Option<String> {
    let node = place.node();
    let name = node.go.as_deref();
    match (&node.map, &node.list) {
        _ if value.is_null() => None,
        (Some(map), _) if name.is_some() && !map.fields.is_empty() => of_struct(place, map, value),
        (Some(map), None) if node.scalar.is_none() => of_map(place, map, go, value),
        (None, Some(list)) => match value {
            Value::Array(items) => {
                let go = go.strip_prefix("[]").unwrap_or_default();
                let mut items = items.iter();
                items.find_map(|item| of_value(place.at(list.items), go, item))
            }
            other => Some(format!("cannot restore slice from {}", kind(other))),
        },
        (None, None) => node.scalar.and_then(|scalar| of_scalar(scalar, go, value)),
        _ => None,
    }
}

fn of_struct(place: Type<'_>, map: &Map, value: &Value) -> Option<String> {
    let Value::Object(fields) = value else {
        return Some(format!("cannot restore struct from: {}", kind(value)));
    };
    fields.iter().find_map(|(name, value)| {
        let field = map.field(name)?;
        let go = field.go.as_deref().unwrap_or_default();
        of_value(place.at(field.node), go, value)
    })
}

fn of_map(place: Type<'_>, map: &Map, go: &str, value: &Value) -> Option<String> {
    let Value::Object(fields) = value else {
        return Some(format!("cannot restore map from {}", kind(value)));
    };
    let go = go.split_once(']').map_or("", |(_, values)| values);
    let rest = place.at(map.rest?);
    fields.values().find_map(|value| of_value(rest, go, value))
}

/// Returns the message for a scalar of a wrong type. It depends on whether Go could convert the value.
fn of_scalar(scalar: Scalar, go: &str, value: &Value) -> Option<String> {
    let found = kind(value);
    let fits = match scalar {
        Scalar::String => found == "string",
        Scalar::Boolean => found == "bool",
        Scalar::Numeric => value.is_number() && (go == "float64" || !value.is_f64()),
        Scalar::Untyped => true,
    };
    let convertible = match scalar {
        Scalar::String => found == "int64",
        Scalar::Numeric => found == "float64",
        Scalar::Boolean | Scalar::Untyped => false,
    };
    let wanted = match scalar {
        Scalar::String => "string",
        Scalar::Boolean => "bool",
        _ => go,
    };
    match (fits, convertible) {
        (true, _) => None,
        (false, true) => Some(format!("cannot convert {found} to {go}")),
        (false, false) => Some(format!("unrecognized type: {wanted}")),
    }
}

/// Returns the Go kind of a decoded value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_values_have_the_converters_texts() {
        let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
        for (object, expected) in [
            (
                json!({"spec": "text"}),
                Some("cannot restore struct from: string"),
            ),
            (
                json!({"spec": {"replicas": "text"}}),
                Some("unrecognized type: int32"),
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                Some("cannot convert float64 to int32"),
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": {"name": "c"}}}}}),
                Some("cannot restore slice from map"),
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                Some("cannot convert int64 to string"),
            ),
            (
                json!({"metadata": {"labels": []}}),
                Some("cannot restore map from slice"),
            ),
            (json!({"spec": {"replicas": 1}}), None),
        ] {
            assert_eq!(error(&schema, &object).as_deref(), expected, "{object}");
        }
    }
}
