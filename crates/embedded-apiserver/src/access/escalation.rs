//! Prevents privilege escalation: a user cannot grant permissions that the user does not have.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Attributes, GROUP, Rules, rbac};
use crate::builtin::path::{items, text};
use crate::error::ApiError;
use crate::user::User;

/// Refuses a role or binding that grants permissions that its writer does not have.
pub(crate) fn check(
    kind: &str,
    object: &Value,
    user: &User,
    rules: &dyn Rules,
) -> Result<(), ApiError> {
    let namespace = text(object, &["metadata", "namespace"]);
    let resource = format!("{}s", kind.to_lowercase());
    let (wanted, verb, about) = match kind {
        "Role" | "ClusterRole" => {
            let name = text(object, &["metadata", "name"]);
            (
                items(&object["rules"]).to_vec(),
                "escalate",
                (resource.clone(), name),
            )
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = &object["roleRef"];
            let of = format!("{}s", text(role, &["kind"]).to_lowercase());
            let name = text(role, &["name"]);
            let space = if of == "roles" { namespace } else { "" };
            let found = rules.get(&format!("{of}.{GROUP}"), space, name);
            let granted = found.map(|role| items(&role["rules"]).to_vec());
            (granted.unwrap_or_default(), "bind", (of, name))
        }
        _ => return Ok(()),
    };
    let bypass = Attributes {
        verb: verb.to_owned(),
        group: GROUP.to_owned(),
        resource: about.0,
        namespace: namespace.to_owned(),
        name: about.1.to_owned(),
        ..Attributes::default()
    };
    if rbac::is_allowed(user, &bypass, rules) {
        return Ok(());
    }
    let owned = rbac::rules_of(user, namespace, rules);
    let missing = missing(&wanted, &owned);
    if missing.is_empty() {
        return Ok(());
    }
    Err(refusal(
        user,
        &resource,
        text(object, &["metadata", "name"]),
        &missing,
    ))
}

fn refusal(user: &User, resource: &str, name: &str, missing: &[String]) -> ApiError {
    let groups: Vec<String> = user
        .groups
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    let message = format!(
        "{resource}.{GROUP} {name:?} is forbidden: user {:?} (groups=[{}]) is attempting to grant \
         RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        missing.join("\n"),
    );
    ApiError::forbidden(message).about(GROUP, resource, name)
}

/// The parts of a rule apart from its verbs: group, resource, name, path.
type RuleTarget = (String, String, String, String);

/// Returns the wanted rules that the owned rules do not cover, as the real server writes rules.
fn missing(wanted: &[Value], owned: &[Value]) -> Vec<String> {
    let mut parts: BTreeMap<RuleTarget, Vec<String>> = BTreeMap::new();
    for rule in wanted {
        for (part, verb) in broken_down(rule) {
            if !owned.iter().any(|owned| covers(owned, &part, &verb)) {
                let verbs = parts.entry(part).or_default();
                if !verbs.contains(&verb) {
                    verbs.push(verb);
                }
            }
        }
    }
    parts
        .iter()
        .map(|(part, verbs)| written(part, verbs))
        .collect()
}

fn words(rule: &Value, list: &str) -> Vec<String> {
    let words = items(&rule[list]).iter().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

fn broken_down(rule: &Value) -> Vec<(RuleTarget, String)> {
    let mut parts = Vec::new();
    let mut names = words(rule, "resourceNames");
    if names.is_empty() {
        names.push(String::new());
    }
    for verb in words(rule, "verbs") {
        for url in words(rule, "nonResourceURLs") {
            let part = (String::new(), String::new(), String::new(), url);
            parts.push((part, verb.clone()));
        }
        for group in words(rule, "apiGroups") {
            for resource in words(rule, "resources") {
                for name in &names {
                    let part = (group.clone(), resource.clone(), name.clone(), String::new());
                    parts.push((part, verb.clone()));
                }
            }
        }
    }
    parts
}

fn covers(owned: &Value, part: &RuleTarget, verb: &str) -> bool {
    let (group, resource, name, path) = part;
    if !path.is_empty() {
        let has = |list: &str, word: &str| {
            words(owned, list)
                .iter()
                .any(|one| one == "*" || one == word)
        };
        let mut urls = words(owned, "nonResourceURLs").into_iter();
        return has("verbs", verb) && urls.any(|url| rbac::is_under(&url, path));
    }
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = Attributes {
        verb: verb.to_owned(),
        group: group.clone(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        name: name.clone(),
        ..Attributes::default()
    };
    rbac::allows(owned, &attributes)
}

fn written(part: &RuleTarget, verbs: &[String]) -> String {
    let (group, resource, name, path) = part;
    let verbs: Vec<String> = verbs.iter().map(|verb| format!("{verb:?}")).collect();
    let verbs = verbs.join(" ");
    if !path.is_empty() {
        return format!("{{NonResourceURLs:[{path:?}], Verbs:[{verbs}]}}");
    }
    let names = if name.is_empty() {
        String::new()
    } else {
        format!("ResourceNames:[{name:?}], ")
    };
    format!("{{APIGroups:[{group:?}], Resources:[{resource:?}], {names}Verbs:[{verbs}]}}")
}
