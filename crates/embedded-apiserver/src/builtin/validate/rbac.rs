//! Validates roles and their bindings.

use serde_json::{Value, json};

use super::super::path::{items, text};
use super::check::{self, Errors, each, join, one_of};
use super::selector;
use crate::error::FieldError;
use crate::names;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(kind: &str, object: &Value, old: Option<&Value>) -> Errors {
    match kind {
        "Role" | "ClusterRole" => validate_role(object, kind == "Role"),
        _ => validate_binding(object, old, kind == "RoleBinding"),
    }
}

fn validate_role(object: &Value, namespaced: bool) -> Errors {
    let mut errors = Vec::new();
    for (at, rule) in items(&object["rules"]).iter().enumerate() {
        validate_rule(&mut errors, rule, &format!("rules[{at}]"), namespaced);
    }
    if object["aggregationRule"].is_null() {
        return errors;
    }
    let path = "aggregationRule.clusterRoleSelectors";
    let selectors = items(&object["aggregationRule"]["clusterRoleSelectors"]);
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path, detail));
    }
    for (at, one) in selectors.iter().enumerate() {
        errors.extend(selector::validate(one, &format!("{path}[{at}]")));
    }
    errors
}

fn validate_rule(errors: &mut Errors, rule: &Value, path: &str, namespaced: bool) {
    let is_empty = |field: &str| items(&rule[field]).is_empty();
    if is_empty("verbs") {
        let detail = "verbs must contain at least one value";
        errors.push(FieldError::required(join(path, "verbs"), detail));
    }
    if !is_empty("nonResourceURLs") {
        let shown = rule["nonResourceURLs"].clone();
        let path = join(path, "nonResourceURLs");
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(path.clone(), shown.clone(), detail));
        }
        if !["apiGroups", "resources", "resourceNames"]
            .iter()
            .all(|field| is_empty(field))
        {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(path, shown, detail));
        }
        return;
    }
    if is_empty("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        errors.push(FieldError::required(join(path, "apiGroups"), detail));
    }
    if is_empty("resources") {
        let detail = "resource rules must supply at least one resource";
        errors.push(FieldError::required(join(path, "resources"), detail));
    }
}

fn validate_binding(object: &Value, old: Option<&Value>, namespaced: bool) -> Errors {
    let mut errors = Vec::new();
    let role = &object["roleRef"];
    one_of(
        &mut errors,
        "roleRef.apiGroup".to_owned(),
        &role["apiGroup"],
        &[GROUP],
    );
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    one_of(&mut errors, "roleRef.kind".to_owned(), &role["kind"], kinds);
    let name = text(role, &["name"]);
    check::name(&mut errors, "roleRef.name".to_owned(), name, |name| {
        names::path_segment(name, false)
    });
    for (at, subject) in items(&object["subjects"]).iter().enumerate() {
        validate_subject(&mut errors, subject, &format!("subjects[{at}]"), namespaced);
    }
    if let Some(old) = old
        && *role != old["roleRef"]
    {
        let shown = json!({
            "APIGroup": role["apiGroup"],
            "Kind": role["kind"],
            "Name": role["name"],
        });
        errors.push(FieldError::invalid(
            "roleRef",
            shown,
            "cannot change roleRef",
        ));
    }
    errors
}

fn validate_subject(errors: &mut Errors, subject: &Value, path: &str, namespaced: bool) {
    let name = text(subject, &["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(join(path, "name"), ""));
    }
    let group = &subject["apiGroup"];
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                each(errors, &join(path, "name"), name, names::subdomain(name));
            }
            one_of(errors, join(path, "apiGroup"), group, &[""]);
            if !namespaced && text(subject, &["namespace"]).is_empty() {
                errors.push(FieldError::required(join(path, "namespace"), ""));
            }
        }
        "User" | "Group" => one_of(errors, join(path, "apiGroup"), group, &[GROUP]),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(join(path, "kind"), other, &kinds));
        }
    }
}
