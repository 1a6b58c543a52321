//! Validates admission policies and their bindings.
//!
//! Expressions must parse, must use only known variables, and must have the right type as far as it is known
//! without a schema.

use std::collections::HashSet;

use serde_json::Value;

use crate::builtin::path::{items, text};
use crate::builtin::validate::{Errors, join, one_of, required, validate_rule, validate_selector};
use crate::crd::Program;
use crate::error::FieldError;

/// The variables of all expressions. `params` exists only in policies with a `paramKind`.
const VARIABLES: [&str; 7] = [
    "object",
    "oldObject",
    "request",
    "authorizer",
    "namespaceObject",
    "Object",
    "JSONPatch",
];

/// Returns the errors of a policy or a binding. Objects of other kinds have none.
pub(crate) fn check(kind: &str, object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    match kind {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => check_policy(kind, spec),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            check_binding(kind, spec)
        }
        _ => Vec::new(),
    }
}

fn check_policy(kind: &str, spec: &Value) -> Errors {
    let mut policy = Policy {
        errors: Vec::new(),
        variables: VARIABLES.to_vec(),
    };
    one_of(
        &mut policy.errors,
        "spec.failurePolicy".to_owned(),
        &spec["failurePolicy"],
        &["Fail", "Ignore"],
    );
    if !spec["paramKind"].is_null() {
        policy.variables.push("params");
        for field in ["apiVersion", "kind"] {
            required(
                &mut policy.errors,
                &spec["paramKind"],
                "spec.paramKind",
                field,
            );
        }
    }
    policy.constraints(&spec["matchConstraints"]);
    policy.conditions(&spec["matchConditions"]);
    policy.variables_of(&spec["variables"]);
    if kind == "ValidatingAdmissionPolicy" {
        policy.validations(spec);
    } else {
        policy.mutations(spec);
    }
    policy.errors
}

/// The errors of a policy, and the variables that its expressions can use.
struct Policy {
    errors: Errors,
    variables: Vec<&'static str>,
}

impl Policy {
    fn constraints(&mut self, constraints: &Value) {
        let path = "spec.matchConstraints";
        if constraints.is_null() {
            self.errors.push(FieldError::required(path, ""));
            return;
        }
        let rules = join(path, "resourceRules");
        if items(&constraints["resourceRules"]).is_empty() {
            self.errors.push(FieldError::required(rules, ""));
        }
        validate_resources(&mut self.errors, constraints, path);
    }

    fn conditions(&mut self, conditions: &Value) {
        for (at, condition) in items(conditions).iter().enumerate() {
            let path = format!("spec.matchConditions[{at}]");
            required(&mut self.errors, condition, &path, "name");
            self.expression(condition, &path, "expression", "bool", "");
        }
    }

    /// Checks the variables of the policy. The expressions after them can use `variables`.
    fn variables_of(&mut self, variables: &Value) {
        let mut names = HashSet::new();
        for (at, variable) in items(variables).iter().enumerate() {
            let path = format!("spec.variables[{at}]");
            let name = text(variable, &["name"]);
            let mut letters = name.chars();
            let starts = letters
                .next()
                .is_some_and(|it| it.is_ascii_alphabetic() || it == '_');
            if name.is_empty() {
                let detail = "name is not specified";
                self.errors
                    .push(FieldError::required(join(&path, "name"), detail));
            } else if !starts || !letters.all(|it| it.is_ascii_alphanumeric() || it == '_') {
                let detail = "must be a valid CEL identifier";
                self.errors
                    .push(FieldError::invalid(join(&path, "name"), name, detail));
            } else if !names.insert(name) {
                self.errors
                    .push(FieldError::duplicate(join(&path, "name"), name));
            }
            self.expression(
                variable,
                &path,
                "expression",
                "",
                "expression is not specified",
            );
            self.variables.push("variables");
        }
    }

    fn validations(&mut self, spec: &Value) {
        let (validations, annotations) = (&spec["validations"], &spec["auditAnnotations"]);
        if items(validations).is_empty() && items(annotations).is_empty() {
            let detail = "validations or auditAnnotations must contain at least one item";
            for path in ["spec.validations", "spec.auditAnnotations"] {
                self.errors.push(FieldError::required(path, detail));
            }
        }
        for (at, validation) in items(validations).iter().enumerate() {
            let path = format!("spec.validations[{at}]");
            self.expression(
                validation,
                &path,
                "expression",
                "bool",
                "expression is not specified",
            );
            if !validation["messageExpression"].is_null() {
                self.expression(validation, &path, "messageExpression", "string", "");
            }
            let message = text(validation, &["message"]);
            if message.contains('\n') {
                let detail = "must not contain line breaks";
                let path = join(&path, "message");
                self.errors.push(FieldError::invalid(path, message, detail));
            }
            let reasons = [
                "Forbidden",
                "Invalid",
                "RequestEntityTooLarge",
                "Unauthorized",
            ];
            let reason = &validation["reason"];
            if reason.as_str().is_some_and(|one| !reasons.contains(&one)) {
                // The real server accepts `Unauthorized` and does not name it.
                one_of(
                    &mut self.errors,
                    join(&path, "reason"),
                    reason,
                    &reasons[..3],
                );
            }
        }
        for (at, annotation) in items(annotations).iter().enumerate() {
            let path = format!("spec.auditAnnotations[{at}]");
            required(&mut self.errors, annotation, &path, "key");
            self.expression(annotation, &path, "valueExpression", "", "");
        }
    }

