//! Describes the fields of custom resources for the forms of the `OpenShift` console.

use serde_json::{Map, Value, json};

const UI: &str = "urn:alm:descriptor:com.tectonic.ui";
const CONDITIONS: &str = "urn:alm:descriptor:io.kubernetes.conditions";

/// Returns a descriptor for each field of the spec.
pub(super) fn spec_descriptors(schema: &Value) -> Vec<Value> {
    descriptors(schema, "spec", |name, field| {
        let text = |key: &str| field[key].as_str().unwrap_or_default();
        if let Some(choices) = field["enum"].as_array() {
            let choices = choices.iter().filter_map(Value::as_str);
            return choices
                .map(|choice| format!("{UI}:select:{choice}"))
                .collect();
        }
        let control = match (text("type"), text("format")) {
            ("integer", _) if name == "replicas" => "podCount",
            ("integer" | "number", _) => "number",
            ("boolean", _) => "booleanSwitch",
            ("string", "password") => "password",
            ("string", _) => "text",
            _ => return Vec::new(),
        };
        vec![format!("{UI}:{control}")]
    })
}

/// Returns a descriptor for each field of the status.
pub(super) fn status_descriptors(schema: &Value) -> Vec<Value> {
    descriptors(schema, "status", |name, _| {
        let is_conditions = name == "conditions";
        is_conditions
            .then(|| CONDITIONS.to_owned())
            .into_iter()
            .collect()
    })
}

fn descriptors(
    schema: &Value,
    part: &str,
    controls: impl Fn(&str, &Value) -> Vec<String>,
) -> Vec<Value> {
    let empty = Map::new();
    let fields = schema["properties"][part]["properties"].as_object();
    let fields = fields.unwrap_or(&empty).iter();
    fields
        .map(|(name, field)| {
            let mut descriptor = json!({"path": name, "displayName": display_name(name)});
            if let Some(description) = field["description"].as_str() {
                descriptor["description"] = description.into();
            }
            let controls = controls(name, field);
            if !controls.is_empty() {
                descriptor["x-descriptors"] = controls.into();
            }
            descriptor
        })
        .collect()
}

/// Returns the name of a field for people: `Max Connections` for `maxConnections` and `max_connections`.
fn display_name(field: &str) -> String {
    let mut name = String::new();
    let mut begins_word = true;
    for letter in field.chars() {
        if letter == '_' || letter == '-' {
            begins_word = true;
            continue;
        }
        let is_capital = letter.is_ascii_uppercase();
        if (begins_word || is_capital) && !name.is_empty() {
            name.push(' ');
        }
        name.push(if begins_word {
            letter.to_ascii_uppercase()
        } else {
            letter
        });
        begins_word = false;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_control() {
        let schema = json!({"properties": {
            "spec": {"properties": {
                "replicas": {"type": "integer", "description": "Pods."},
                "max_size": {"type": "number"},
                "isPublic": {"type": "boolean"},
                "tier": {"type": "string", "enum": ["free", "paid"]},
                "labels": {"type": "object"},
            }},
            "status": {"properties": {"conditions": {"type": "array"}}},
        }});
        let described = json!([spec_descriptors(&schema), status_descriptors(&schema)]);
        insta::assert_snapshot!(crate::model::yaml::write(&described));
    }
}
