//! Finds the resource of a kind: its plural name and scope.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::Gvk;
use crate::role::Permissions;

/// A resource of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The plural name in URLs.
    pub(crate) plural: String,
    /// True if its objects are in namespaces; `None` if that is unknown.
    pub(crate) is_namespaced: Option<bool>,
    /// True if the name is a guess: neither Kubernetes nor a CRD defines the kind.
    pub(crate) is_guess: bool,
}

/// The resources of kinds, by group and kind. All versions of a kind have one resource.
pub(crate) struct KindTable(BTreeMap<(String, String), Resource>);

impl KindTable {
    /// Builds a table of the kinds of Kubernetes and of CRDs.
    pub(crate) fn new(crds: &[Value]) -> Self {
        let builtin = embedded_apiserver::builtin_resources().into_iter();
        let builtin = builtin.map(|resource| {
            let key = (resource.group, resource.kind);
            (key, known(resource.plural, resource.is_namespaced))
        });
        let custom = crds.iter().filter_map(|crd| {
            let text = |pointer| crd.pointer(pointer).and_then(Value::as_str);
            let key = (
                text("/spec/group")?.to_owned(),
                text("/spec/names/kind")?.to_owned(),
            );
            let plural = text("/spec/names/plural")?.to_owned();
            let is_namespaced = text("/spec/scope") != Some("Cluster");
            Some((key, known(plural, is_namespaced)))
        });
        Self(builtin.chain(custom).collect())
    }

    /// Returns whether a resource is known to have no namespaces. A subresource has the scope of its
    /// resource.
    pub(crate) fn is_cluster_scoped(&self, group: &str, resource: &str) -> bool {
        let plural = resource.split('/').next().unwrap_or(resource);
        let mut entries = self.0.iter();
        entries.any(|((known, _), entry)| {
            known == group && entry.plural == plural && entry.is_namespaced == Some(false)
        })
    }

    /// Returns the resource of a kind. The plural of an unknown kind is a guess, unless the permissions of
    /// a role contain it.
    pub(crate) fn resource(&self, gvk: &Gvk, permissions: &[&Permissions]) -> Resource {
        let key = (gvk.group.to_string(), gvk.kind.to_string());
        if let Some(resource) = self.0.get(&key) {
            return resource.clone();
        }
        let plural = guess(&gvk.kind);
        let rules = permissions.iter().filter_map(|all| all.api.as_ref());
        let is_confirmed = rules.flatten().any(|rule| {
            rule.api_groups.iter().any(|group| **group == *gvk.group)
                && rule.resources.contains(&plural)
        });
        Resource {
            plural,
            is_namespaced: None,
            is_guess: !is_confirmed,
        }
    }
}

fn known(plural: String, is_namespaced: bool) -> Resource {
    Resource {
        plural,
        is_namespaced: Some(is_namespaced),
        is_guess: false,
    }
}

/// Returns the plural that kubebuilder would give a kind.
fn guess(kind: &str) -> String {
    let name = kind.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match name.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if ends(&["s", "x", "z", "ch", "sh"]) => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn builtin_kinds_crds_and_guesses() {
        let crd = json!({"spec": {"group": "a.b", "scope": "Cluster", "names": {"kind": "Box", "plural": "boxen"}}});
        let table = KindTable::new(&[crd]);
        let resource = |api_version, kind| {
            let resource = table.resource(&Gvk::from_api_version(api_version, kind), &[]);
            (resource.plural, resource.is_namespaced, resource.is_guess)
        };
        assert_eq!(
            resource("networking.k8s.io/v1", "NetworkPolicy"),
            ("networkpolicies".into(), Some(true), false)
        );
        assert_eq!(
            resource("v1", "Endpoints"),
            ("endpoints".into(), Some(true), false)
        );
        assert_eq!(
            resource("v1", "Namespace"),
            ("namespaces".into(), Some(false), false)
        );
        assert_eq!(
            resource("a.b/v1", "Box"),
            ("boxen".into(), Some(false), false)
        );
        assert_eq!(
            resource("c.d/v1", "Policy"),
            ("policies".into(), None, true)
        );
        assert_eq!(
            resource("c.d/v1", "Gateway"),
            ("gateways".into(), None, true)
        );
    }
}
