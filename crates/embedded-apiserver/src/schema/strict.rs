//! Strict decoding of built-in objects: finds unknown fields.

use serde_json::Value;

use super::{Schema, Type};

/// Returns messages such as `unknown field "spec.bogus"`, in the order of the paths.
pub(crate) fn unknown_fields(schema: &Schema, object: &Value) -> Vec<String> {
    let mut walk = UnknownFields::default();
    walk.below(schema.root(), object);
    walk.unknown
}

#[derive(Default)]
struct UnknownFields {
    path: String,
    unknown: Vec<String>,
}

impl UnknownFields {
    fn below(&mut self, place: Type<'_>, value: &Value) {
        let node = place.node();
        let length = self.path.len();
        match value {
            Value::Object(fields) => {
                let Some(map) = &node.map else {
                    return;
                };
                for (name, field) in fields {
                    if !self.path.is_empty() {
                        self.path.push('.');
                    }
                    self.path.push_str(name);
                    match map.child(name) {
                        Some(id) => self.below(place.at(id), field),
                        None => self
                            .unknown
                            .push(format!("unknown field \"{}\"", self.path)),
                    }
                    self.path.truncate(length);
                }
            }
            Value::Array(items) => {
                let Some(list) = &node.list else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    self.path.push_str(&["[", &index.to_string(), "]"].concat());
                    self.below(place.at(list.items), item);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_are_reported_with_their_paths() {
        let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "bogus": {"a": 1},
            "metadata": {"name": "a", "labels": {"x": "y"}, "nope": 1},
            "spec": {"template": {"spec": {"containers": [{"name": "c", "Image": "x"}]}}}});
        assert_eq!(
            unknown_fields(&schema, &object),
            [
                "unknown field \"bogus\"",
                "unknown field \"metadata.nope\"",
                "unknown field \"spec.template.spec.containers[0].Image\""
            ]
        );
    }
}
