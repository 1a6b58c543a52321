//! `x-kubernetes-validations`: rules in the Common Expression Language.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>
//! kube-cel parses and executes the expressions. This module determines the values that they see, the time at
//! which they run and the messages of failures. It has three limitations: only common type errors are found
//! before a rule runs, not all costs of a rule are counted when it runs ([`budget`]), and lists of all types
//! are compared in order.

mod bounds;
mod budget;
mod checker;
mod cost;
mod field_path;
mod names;
mod nesting;
mod object_literals;
mod program;
mod searches;
mod steps;
mod types;
mod values;

use std::collections::BTreeMap;

use kube_cel::cel;
use serde_json::{Map, Value};

use super::correlation::{Correlation, OldItems};
use super::structural::{Additional, Structural, flag, text};
use super::verdict::ValidationResult;
use crate::error::{FieldError, FieldErrorKind};
pub(super) use bounds::Bounds;
use budget::{Budget, Stop};
pub(super) use checker::Wanted;
use field_path::normalized;
pub(super) use field_path::{ResolvedPath, find as find_field};
pub(crate) use program::Program;

/// Properties of an expression that compiles.
#[derive(Clone, Copy)]
pub(super) struct CheckedRule {
    /// True if the expression refers to the old value.
    pub(super) uses_old: bool,
    /// The maximum cost.
    pub(super) cost: u64,
}

/// The schema of an expression, and the type that the expression must have.
#[derive(Clone, Copy)]
pub(super) struct RuleContext<'a> {
    pub(super) schema: &'a Structural,
    /// Absent if rules do not see the values.
    pub(super) bounds: Option<&'a Bounds>,
    pub(super) is_resource: bool,
    pub(super) optional_old: bool,
}

/// Compiles an expression, and returns its properties or the error.
pub(super) fn check(
    source: &str,
    over: RuleContext<'_>,
    wanted: Wanted,
) -> Result<CheckedRule, String> {
    let program = Program::compile(source)?;
    program.check(source, over.schema, over.is_resource, wanted)?;
    Ok(CheckedRule {
        uses_old: program.uses_old(),
        cost: over
            .bounds
            .map_or(0, |bounds| program.cost(bounds, over.optional_old)),
    })
}

/// The compiled rules of a schema.
#[derive(Debug)]
pub(super) struct Rules(Node);

/// The rules of one schema, and of the schemas below it.
#[derive(Debug, Default)]
struct Node {
    rules: Vec<Rule>,
    is_resource: bool,
    all_of: Vec<Self>,
    items: Option<Box<Self>>,
    properties: BTreeMap<String, Self>,
    additional: Option<Box<Self>>,
}

#[derive(Debug)]
struct Rule {
    program: Result<Program, String>,
    /// The expression without surrounding spaces, as messages show it.
    text: String,
    message: Option<String>,
    message_program: Option<Program>,
    reason: Option<String>,
    field_path: Option<String>,
    uses_old: bool,
    old_is_optional: bool,
}

/// Decides whether an update tolerates failures, because the value did not change.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    current: Option<Correlation<'a>>,
    parent: Option<Correlation<'a>>,
}

impl<'a> Ratchet<'a> {
    fn forgives(self) -> bool {
        self.current
            .or(self.parent)
            .is_some_and(Correlation::is_unchanged)
    }

    fn below(self, step: impl FnOnce(Correlation<'a>) -> Option<Correlation<'a>>) -> Self {
        match self.current {
            None => self,
            Some(current) => Self {
                current: step(current),
                parent: Some(current),
            },
        }
    }

    fn key(self, key: &str) -> Self {
        let is_root = self.current.is_some() && self.parent.is_none();
        if is_root && matches!(key, "apiVersion" | "kind") {
            return Self::default();
        }
        self.below(|current| current.key(key))
    }
}

impl Rules {
    /// Compiles the rules of a resource's schema. Returns nothing if it has none.
    pub(super) fn compile(schema: &Structural) -> Option<Self> {
        schema
            .has_rules()
            .then(|| Self(Node::compile(schema, schema, true)))
    }

    /// Compiles the rules of a schema that is not a resource, such as that of a default.
    pub(super) fn of_value(schema: &Structural) -> Option<Self> {
        let compile = || Self(Node::compile(schema, schema, schema.embedded));
        schema.has_rules().then(compile)
    }

    /// Runs the rules of an object. `path` is its path, which is empty for a resource.
    pub(super) fn run(
        &self,
        object: &Value,
        old: Option<&Value>,
        schema: &Structural,
        path: &str,
        verdict: &mut ValidationResult,
    ) {
        let ratchet = Ratchet {
            current: old.map(|old| Correlation::new(object, old, schema)),
            parent: None,
        };
        let mut outcome = Outcome {
            verdict,
            budget: Budget::new(),
        };
        self.0
            .run(Run { schema, path }, object, old, ratchet, &mut outcome);
    }
}

/// The outcome of the rules of one object, and the budget for the rules that follow.
struct Outcome<'a> {
    verdict: &'a mut ValidationResult,
    budget: Budget,
}

