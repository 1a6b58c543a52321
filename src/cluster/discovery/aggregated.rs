//! Aggregated discovery: all kinds in two answers, supported by servers since 1.27.

use serde::Deserialize;

use super::ApiKind;
use crate::model::Gvk;

/// The accepted media types. An older server answers with the last one.
pub(super) const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                                 application/json;q=0.5";

/// An answer in the requested format; `None` is the answer of an older server.
#[derive(Deserialize)]
pub(super) struct GroupDiscoveryList {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(rename = "resource")]
    plural: Box<str>,
    response_kind: Option<Kind>,
    scope: String,
    #[serde(default)]
    verbs: Vec<Box<str>>,
    #[serde(default)]
    subresources: Vec<Subresource>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

#[derive(Deserialize)]
struct Subresource {
    #[serde(rename = "subresource")]
    name: String,
}

impl GroupDiscoveryList {
    /// Returns the kinds, each at its group's preferred version; `None` if the server is older.
    pub(super) fn kinds(self) -> Option<Vec<ApiKind>> {
        (self.kind == "APIGroupDiscoveryList")
            .then(|| self.items.into_iter().flat_map(Group::kinds).collect())
    }
}

impl Group {
    fn kinds(self) -> Vec<ApiKind> {
        let Self { metadata, versions } = self;
        // The preferred one is the first.
        let preferred = versions.into_iter().next();
        let Some(Version { version, resources }) = preferred else {
            return Vec::new();
        };
        let resources = resources.into_iter();
        resources
            .filter_map(|resource| resource.kind(&metadata.name, &version))
            .collect()
    }
}

impl Resource {
    fn kind(self, group: &str, version: &str) -> Option<ApiKind> {
        let has = |name: &str| self.subresources.iter().any(|sub| sub.name == name);
        Some(ApiKind {
            gvk: Gvk::new(group, version, &self.response_kind?.kind),
            namespaced: self.scope == "Namespaced",
            has_status: has("status"),
            has_scale: has("scale"),
            verbs: self.verbs.into(),
            plural: self.plural,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn kinds(answer: Value) -> Option<Vec<ApiKind>> {
        serde_json::from_value::<GroupDiscoveryList>(answer)
            .unwrap()
            .kinds()
    }

    #[test]
    fn each_kind_is_there_at_its_preferred_version() {
        let deployments = |subresources: Value| {
            json!({"resource": "deployments", "scope": "Namespaced", "verbs": ["get", "list"],
                   "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                   "subresources": subresources})
        };
        let kinds = kinds(json!({"kind": "APIGroupDiscoveryList", "items": [
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v1", "resources": [deployments(json!([{"subresource": "scale"}]))]},
                {"version": "v1beta1", "resources": [deployments(json!([]))]},
            ]},
            {"metadata": {"name": "stale"}, "versions": [{"version": "v1", "freshness": "Stale"}]},
            {"metadata": {"name": "none"}},
        ]}))
        .unwrap();
        let [kind] = &kinds[..] else {
            panic!("{kinds:?}");
        };
        assert_eq!(kind.gvk, Gvk::new("apps", "v1", "Deployment"));
        assert_eq!(kind.resource(), "deployments.apps");
        assert!(kind.namespaced && kind.has_scale && !kind.has_status && kind.can("list"));
    }

    #[test]
    fn an_older_server_is_known_by_its_answer() {
        assert_eq!(kinds(json!({"kind": "APIGroupList", "groups": []})), None);
    }
}
