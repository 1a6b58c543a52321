//! Groups permissions into the rules of a role.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::requirements::{Permission, Reason, Requirements};

/// The verbs in the order of rules. Others follow.
const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// A rule with the reasons for each of its resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) is_cluster_scoped: bool,
    pub(super) group: String,
    /// The resources, with the roles and the functions of the operator that need them.
    pub(super) resources: BTreeMap<String, Users>,
    pub(super) verbs: Vec<String>,
    pub(super) names: BTreeSet<String>,
}

/// The users of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    pub(super) operator: BTreeSet<&'static str>,
    pub(super) roles: BTreeSet<String>,
    pub(super) is_recorded: bool,
    pub(super) is_set: bool,
}

impl Users {
    fn add(&mut self, reasons: &BTreeSet<Reason>) {
        for reason in reasons {
            match reason {
                Reason::Operator(function) => {
                    self.operator.insert(function);
                }
                Reason::Role(site) => {
                    self.roles.insert(site.role.to_string());
                }
                Reason::Recorded => self.is_recorded = true,
                Reason::Settings => self.is_set = true,
            }
        }
    }

    fn is_operator_only(&self) -> bool {
        self.roles.is_empty() && !self.is_set && !(self.is_recorded && self.operator.is_empty())
    }
}

/// A resource, or one object of it.
type Object<'r> = (bool, &'r str, &'r str, Option<&'r str>);
/// The properties that the resources of one rule share.
type Common<'r> = (bool, &'r str, Vec<String>, Option<&'r str>);

/// Returns the rules, those of the operator itself first. Each permission is in exactly one rule. If the rules
/// are `by_scope`, none has both resources with and resources without namespaces.
pub(super) fn rules(requirements: &Requirements, by_scope: bool) -> Vec<Rule> {
    let mut objects: BTreeMap<Object<'_>, (BTreeSet<&str>, Users)> = BTreeMap::new();
    for (permission, reasons) in &requirements.permissions {
        if is_covered(requirements, permission) {
            continue;
        }
        let Permission {
            is_cluster_scoped,
            group,
            resource,
            name,
            verb,
        } = permission;
        let object = (
            by_scope && *is_cluster_scoped,
            &**group,
            &**resource,
            name.as_deref(),
        );
        let (verbs, users) = objects.entry(object).or_default();
        verbs.insert(verb);
        users.add(reasons);
    }
    let mut by_verbs: BTreeMap<Common<'_>, BTreeMap<String, Users>> = BTreeMap::new();
    for ((is_cluster_scoped, group, resource, name), (verbs, users)) in objects {
        let common = (is_cluster_scoped, group, in_order(&verbs), name);
        let resources = by_verbs.entry(common).or_default();
        resources.insert(resource.to_owned(), users);
    }
    let mut rules: Vec<Rule> = Vec::new();
    for ((is_cluster_scoped, group, verbs, name), resources) in by_verbs {
        let rule = Rule {
            is_cluster_scoped,
            group: group.to_owned(),
            resources,
            verbs,
            names: name.map(str::to_owned).into_iter().collect(),
        };
        let same = rules.iter_mut().find(|other| other.differs_in_names(&rule));
        match same {
            Some(other) => other.names.extend(rule.names),
            None => rules.push(rule),
        }
    }
    rules.sort_by(|a, b| a.position().cmp(&b.position()));
    rules
}

/// Returns the rules as objects: those on resources without namespaces, and the others.
pub(crate) fn policy_rules(requirements: &Requirements) -> (Vec<Value>, Vec<Value>) {
    let rules = rules(requirements, true);
    let (cluster, namespaced): (Vec<Rule>, Vec<Rule>) =
        rules.into_iter().partition(|rule| rule.is_cluster_scoped);
    let values = |rules: Vec<Rule>| rules.iter().map(Rule::to_value).collect();
    (values(cluster), values(namespaced))
}

/// Returns whether a permission on all objects covers one on a named object.
fn is_covered(requirements: &Requirements, permission: &Permission) -> bool {
    let whole = Permission {
        name: None,
        ..permission.clone()
    };
    permission.name.is_some() && requirements.permissions.contains_key(&whole)
}

fn in_order(verbs: &BTreeSet<&str>) -> Vec<String> {
    let mut verbs: Vec<_> = verbs.iter().map(ToString::to_string).collect();
    let position = |verb: &String| VERBS.iter().position(|known| known == verb);
    verbs.sort_by_key(|verb| (position(verb).unwrap_or(VERBS.len()), verb.clone()));
    verbs
}

impl Rule {
    fn to_value(&self) -> Value {
        let resources: Vec<&String> = self.resources.keys().collect();
        let mut rule = json!({
            "apiGroups": [self.group],
            "resources": resources,
            "verbs": self.verbs,
        });
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }

    fn differs_in_names(&self, other: &Self) -> bool {
        let is_named = !self.names.is_empty() && !other.names.is_empty();
        is_named
            && Self {
                names: other.names.clone(),
                ..self.clone()
            } == *other
    }

    fn position(&self) -> (bool, &str, Vec<&String>, &Vec<String>) {
        let is_of_roles = !self.resources.values().all(Users::is_operator_only);
        let resources = self.resources.keys().collect();
        (is_of_roles, &self.group, resources, &self.verbs)
    }
}
