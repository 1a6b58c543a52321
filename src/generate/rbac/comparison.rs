//! Compares the roles of RBAC in a deploy folder with the permissions that the project needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::api_use::Site;
use super::requirements::{GapKind, Permission, Reason, Requirements};
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::yaml::{Content, Node, Position};

/// A file of the deploy folder.
pub(crate) struct Manifests {
    pub(crate) file: PathBuf,
    pub(crate) documents: Vec<Node>,
}

/// The paths that diagnostics name.
pub(crate) struct Paths<'a> {
    pub(crate) watches_file: &'a Path,
    pub(crate) roles_dir: &'a Path,
    pub(crate) deploy_dir: &'a Path,
}

/// A rule of a role.
struct DeployedRule<'m> {
    file: &'m Path,
    position: Position,
    is_cluster_wide: bool,
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    names: Vec<String>,
}

/// Returns a warning for each call that the `permissions` of its role do not allow, an error for each resource
/// on which deployed roles lack verbs, and a warning for each rule that allows more than the project needs. A
/// folder without roles is not compared.
pub(crate) fn compare(
    requirements: &Requirements,
    manifests: &[Manifests],
    watch_namespaces: &[String],
    paths: &Paths<'_>,
) -> Vec<Diagnostic> {
    let rules: Vec<DeployedRule<'_>> = manifests
        .iter()
        .flat_map(|manifests| {
            let documents = manifests.documents.iter();
            documents
                .flat_map(|document| deployed_rules(&manifests.file, document, watch_namespaces))
        })
        .collect();
    let mut diagnostics = fenced(requirements, paths);
    if rules.is_empty() {
        return diagnostics;
    }
    diagnostics.extend(missing(requirements, &rules, paths));
    let has_gaps = requirements.gaps.iter().any(|gap| {
        matches!(
            gap.kind,
            GapKind::Kind(_) | GapKind::Grants | GapKind::Role | GapKind::Plural(..)
        )
    });
    if !has_gaps {
        diagnostics.extend(rules.iter().filter_map(|rule| surplus(requirements, rule)));
    }
    diagnostics
}

fn deployed_rules<'m>(
    file: &'m Path,
    document: &Node,
    watch_namespaces: &[String],
) -> Vec<DeployedRule<'m>> {
    let value = document.to_value();
    let is_cluster_wide = value["kind"] == "ClusterRole";
    let namespace = value["metadata"]["namespace"].as_str().unwrap_or_default();
    let is_watched = watch_namespaces.iter().any(|watched| watched == namespace);
    let is_used = is_cluster_wide || value["kind"] == "Role" && is_watched;
    if !is_used {
        return Vec::new();
    }
    let rules = field(document, "rules").map(|rules| &rules.content);
    let Some(Content::List(rules)) = rules else {
        return Vec::new();
    };
    let rules = rules.iter().map(|node| {
        let rule = node.to_value();
        DeployedRule {
            file,
            position: node.position,
            is_cluster_wide,
            groups: texts(&rule["apiGroups"]),
            resources: texts(&rule["resources"]),
            verbs: texts(&rule["verbs"]),
            names: texts(&rule["resourceNames"]),
        }
    });
    rules.collect()
}

fn field<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let Content::Map(entries) = &node.content else {
        return None;
    };
    let mut entries = entries.iter();
    entries.find_map(|(name, value)| (name.name == key).then_some(value))
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

impl DeployedRule<'_> {
    fn allows(&self, permission: &Permission) -> bool {
        let is_named = self.names.is_empty()
            || permission
                .name
                .as_ref()
                .is_some_and(|name| self.names.contains(name));
        let subresource = permission
            .resource
            .split_once('/')
            .map(|(_, sub)| format!("*/{sub}"));
        let covers = has(&self.resources, &permission.resource)
            || subresource.is_some_and(|any| self.resources.contains(&any));
        is_named
            && covers
            && has(&self.groups, &permission.group)
            && has(&self.verbs, &permission.verb)
            && (self.is_cluster_wide || !permission.is_cluster_scoped)
    }
}

/// The first user of a resource, and the verbs that are missing for it.
type Missing<'r> = BTreeMap<(&'r str, &'r str), (BTreeSet<&'r str>, Option<&'r Site>)>;

