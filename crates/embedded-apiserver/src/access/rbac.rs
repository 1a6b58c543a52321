//! Decides with RBAC rules whether a user can perform an action.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>

use std::sync::Arc;

use serde_json::Value;

use super::{Attributes, Rules};
use crate::builtin::path::{items, text};
use crate::user::User;

const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
const ROLES: &str = "roles.rbac.authorization.k8s.io";
const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";

/// The group whose members are allowed everything, regardless of roles.
const MASTERS: &str = "system:masters";

/// A decision and its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub allowed: bool,
    /// The binding that allows the action, or errors of bindings that refer to missing roles. Often empty.
    pub reason: String,
}

/// A rule that a user has, and the binding that grants it.
struct Granted {
    rule: Value,
    reason: String,
}

/// Returns whether a user is allowed to perform an action.
pub(crate) fn is_allowed(user: &User, attributes: &Attributes, rules: &dyn Rules) -> bool {
    decide(user, attributes, rules).allowed
}

/// Returns whether a user is allowed to perform an action, and the reason.
pub(crate) fn decide(user: &User, attributes: &Attributes, rules: &dyn Rules) -> Decision {
    if user.groups.iter().any(|group| group == MASTERS) {
        return Decision {
            allowed: true,
            reason: String::new(),
        };
    }
    let mut missing = Vec::new();
    let granted = granted(user, &attributes.namespace, rules, &mut missing);
    if let Some(found) = granted
        .into_iter()
        .find(|one| allows(&one.rule, attributes))
    {
        return Decision {
            allowed: true,
            reason: found.reason,
        };
    }
    let reason = match missing.as_slice() {
        [] => String::new(),
        [one] => format!("RBAC: {one}"),
        several => format!("RBAC: [{}]", several.join(", ")),
    };
    Decision {
        allowed: false,
        reason,
    }
}

/// Returns all rules that a user has in a namespace. For an empty namespace, returns the cluster-wide rules.
pub(crate) fn rules_of(user: &User, namespace: &str, rules: &dyn Rules) -> Vec<Value> {
    let granted = granted(user, namespace, rules, &mut Vec::new());
    granted.into_iter().map(|one| one.rule).collect()
}

fn granted(
    user: &User,
    namespace: &str,
    rules: &dyn Rules,
    missing: &mut Vec<String>,
) -> Vec<Granted> {
    let mut granted = Vec::new();
    let mut bindings = rules.list(CLUSTER_ROLE_BINDINGS, None);
    if !namespace.is_empty() {
        bindings.extend(rules.list(ROLE_BINDINGS, Some(namespace)));
    }
    for binding in bindings {
        let own = text(&binding, &["metadata", "namespace"]);
        let subject = items(&binding["subjects"])
            .iter()
            .find(|subject| is_subject(user, subject, own));
        let Some(subject) = subject else {
            continue;
        };
        match role_of(&binding, rules) {
            Ok(role) => {
                let reason = reason(&binding, subject);
                granted.extend(items(&role["rules"]).iter().map(|rule| Granted {
                    rule: rule.clone(),
                    reason: reason.clone(),
                }));
            }
            Err(text) => missing.push(text),
        }
    }
    granted
}

/// Returns the role that a binding refers to, or an error message if it does not exist.
fn role_of(binding: &Value, rules: &dyn Rules) -> Result<Arc<Value>, String> {
    let (kind, name) = (
        text(binding, &["roleRef", "kind"]),
        text(binding, &["roleRef", "name"]),
    );
    let (resource, namespace) = if kind == "Role" {
        (ROLES, text(binding, &["metadata", "namespace"]))
    } else {
        (CLUSTER_ROLES, "")
    };
    let found = rules.get(resource, namespace, name);
    let singular = resource.replacen("s.", ".", 1);
    found.ok_or_else(|| format!("{singular} {name:?} not found"))
}

fn is_subject(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = text(subject, &["name"]);
    match text(subject, &["kind"]) {
        "User" => user.name == name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let given = text(subject, &["namespace"]);
            let namespace = if given.is_empty() { namespace } else { given };
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn reason(binding: &Value, subject: &Value) -> String {
    let name = text(binding, &["metadata", "name"]);
    let namespace = text(binding, &["metadata", "namespace"]);
    let bound = if namespace.is_empty() {
        format!("ClusterRoleBinding {name:?}")
    } else {
        format!("RoleBinding {:?}", format!("{name}/{namespace}"))
    };
    let kind = text(subject, &["kind"]);
    let to = match text(subject, &["namespace"]) {
        space if kind == "ServiceAccount" => format!("{}/{space}", text(subject, &["name"])),
        _ => text(subject, &["name"]).to_owned(),
    };
    format!(
        "RBAC: allowed by {bound} of {} {:?} to {kind} {to:?}",
        text(binding, &["roleRef", "kind"]),
        text(binding, &["roleRef", "name"]),
    )
}

/// Returns whether a list of a rule contains a word or `*`.
fn has(rule: &Value, list: &str, word: &str) -> bool {
    items(&rule[list])
        .iter()
        .any(|one| one == "*" || one == word)
}

/// Returns whether one rule allows an action.
pub(super) fn allows(rule: &Value, attributes: &Attributes) -> bool {
    if !has(rule, "verbs", &attributes.verb) {
        return false;
    }
    if let Some(path) = &attributes.path {
        let urls = items(&rule["nonResourceURLs"])
            .iter()
            .filter_map(Value::as_str);
        return urls.into_iter().any(|url| is_under(url, path));
    }
    let names = items(&rule["resourceNames"]);
    has(rule, "apiGroups", &attributes.group)
        && is_of_resource(rule, attributes)
        && (names.is_empty() || names.iter().any(|one| *one == attributes.name))
}

fn is_of_resource(rule: &Value, attributes: &Attributes) -> bool {
    if has(rule, "resources", &attributes.qualified_resource()) {
        return true;
    }
    let every = format!("*/{}", attributes.subresource);
    !attributes.subresource.is_empty() && items(&rule["resources"]).iter().any(|one| *one == every)
}

/// Returns whether a path matches a URL of a rule. A URL can end in `*`.
pub(super) fn is_under(url: &str, path: &str) -> bool {
    match url.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => url == path,
    }
}
