//! Decides which writes a policy or a binding selects.
//!
//! `matchPolicy: Equivalent` is the default: a rule matches a request in any served version of its resource.

use serde_json::Value;

use super::attributes::Attributes;
use super::definition::GROUP;
use crate::labels::LabelSelector;
use crate::resource::Version;

/// Returns whether the constraints of a policy select a write.
pub(crate) fn policy_matches(policy: &Value, write: &Attributes<'_>) -> bool {
    let is_exempt = &*write.resource.group == GROUP && write.resource.plural.contains("polic");
    !is_exempt && selects(&policy["spec"]["matchConstraints"], write)
}

/// Returns whether a binding, whose constraints can be absent, selects a write.
pub(crate) fn binding_matches(binding: &Value, write: &Attributes<'_>) -> bool {
    let resources = &binding["spec"]["matchResources"];
    resources.is_null() || selects(resources, write)
}

fn selects(constraints: &Value, write: &Attributes<'_>) -> bool {
    let rules = |field: &str| constraints[field].as_array().into_iter().flatten();
    let exact = constraints["matchPolicy"] == "Exact";
    let matches = |rule: &Value| rule_matches(rule, exact, write);
    let has_rules = rules("resourceRules").next().is_some();
    if rules("excludeResourceRules").any(matches)
        || has_rules && !rules("resourceRules").any(matches)
    {
        return false;
    }
    namespace_matches(&constraints["namespaceSelector"], write)
        && object_matches(&constraints["objectSelector"], write)
}

fn rule_matches(rule: &Value, exact: bool, write: &Attributes<'_>) -> bool {
    let lists = |field: &str, is: &dyn Fn(&str) -> bool| {
        let list = rule[field].as_array().into_iter().flatten();
        list.filter_map(Value::as_str)
            .any(|one| one == "*" || is(one))
    };
    let version_matches = |one: &str| {
        let is = |version: &Version| version.served && *version.name == *one;
        one == write.version || !exact && write.resource.versions.iter().any(is)
    };
    let scope = match rule["scope"].as_str() {
        Some("Cluster") => write.namespace.is_empty(),
        Some("Namespaced") => !write.namespace.is_empty(),
        _ => true,
    };
    let names = rule["resourceNames"]
        .as_array()
        .is_none_or(|names| names.is_empty() || names.iter().any(|name| name == write.name));
    scope
        && names
        && lists("operations", &|one| one == write.operation.name())
        && lists("apiGroups", &|one| one == &*write.resource.group)
        && lists("apiVersions", &version_matches)
        && resource_matches(rule, write)
}

/// Compares `pods`, `pods/status`, `pods/*`, `*/scale`, `*` and `*/*`. `*` does not contain subresources.
fn resource_matches(rule: &Value, write: &Attributes<'_>) -> bool {
    let list = rule["resources"].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).any(|one| {
        let (resource, subresource) = one.split_once('/').unwrap_or((one, ""));
        (resource == "*" || resource == &*write.resource.plural)
            && (subresource == write.subresource || subresource == "*")
    })
}

/// Compares the labels of the namespace. A namespace is selected by its own labels.
fn namespace_matches(selector: &Value, write: &Attributes<'_>) -> bool {
    let is_namespace = &**write.resource.id() == "namespaces";
    match (write.namespace_object, is_namespace) {
        (_, true) if write.object.is_null() => labels_match(selector, write.old),
        (_, true) => labels_match(selector, write.object),
        (Value::Null, false) => true,
        (namespace, false) => labels_match(selector, namespace),
    }
}

/// Compares the labels of the new and of the live object. One of them must match.
fn object_matches(selector: &Value, write: &Attributes<'_>) -> bool {
    let matches = |object: &Value| !object.is_null() && labels_match(selector, object);
    matches(write.object) || matches(write.old)
}

fn labels_match(selector: &Value, object: &Value) -> bool {
    if selector.is_null() {
        return true;
    }
    let labels = &object["metadata"]["labels"];
    // The validation of the policy has refused other selectors.
    LabelSelector::from_value(selector)
        .is_ok_and(|selector| selector.matches(|name| labels[name].as_str()))
}