    fn mutations(&mut self, spec: &Value) {
        let mutations = items(&spec["mutations"]);
        if mutations.is_empty() {
            let detail = "mutations must contain at least one item";
            self.errors
                .push(FieldError::required("spec.mutations", detail));
        }
        for (at, mutation) in mutations.iter().enumerate() {
            let path = format!("spec.mutations[{at}]");
            let (own, other, wanted) = match text(mutation, &["patchType"]) {
                "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", "Object"),
                "JSONPatch" => ("jsonPatch", "applyConfiguration", "list(JSONPatch)"),
                _ => {
                    let options = ["ApplyConfiguration", "JSONPatch"];
                    let path = join(&path, "patchType");
                    one_of(&mut self.errors, path, &mutation["patchType"], &options);
                    continue;
                }
            };
            let patch = text(mutation, &["patchType"]);
            if mutation[own].is_null() {
                let detail = format!("must be specified when patchType is {patch}");
                self.errors
                    .push(FieldError::required(join(&path, own), detail));
            } else {
                self.expression(&mutation[own], &join(&path, own), "expression", wanted, "");
            }
            if !mutation[other].is_null() {
                let detail = format!("must not be specified when patchType is {patch}");
                let shown = format!("{{{other}}}");
                self.errors
                    .push(FieldError::invalid(join(&path, other), shown, detail));
            }
        }
        let path = "spec.reinvocationPolicy".to_owned();
        let options = ["IfNeeded", "Never"];
        one_of(
            &mut self.errors,
            path,
            &spec["reinvocationPolicy"],
            &options,
        );
    }

    /// Checks an expression. `wanted` is the type of its result, or empty if any type is allowed. `missing` is
    /// the detail of the error for a missing expression.
    fn expression(&mut self, of: &Value, path: &str, field: &str, wanted: &str, missing: &str) {
        let path = join(path, field);
        let source = text(of, &[field]).trim();
        if source.is_empty() {
            self.errors.push(FieldError::required(path, missing));
            return;
        }
        let checked = Program::compile_with_objects(source)
            .and_then(|program| program.check_variables(source, &self.variables, wanted));
        if let Err(why) = checked {
            self.errors.push(FieldError::invalid(path, source, why));
        }
    }
}

fn check_binding(kind: &str, spec: &Value) -> Errors {
    let mut errors = Vec::new();
    required(&mut errors, spec, "spec", "policyName");
    let reference = &spec["paramRef"];
    if !reference.is_null() {
        validate_reference(&mut errors, reference);
    }
    if !spec["matchResources"].is_null() {
        validate_resources(&mut errors, &spec["matchResources"], "spec.matchResources");
    }
    if kind == "ValidatingAdmissionPolicyBinding" {
        validate_actions(&mut errors, &spec["validationActions"]);
    }
    errors
}

fn validate_reference(errors: &mut Errors, reference: &Value) {
    let named = !text(reference, &["name"]).is_empty();
    match (named, !reference["selector"].is_null()) {
        (false, false) => {
            let detail = "one of name or selector must be specified";
            errors.push(FieldError::required("spec.paramRef", detail));
        }
        (true, true) => {
            let detail = "name and selector are mutually exclusive";
            errors.push(FieldError::forbidden("spec.paramRef.name", detail));
        }
        _ => {}
    }
    let path = "spec.paramRef.parameterNotFoundAction";
    let action = &reference["parameterNotFoundAction"];
    if action.is_null() {
        errors.push(FieldError::required(path, ""));
    }
    one_of(errors, path.to_owned(), action, &["Deny", "Allow"]);
    if named && !reference["selector"].is_null() {
        let detail = "name and selector are mutually exclusive";
        errors.push(FieldError::forbidden("spec.paramRef.selector", detail));
    }
}

fn validate_actions(errors: &mut Errors, actions: &Value) {
    let path = "spec.validationActions";
    let list = items(actions);
    if list.is_empty() {
        let detail = "at least one validation action is required";
        errors.push(FieldError::required(path, detail));
    }
    for (at, action) in list.iter().enumerate() {
        one_of(
            errors,
            format!("{path}[{at}]"),
            action,
            &["Audit", "Deny", "Warn"],
        );
        if list[..at].contains(action) {
            errors.push(FieldError::duplicate(
                format!("{path}[{at}]"),
                action.clone(),
            ));
        }
    }
    let has = |name: &str| list.iter().any(|one| one == name);
    if has("Deny") && has("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure \
                      information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, actions.clone(), detail));
    }
}

/// Checks the rules and selectors of a policy or a binding.
fn validate_resources(errors: &mut Errors, resources: &Value, path: &str) {
    let match_policy = &resources["matchPolicy"];
    one_of(
        errors,
        join(path, "matchPolicy"),
        match_policy,
        &["Equivalent", "Exact"],
    );
    for field in ["namespaceSelector", "objectSelector"] {
        errors.extend(validate_selector(&resources[field], &join(path, field)));
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (at, rule) in items(&resources[field]).iter().enumerate() {
            validate_rule(errors, rule, &format!("{path}.{field}[{at}]"));
        }
    }
}
