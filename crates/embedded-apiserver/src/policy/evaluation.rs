//! Evaluates the expressions of a policy for one write.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

use super::attributes::Attributes;
use super::definition::fails_closed;
use crate::crd::Program;

/// The values of the variables of a policy for one write and one parameter.
pub(super) struct Evaluation {
    variables: Vec<(&'static str, Cel)>,
    /// The variables of the policy that could not be computed, with the errors.
    failed: Vec<(String, String)>,
}

impl Evaluation {
    /// Computes the variables. `parameter` is null if the policy or the binding has none.
    pub(super) fn new(policy: &Value, write: &Attributes<'_>, parameter: &Value) -> Self {
        let mut evaluation = Self {
            variables: vec![
                ("object", to_cel(write.object)),
                ("oldObject", to_cel(write.old)),
                ("request", to_cel(&write.request())),
                ("namespaceObject", to_cel(write.namespace_object)),
                ("params", to_cel(parameter)),
                ("variables", to_map(HashMap::new())),
            ],
            failed: Vec::new(),
        };
        let mut computed = HashMap::new();
        for variable in policy["spec"]["variables"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().unwrap_or_default();
            match evaluation.run(&variable["expression"]) {
                Ok(value) => {
                    computed.insert(key(name), value);
                    evaluation.set_computed(computed.clone());
                }
                Err(error) => evaluation.failed.push((name.to_owned(), error)),
            }
        }
        evaluation
    }

    /// Sets the value of `variables`.
    fn set_computed(&mut self, computed: HashMap<Key, Cel>) {
        self.variables.retain(|(name, _)| *name != "variables");
        self.variables.push(("variables", to_map(computed)));
    }

    /// Evaluates an expression. Errors have the messages of the real server.
    pub(super) fn evaluate(&self, expression: &Value) -> Result<Cel, String> {
        self.run(expression).map_err(|error| {
            let source = expression.as_str().unwrap_or_default().trim();
            format!("expression '{source}' resulted in error: {error}")
        })
    }

    fn run(&self, expression: &Value) -> Result<Cel, String> {
        let program = Program::compile_with_objects(expression.as_str().unwrap_or_default())?;
        program.evaluate(&self.variables).map_err(|error| {
            let failed = self.failed.iter();
            let mut failed = failed.filter(|(name, _)| error == format!("no such key: {name}"));
            match failed.next() {
                Some((name, why)) => {
                    format!("composited variable {name:?} fails to evaluate: {why}")
                }
                None => error,
            }
        })
    }

    /// Returns whether all match conditions of the policy are true. A false condition wins over errors, and an
    /// error counts as a false condition if the policy ignores failures.
    pub(super) fn meets_conditions(&self, policy: &Value) -> Result<bool, String> {
        let conditions = policy["spec"]["matchConditions"].as_array();
        let mut first_error = None;
        for condition in conditions.into_iter().flatten() {
            match self.evaluate(&condition["expression"]) {
                Ok(Cel::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            Some(error) if fails_closed(policy) => Err(error),
            error => Ok(error.is_none()),
        }
    }
}

/// Converts JSON to a CEL value without a schema, as policies see objects.
fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(it) => Cel::Bool(*it),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Cel::Int(integer),
            (None, Some(float)) => Cel::Float(float),
            (None, None) => Cel::Null,
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (key(name), to_cel(value)));
            to_map(fields.collect())
        }
    }
}

/// Converts the result of an expression to JSON.
pub(super) fn to_json(value: &Cel) -> Result<Value, String> {
    Ok(match value {
        Cel::Null => Value::Null,
        Cel::Bool(it) => (*it).into(),
        Cel::Int(it) => (*it).into(),
        Cel::UInt(it) => (*it).into(),
        Cel::Float(it) => (*it).into(),
        Cel::String(it) => it.as_str().into(),
        Cel::List(items) => Value::Array(items.iter().map(to_json).collect::<Result<_, _>>()?),
        Cel::Map(Map { map }) => {
            let field = |(key, value): (&Key, &Cel)| Ok((key.to_string(), to_json(value)?));
            Value::Object(map.iter().map(field).collect::<Result<_, String>>()?)
        }
        other => return Err(format!("unsupported type {:?}", other.type_of())),
    })
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

fn to_map(fields: HashMap<Key, Cel>) -> Cel {
    Cel::Map(Map {
        map: Arc::new(fields),
    })
}
