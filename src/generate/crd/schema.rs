//! Converts inputs to the structural OpenAPI schema of a custom resource.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};

use crate::role::{Input, Kind};

/// Names that a rule must write as `__name__`.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>
const RESERVED: [&str; 22] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "__proto__",
];

type Fields = Map<String, Value>;

/// Returns the schema of a custom resource.
pub(super) fn root(description: &str, inputs: &BTreeMap<String, Input>, status: &Value) -> Value {
    let mut spec = fields_of(inputs);
    spec.insert("type".to_owned(), "object".into());
    spec.insert("description".to_owned(), "The desired state.".into());
    let mut root = Fields::new();
    if !description.is_empty() {
        root.insert("description".to_owned(), description.into());
    }
    root.insert("type".to_owned(), "object".into());
    if spec.contains_key("required") {
        root.insert("required".to_owned(), json!(["spec"]));
    } else {
        // Without a spec, the defaults in it would not apply.
        spec.insert("default".to_owned(), json!({}));
    }
    let properties = json!({
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": spec,
        "status": status,
    });
    root.insert("properties".to_owned(), properties);
    root.into()
}

/// Returns the keys that describe the fields of an object.
fn fields_of(inputs: &BTreeMap<String, Input>) -> Fields {
    let mut schema = Fields::new();
    if inputs.is_empty() {
        schema.insert(
            "x-kubernetes-preserve-unknown-fields".to_owned(),
            true.into(),
        );
        return schema;
    }
    let properties = inputs
        .iter()
        .map(|(name, input)| (name.clone(), field(input).into()));
    schema.insert("properties".to_owned(), Value::Object(properties.collect()));
    let required = inputs
        .iter()
        .filter(|(_, input)| input.required && input.default.is_none());
    let required: Vec<&String> = required.map(|(name, _)| name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    let kept: Vec<Value> = inputs
        .iter()
        .filter(|(_, input)| contains_immutable(input))
        .map(|(name, _)| removal_rule(name))
        .collect();
    if !kept.is_empty() {
        schema.insert("x-kubernetes-validations".to_owned(), kept.into());
    }
    schema
}

/// Returns the schema of a field.
fn field(input: &Input) -> Fields {
    let mut schema = value(input);
    if let Some(default) = &input.default {
        schema.insert("default".to_owned(), default.clone());
    }
    schema
}

/// Returns the schema of a value: a field, or an item of an array, which has no default.
fn value(input: &Input) -> Fields {
    let mut schema = Fields::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            schema.insert(key.to_owned(), value);
        }
    };
    let text = (!input.description.is_empty()).then(|| input.description.clone().into());
    set("description", text);
    set("type", Some(input.kind.name().into()));
    set(
        "enum",
        (!input.choices.is_empty()).then(|| input.choices.clone().into()),
    );
    set("minimum", input.minimum.and_then(number));
    set("maximum", input.maximum.and_then(number));
    let pattern = input.pattern.as_ref();
    set(
        "pattern",
        pattern.map(|pattern| pattern.source.clone().into()),
    );
    set("format", input.format.map(Into::into));
    let (least, most) = match input.kind {
        Kind::Array => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    set(least, input.size.least.map(Into::into));
    set(most, input.size.most.map(Into::into));
    if input.immutable {
        let rule = json!([{"rule": "self == oldSelf", "message": "is immutable"}]);
        set("x-kubernetes-validations", Some(rule));
    }
    match input.kind {
        Kind::Object => schema.extend(fields_of(&input.properties)),
        Kind::Array => {
            let any = || {
                Fields::from_iter([(
                    "x-kubernetes-preserve-unknown-fields".to_owned(),
                    true.into(),
                )])
            };
            let items = input.items.as_deref().map_or_else(any, value);
            schema.insert("items".to_owned(), items.into());
            schema.insert("x-kubernetes-list-type".to_owned(), "atomic".into());
        }
        _ => {}
    }
    schema
}

/// Returns a number without a fraction if it has none.
fn number(value: f64) -> Option<Value> {
    /// Above this, not every whole number is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value is whole and in range"
        )]
        return Some((value as i64).into());
    }
    Number::from_f64(value).map(Value::Number)
}

/// Returns true if a change inside the field is refused. Then its removal is refused too, because it would be a way
/// around.
fn contains_immutable(input: &Input) -> bool {
    input.immutable || input.properties.values().any(contains_immutable)
}

/// Returns the rule that a field must not be removed.
fn removal_rule(name: &str) -> Value {
    let field = if RESERVED.contains(&name) {
        format!("__{name}__")
    } else {
        name.to_owned()
    };
    json!({
        "rule": format!("!has(oldSelf.{field}) || has(self.{field})"),
        "message": format!("{name} is immutable: it cannot be removed"),
    })
}
