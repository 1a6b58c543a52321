//! The sets of Kubernetes objects that the values of a program can contain.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::Gvk;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// The objects that a value can contain, itself included, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectSet {
    pub(super) manifests: BTreeSet<Manifest>,
    /// True if it can also contain objects whose kind a run computes.
    pub(super) is_computed: bool,
}

/// The properties of objects that decide the permissions for them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manifest {
    pub(super) gvk: Gvk,
    /// True if the object names a namespace other than `meta.namespace`.
    pub(super) names_namespace: bool,
    /// The permissions that an object of RBAC hands out.
    pub(super) grants: Vec<Grant>,
}

/// A permission that the operator hands out, which Kubernetes allows only to its holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    /// A rule of a Role.
    Rule(PolicyRule),
    /// The role that a binding refers to: its kind and name.
    Binding(String, String),
    /// A rule or a reference that a run computes.
    Computed,
}

/// A rule of RBAC on resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PolicyRule {
    pub(super) groups: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) names: Vec<String>,
}

impl ObjectSet {
    /// Returns the set of a value that a run computes.
    pub(super) fn computed() -> Self {
        Self {
            manifests: BTreeSet::new(),
            is_computed: true,
        }
    }

    /// Returns the set of one kind.
    pub(super) fn of_kind(gvk: Gvk) -> Self {
        Self::of_manifest(Manifest {
            gvk,
            names_namespace: false,
            grants: Vec::new(),
        })
    }

    pub(super) fn of_manifest(manifest: Manifest) -> Self {
        Self {
            manifests: BTreeSet::from([manifest]),
            is_computed: false,
        }
    }

    /// Returns the objects within a constant value.
    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::Array(items) => items.iter().map(Self::of_value).collect(),
            Value::Object(map) => match object_type(value) {
                Some(_) if map.get("items").is_some_and(Value::is_array) => {
                    Self::of_value(&map["items"])
                }
                Some(gvk) => Self::of_manifest(Manifest {
                    names_namespace: has_namespace(value),
                    grants: grants(&gvk, Some(value)),
                    gvk,
                }),
                None => map.values().map(Self::of_value).collect(),
            },
            _ => Self::default(),
        }
    }

    /// Returns the union. Data beside objects, such as labels that are merged into a manifest, does not make
    /// the kind unknown.
    pub(super) fn union(sets: &[Self]) -> Self {
        let has_objects = sets.iter().any(|set| !set.manifests.is_empty());
        let sets = sets.iter();
        let sets = sets.filter(|set| !has_objects || !set.manifests.is_empty());
        sets.cloned().collect()
    }

    /// Adds the objects of another set. Returns true if the set has changed.
    pub(super) fn join(&mut self, other: Self) -> bool {
        let before = (self.manifests.len(), self.is_computed);
        self.manifests.extend(other.manifests);
        self.is_computed |= other.is_computed;
        before != (self.manifests.len(), self.is_computed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifests.is_empty() && !self.is_computed
    }
}

impl FromIterator<Self> for ObjectSet {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        let mut all = Self::default();
        for set in sets {
            all.join(set);
        }
        all
    }
}

/// Returns the kind of an object.
fn object_type(value: &Value) -> Option<Gvk> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    Some(Gvk::from_api_version(text("apiVersion")?, text("kind")?))
}

/// Returns whether an object, or a reference to one, names a namespace.
fn has_namespace(value: &Value) -> bool {
    let is_text = |value: Option<&Value>| value.is_some_and(Value::is_string);
    is_text(value.get("namespace")) || is_text(value.pointer("/metadata/namespace"))
}

/// Returns the permissions that an object grants. `None` is an object with computed parts.
pub(super) fn grants(gvk: &Gvk, object: Option<&Value>) -> Vec<Grant> {
    if &*gvk.group != RBAC_GROUP {
        return Vec::new();
    }
    let Some(object) = object else {
        return vec![Grant::Computed];
    };
    if gvk.kind.ends_with("Binding") {
        let part = |key: &str| object["roleRef"][key].as_str().map(str::to_owned);
        return match (part("kind"), part("name")) {
            (Some(kind), Some(name)) => vec![Grant::Binding(kind, name)],
            // A reference to an existing binding hands out nothing.
            _ if object.get("roleRef").is_none() => Vec::new(),
            _ => vec![Grant::Computed],
        };
    }
    let rules = object["rules"].as_array();
    let rules = rules.into_iter().flatten();
    rules
        .filter(|rule| rule.get("nonResourceURLs").is_none())
        .map(|rule| policy_rule(rule).map_or(Grant::Computed, Grant::Rule))
        .collect()
}

fn policy_rule(rule: &Value) -> Option<PolicyRule> {
    let list = |key: &str| match rule.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Some(_) => None,
    };
    Some(PolicyRule {
        groups: list("apiGroups")?,
        resources: list("resources")?,
        verbs: list("verbs")?,
        names: list("resourceNames")?,
    })
}