/// The context of a node's rules.
#[derive(Clone, Copy)]
struct Run<'a> {
    schema: &'a Structural,
    path: &'a str,
}

impl Node {
    /// Compiles the rules in `rules` for values of the type `schema`. The two differ below `allOf`.
    fn compile(rules: &Structural, schema: &Structural, is_resource: bool) -> Self {
        let property = |(key, below): (&String, &Structural)| {
            let of = schema.properties.get(key).filter(|_| below.has_rules())?;
            Some((key.clone(), Self::compile(below, of, of.embedded)))
        };
        let child = |rules: Option<&Structural>, schema: Option<&Structural>| {
            let (rules, schema) = (rules.filter(|it| it.has_rules())?, schema?);
            Some(Box::new(Self::compile(rules, schema, schema.embedded)))
        };
        let all_of = rules.checks.all_of.iter().filter(|it| it.has_rules());
        Self {
            rules: rules
                .rules
                .iter()
                .map(|rule| Rule::compile(rule, schema))
                .collect(),
            is_resource,
            all_of: all_of
                .map(|rules| Self::compile(rules, schema, is_resource))
                .collect(),
            items: child(rules.items.as_deref(), schema.items.as_deref()),
            properties: rules.properties.iter().filter_map(property).collect(),
            additional: child(additional(rules), additional(schema)),
        }
    }

    fn run(
        &self,
        at: Run<'_>,
        value: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        if value.is_null() || outcome.budget.is_exhausted() {
            return;
        }
        if !self.rules.is_empty() {
            self.run_rules(
                at,
                value,
                old.filter(|old| !old.is_null()),
                ratchet,
                outcome,
            );
        }
        for node in &self.all_of {
            let ratchet = Ratchet {
                current: None,
                parent: ratchet.parent,
            };
            node.run(at, value, old, ratchet, outcome);
        }
        match value {
            Value::Object(fields) => self.run_fields(at, fields, old, ratchet, outcome),
            Value::Array(items) => self.run_items(at, items, old, ratchet, outcome),
            _ => {}
        }
    }

    fn run_fields(
        &self,
        at: Run<'_>,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        let Run { schema, path } = at;
        let old = |key: &str| old.and_then(|old| old.get(key));
        for (key, value) in fields {
            let mut run = |node: Option<&Self>, schema, path: &dyn Fn() -> String| {
                if let (Some(node), Some(schema)) = (node, schema) {
                    let path = &path();
                    let at = Run { schema, path };
                    node.run(at, value, old(key), ratchet.key(key), outcome);
                }
            };
            let at_key = || format!("{path}[{key}]");
            run(self.additional.as_deref(), additional(schema), &at_key);
            let property = schema.properties.get(key);
            run(self.properties.get(key), property, &|| join(path, key));
        }
    }

    fn run_items(
        &self,
        at: Run<'_>,
        items: &[Value],
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        let (Some(node), Some(schema)) = (&self.items, at.schema.items.as_deref()) else {
            return;
        };
        let old = old.and_then(|old| OldItems::new(at.schema, old));
        let below = ratchet.current.and_then(Correlation::items);
        for (index, item) in items.iter().enumerate() {
            let old = old.as_ref().and_then(|old| old.find(item));
            let path = &format!("{}[{index}]", at.path);
            let ratchet = ratchet.below(|current| current.item(index, below.as_ref()?));
            node.run(Run { schema, path }, item, old, ratchet, outcome);
        }
    }

    fn run_rules(
        &self,
        at: Run<'_>,
        value: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        let convert = |value: &Value| values::convert(value, at.schema, self.is_resource);
        let new = convert(value);
        let uses_old = self.rules.iter().any(|rule| rule.uses_old);
        let old = old.filter(|_| uses_old).map(convert);
        let values = Operands {
            new: &new,
            old: old.as_ref(),
        };
        for rule in &self.rules {
            if !outcome.budget.is_exhausted() {
                rule.run(at, value, values, ratchet, outcome);
            }
        }
    }
}

/// The values of `self` and `oldSelf`.
#[derive(Clone, Copy)]
struct Operands<'a> {
    new: &'a cel::Value,
    old: Option<&'a cel::Value>,
}