fn missing(
    requirements: &Requirements,
    rules: &[DeployedRule<'_>],
    paths: &Paths<'_>,
) -> Vec<Diagnostic> {
    let mut missing: Missing<'_> = BTreeMap::new();
    for (permission, reasons) in &requirements.permissions {
        if rules.iter().any(|rule| rule.allows(permission)) {
            continue;
        }
        let key = (&*permission.group, &*permission.resource);
        let (verbs, user) = missing.entry(key).or_default();
        verbs.insert(&permission.verb);
        *user = user.or_else(|| reasons.iter().find_map(site));
    }
    let diagnostics = missing
        .into_iter()
        .map(|((group, resource), (verbs, user))| {
            let verbs: Vec<&str> = verbs.into_iter().collect();
            let needed = format!("{} on {}", verbs.join(", "), qualified(group, resource));
            let deploy = paths.deploy_dir.display();
            let hint = format!(
                "run `rhai-operator generate`, or put the rules of `rhai-operator generate rbac` into {deploy}"
            );
            let found = if let Some(site) = user {
                let file = paths.roles_dir.join(&*site.role).join(&site.file);
                let message = format!(
                    "{} needs {needed}, which no role in {deploy} allows",
                    site.call
                );
                Diagnostic::error(file, site.line, site.column, message)
            } else {
                let message =
                    format!("the operator needs {needed}, which no role in {deploy} allows");
                Diagnostic::error(paths.watches_file, 0, 0, message)
            };
            found.hint(hint)
        });
    diagnostics.collect()
}

fn fenced(requirements: &Requirements, paths: &Paths<'_>) -> Vec<Diagnostic> {
    let gaps = requirements.gaps.iter();
    let diagnostics = gaps.filter_map(|gap| {
        let GapKind::Fenced(resource, verbs) = &gap.kind else {
            return None;
        };
        let (site, verbs) = (&gap.site, verbs.join(", "));
        let call = site.call;
        let message =
            format!("{call} needs {verbs} on {resource}, which `permissions` do not allow");
        let file = paths.roles_dir.join(&*site.role).join(&site.file);
        let diagnostic = Diagnostic::error(file, site.line, site.column, message);
        let hint = format!(
            "add the verbs to `permissions` in {}/meta/main.yaml",
            site.role
        );
        Some(diagnostic.severity(Severity::Warning).hint(hint))
    });
    diagnostics.collect()
}

fn site(reason: &Reason) -> Option<&Site> {
    match reason {
        Reason::Role(site) => Some(site),
        _ => None,
    }
}

/// Returns the name of a resource with its group, as in kubectl.
fn qualified(group: &str, resource: &str) -> String {
    match resource.split_once('/') {
        _ if group.is_empty() => resource.to_owned(),
        Some((plural, subresource)) => format!("{plural}.{group}/{subresource}"),
        None => format!("{resource}.{group}"),
    }
}

/// Returns a warning if a rule allows verbs that nothing needs.
fn surplus(requirements: &Requirements, rule: &DeployedRule<'_>) -> Option<Diagnostic> {
    let mut parts = Vec::new();
    for resource in &rule.resources {
        let of_resource = requirements.permissions.keys().filter(|permission| {
            has(&rule.groups, &permission.group)
                && (resource == "*" || *resource == permission.resource)
                && (rule.names.is_empty()
                    || permission
                        .name
                        .as_ref()
                        .is_none_or(|name| rule.names.contains(name)))
        });
        let needed: BTreeSet<&str> = of_resource.map(|permission| &*permission.verb).collect();
        let verbs = rule.verbs.iter().map(String::as_str);
        let unneeded: Vec<&str> = verbs.filter(|verb| !needed.contains(verb)).collect();
        if !unneeded.is_empty() {
            let group = rule.groups.first().map_or("", String::as_str);
            parts.push(format!(
                "{} on {}",
                unneeded.join(", "),
                qualified(group, resource)
            ));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let message = format!(
        "allows {}, which nothing in the project needs",
        parts.join("; ")
    );
    let Position { line, column } = rule.position;
    let diagnostic = Diagnostic::error(rule.file, line, column, message);
    let diagnostic = diagnostic.severity(Severity::Warning);
    Some(diagnostic.hint("remove it, or add it to `permissions` of settings.yaml"))
}
