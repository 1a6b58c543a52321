//! Finds the objects in YAML texts and in templates that render YAML.
//!
//! The text is not rendered: a rendering shows one branch of each condition, and permissions must cover
//! all. A document is divided at `---`. Its kinds are the lines `kind:` at its lowest indentation, each with
//! the nearest `apiVersion:` of the same indentation.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::objects::{Grant, Manifest, ObjectSet, grants};
use crate::model::{Gvk, yaml};

/// A `{{ }}` of a template.
static SLOT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)\{\{.*?\}\}"));
/// The namespace of the custom resource, which objects have by default.
static OWN_NAMESPACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\{\{-?\s*meta\.namespace\s*-?\}\}"));
/// A `{% %}` or a `{# #}` of a template.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)\{%.*?%\}|\{#.*?#\}"));
/// A key of an object, which may be the first of an item of a list.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^(?P<indent>(?:- |\s)*)["']?(?P<key>apiVersion|kind)["']?\s*:\s*(?P<value>[^#\n]*)"#)
});
/// A namespace in the metadata of an object, unless it is that of the custom resource.
static NAMESPACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^  namespace:[ \t]*\S"));

/// The text in place of a slot. It is a plain scalar of YAML.
const COMPUTED: &str = "rhai-operator-computed";

fn pattern(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants of this file"
    )]
    Regex::new(text).expect("a valid pattern")
}

/// Returns the objects that a text describes, or that a template renders.
pub(super) fn objects(text: &str) -> ObjectSet {
    let own = OWN_NAMESPACE.replace_all(text, "");
    let plain = SLOT.replace_all(&own, COMPUTED);
    let plain = STATEMENT.replace_all(&plain, "");
    let documents = plain.split("\n---");
    documents.map(document).collect()
}

fn document(text: &str) -> ObjectSet {
    if let Ok(Some(value)) = yaml::parse_all(text).map(|documents| documents.into_iter().next())
        && !text.contains(COMPUTED)
    {
        return ObjectSet::of_value(&value);
    }
    let (mut versions, mut kinds) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let Some(found) = KEY.captures(line) else {
            continue;
        };
        let value = found["value"].trim().trim_matches(['"', '\'']).to_owned();
        let key = (found["indent"].len(), number, value);
        match &found["key"] {
            "kind" => kinds.push(key),
            _ => versions.push(key),
        }
    }
    let lowest = versions.iter().map(|(indent, ..)| *indent).min();
    let kinds = kinds.iter().filter(|(indent, ..)| Some(*indent) == lowest);
    let mut set: ObjectSet = kinds
        .map(|(indent, number, kind)| {
            let near = versions.iter().filter(|(other, ..)| other == indent);
            let near = near.min_by_key(|(_, other, _)| other.abs_diff(*number));
            object(text, near.map(|(.., version)| &**version), kind)
        })
        .collect();
    if set.is_empty() && text.contains(COMPUTED) && !is_blank(text) {
        set.is_computed = true;
    }
    set
}

/// Returns whether nothing but comments and computed parts is in a document.
fn is_blank(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

fn object(text: &str, version: Option<&str>, kind: &str) -> ObjectSet {
    let (Some(version), false) = (version, kind.contains(COMPUTED)) else {
        return ObjectSet::computed();
    };
    if version.contains(COMPUTED) {
        return ObjectSet::computed();
    }
    let gvk = Gvk::from_api_version(version, kind);
    let grants = if grants(&gvk, None).is_empty() {
        Vec::new()
    } else {
        grants_in_text(&gvk, text)
    };
    ObjectSet::of_manifest(Manifest {
        names_namespace: NAMESPACE.is_match(text),
        grants,
        gvk,
    })
}

/// Returns the permissions that a document with computed parts hands out.
fn grants_in_text(gvk: &Gvk, text: &str) -> Vec<Grant> {
    let Ok(documents) = yaml::parse_all(text) else {
        return vec![Grant::Computed];
    };
    let mut all: Vec<Grant> = documents
        .iter()
        .flat_map(|document| grants(gvk, Some(document)))
        .collect();
    for grant in &mut all {
        if is_computed(grant) {
            *grant = Grant::Computed;
        }
    }
    all
}

fn is_computed(grant: &Grant) -> bool {
    let has = |texts: &[String]| texts.iter().any(|text| text.contains(COMPUTED));
    match grant {
        // Names of objects only narrow a rule.
        Grant::Rule(rule) => has(&rule.groups) || has(&rule.resources) || has(&rule.verbs),
        // A role with a computed name is one that the release applies, or one that a comment names.
        Grant::Binding(_, name) => name.contains(COMPUTED),
        Grant::Computed => true,
    }
}

/// Returns the objects of a JSON or YAML value that is written as text.
pub(super) fn objects_of_literal(text: &str) -> ObjectSet {
    if text.contains("apiVersion") {
        objects(text)
    } else {
        ObjectSet::default()
    }
}

/// Returns the objects of constant values.
pub(super) fn objects_of_values(values: &[Value]) -> ObjectSet {
    values.iter().map(ObjectSet::of_value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let set = objects(text);
        let mut kinds: Vec<_> = set
            .manifests
            .iter()
            .map(|manifest| manifest.gvk.kind_group())
            .collect();
        if set.is_computed {
            kinds.push("computed".to_owned());
        }
        assert_eq!(kinds, expected, "{text}");
    }

    #[test]
    fn each_document_and_each_branch_counts() {
        check(
            "apiVersion: v1\nkind: Service\n---\nkind: Deployment\napiVersion: apps/v1\n",
            &["Service", "Deployment.apps"],
        );
        let branches = "apiVersion: apps/v1\n{% if spec.each %}\nkind: DaemonSet\n{% else %}\nkind: Deployment\n{% endif %}\nmetadata: {name: {{ meta.name }}}\n";
        check(branches, &["DaemonSet.apps", "Deployment.apps"]);
    }

    #[test]
    fn a_reference_within_an_object_does_not_count() {
        let text = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: {{ meta.name }}}\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n";
        check(text, &["HorizontalPodAutoscaler.autoscaling"]);
    }

    #[test]
    fn a_list_counts_with_its_items() {
        check(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n",
            &["Secret"],
        );
        check(
            "- apiVersion: v1\n  kind: Secret\n  metadata: {name: {{ x }}}\n",
            &["Secret"],
        );
    }

    #[test]
    fn a_kind_that_the_template_computes_is_reported() {
        check("apiVersion: {{ v }}\nkind: Thing\n", &["computed"]);
        check("apiVersion: v1\nkind: {{ k }}\n", &["computed"]);
        check("{{ spec.manifests | to_yaml }}\n", &["computed"]);
        check("# {{ nothing }}\n", &[]);
    }

    #[test]
    fn rules_and_references_of_rbac_are_grants() {
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: \"{{ meta.name }}\"}\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get]\n";
        let set = objects(role);
        let rule = Grant::Rule(super::super::objects::PolicyRule {
            groups: vec![String::new()],
            resources: vec!["pods".into()],
            verbs: vec!["get".into()],
            names: vec![],
        });
        assert_eq!(set.manifests.first().unwrap().grants, [rule]);
    }

    #[test]
    fn only_a_foreign_namespace_is_reported() {
        let named = |text: &str| objects(text).manifests.first().unwrap().names_namespace;
        assert!(named(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: {{ spec.where }}\n"
        ));
        assert!(!named(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ x }}\n  namespace: {{ meta.namespace }}\n"
        ));
    }
}