impl Rule {
    fn compile(rule: &Value, schema: &Structural) -> Self {
        let source = text(rule, "rule").unwrap_or_default();
        let program = Program::compile(&source);
        let message = text(rule, "messageExpression");
        Self {
            uses_old: program.as_ref().is_ok_and(Program::uses_old),
            program,
            text: source.trim().to_owned(),
            message: text(rule, "message").map(|it| it.trim().to_owned()),
            message_program: message.and_then(|source| Program::compile(&source).ok()),
            reason: text(rule, "reason"),
            field_path: text(rule, "fieldPath").and_then(|path| normalized(&path, schema)),
            old_is_optional: flag(rule, "optionalOldSelf"),
        }
    }

    /// Returns the name of the rule in messages.
    fn name(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.text)
    }

    fn run(
        &self,
        at: Run<'_>,
        value: &Value,
        values: Operands<'_>,
        ratchet: Ratchet<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        if self.uses_old && values.old.is_none() && !self.old_is_optional {
            return;
        }
        let old = self.old(values.old);
        let execute = || {
            let program = self.program.as_ref();
            program.map(|it| it.run(values.new, old.as_ref()))
        };
        let (result, cost, stop) = outcome.budget.call(execute);
        let why = if !outcome.budget.spend(cost) {
            outcome.budget.exhaust();
            "validation failed due to running out of cost budget, no further validation rules will be run"
                .to_owned()
        } else if let Some(stop) = stop {
            outcome.budget.exhaust();
            self.stopped(stop)
        } else {
            match result {
                Ok(Ok(cel::Value::Bool(true))) => return,
                Ok(Ok(cel::Value::Bool(false))) => {
                    let error = self.failure(at, value, values.new, old.as_ref(), &outcome.budget);
                    if !self.uses_old && ratchet.forgives() {
                        outcome.verdict.warnings.push(error.to_string());
                    } else {
                        outcome.verdict.errors.push(error);
                    }
                    return;
                }
                other => self.invalid_result(other),
            }
        };
        let path = if at.path.is_empty() { "<nil>" } else { at.path };
        let kind = at.schema.kind.as_deref().unwrap_or_default();
        outcome
            .verdict
            .errors
            .push(FieldError::invalid(path, kind, why));
    }

    /// Returns the message for a rule that ended early.
    fn stopped(&self, stop: Stop) -> String {
        let name = self.name();
        match stop {
            Stop::Cost => format!(
                "'operation cancelled: actual cost limit exceeded': no further validation rules will be \
                 run due to call cost exceeds limit for rule: {name}"
            ),
            Stop::Time => format!("operation interrupted evaluating rule: {name}"),
        }
    }

    /// Returns the message for a rule whose result is no boolean.
    fn invalid_result(&self, result: Result<Result<cel::Value, String>, &String>) -> String {
        let name = self.name();
        match result {
            Err(why) => format!("rule compile error: {why}"),
            Ok(Ok(_)) => "rule compile error: must evaluate to a bool".to_owned(),
            Ok(Err(why)) if why == "no such overload" => format!(
                "'{why}': call arguments did not match a supported operator, function or macro \
                 signature for rule: {name}"
            ),
            Ok(Err(why)) => format!("{why} evaluating rule: {name}"),
        }
    }

    fn old(&self, old: Option<&cel::Value>) -> Option<cel::Value> {
        if self.old_is_optional {
            return Some(values::optional(old.cloned()));
        }
        old.cloned()
    }

    fn failure(
        &self,
        at: Run<'_>,
        value: &Value,
        new: &cel::Value,
        old: Option<&cel::Value>,
        budget: &Budget,
    ) -> FieldError {
        let path = match &self.field_path {
            Some(below) => join(at.path, below),
            None if at.path.is_empty() => "<nil>".to_owned(),
            None => at.path.to_owned(),
        };
        let said = self
            .message_program
            .as_ref()
            .and_then(|it| budget.call(|| it.message(new, old)).0);
        let detail = said.unwrap_or_else(|| match &self.message {
            Some(message) => message.clone(),
            None => format!("failed rule: {}", self.text),
        });
        let scalar = !matches!(at.schema.kind.as_deref(), Some("object" | "array"));
        let value = scalar.then(|| value.clone());
        let kind = match self.reason.as_deref() {
            Some("FieldValueForbidden") => return FieldError::forbidden(path, detail),
            Some("FieldValueRequired") => return FieldError::required(path, detail),
            Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
            _ => FieldErrorKind::Invalid,
        };
        let detail = if kind == FieldErrorKind::Duplicate {
            String::new()
        } else {
            detail
        };
        FieldError {
            kind,
            path,
            value,
            detail,
        }
    }
}

fn join(path: &str, below: &str) -> String {
    if path.is_empty() {
        below.to_owned()
    } else {
        format!("{path}.{below}")
    }
}

fn additional(schema: &Structural) -> Option<&Structural> {
    match &schema.additional {
        Additional::Schema(schema) => Some(schema),
        _ => None,
    }
}
