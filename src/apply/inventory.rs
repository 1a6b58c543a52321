//! What belongs to a custom resource: the objects with its label, and how their kinds are found.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OnceCell;

use super::Owner;
use crate::cluster::request::{ListQuery, WriteOptions};
use crate::cluster::{self, ApiKind, Cluster};
use crate::model::annotations::OWNER_LABEL;
use crate::model::field_selector::FieldSelector;
use crate::model::owner::FIELD_MANAGER_PREFIX;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object};

/// Lists at one time: the server has others to serve while we start.
const LISTS_AT_ONCE: usize = 4;
/// No namespace is called so: the rules of a review in it are those that hold in every namespace.
const NO_NAMESPACE: &str = "rhai-operator-none";

/// The children of a custom resource that the caches hold, each once.
///
/// The label alone is no proof: controllers copy labels (a Service's go to its `EndpointSlices`). A
/// child is what our manager wrote, or what names the custom resource as an owner.
pub(super) fn children(cluster: &Cluster, owner: &Owner) -> Vec<Arc<Object>> {
    let mut seen = BTreeSet::new();
    let mut children = cluster.owned_by(&owner.uid);
    children.retain(|child| is_child(owner, child) && seen.insert(child.uid.clone()));
    children
}

fn is_child(owner: &Owner, object: &Object) -> bool {
    object.managed_by(&owner.manager, None).next().is_some() || is_referenced(owner, object)
}

/// Whether the garbage collector will take the object when the custom resource is gone.
pub(super) fn is_referenced(owner: &Owner, object: &Object) -> bool {
    let references = object.details().owner_references;
    references
        .iter()
        .any(|reference| reference.uid == *owner.uid)
}

/// The sweep of a process: done once, before anything is pruned or cleaned up. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Sweep(Arc<OnceCell<()>>);

impl Sweep {
    /// Returns when the caches hold all kinds of children; whoever comes first does the work.
    pub async fn done(&self, cluster: &Cluster) -> Result<(), cluster::Error> {
        let work = || async {
            let found = sweep(cluster, cluster.namespaces()).await?;
            tracing::debug!(kinds = found.len(), "looked for children of all kinds");
            Ok(())
        };
        self.0.get_or_try_init(work).await.copied()
    }
}

/// Starts a watch over every kind of which there are children, also those that no role applies any
/// more, and waits until they are in the caches.
///
/// # Flow
/// A review of our own rules tells which kinds we may list and delete; nothing is learnt by being
/// refused. Each is listed once, metadata only, by the server's label filter.
///
/// `namespaces`: where children can be; `None` for everywhere.
pub async fn sweep(
    cluster: &Cluster,
    namespaces: Option<&BTreeSet<Arc<str>>>,
) -> Result<Vec<Gvk>, cluster::Error> {
    let kinds = cluster.kinds().await?;
    let scopes: Vec<Option<Arc<str>>> = match namespaces {
        None => vec![None],
        Some(names) => names.iter().cloned().map(Some).collect(),
    };
    let mut found = BTreeSet::new();
    for scope in scopes {
        let rules = rules(cluster, scope.as_deref()).await?;
        let candidates = kinds
            .iter()
            .filter(|kind| scope.is_none() || kind.namespaced)
            .filter(|kind| {
                ["list", "delete"]
                    .iter()
                    .all(|verb| rules.allow(kind, verb))
            });
        // Owned, because what is borrowed inside a stream makes its future impossible to spawn.
        let lists: Vec<_> = candidates
            .map(|kind| has_children(cluster.clone(), kind.gvk.clone(), scope.clone()))
            .collect();
        let lists = stream::iter(lists).buffered(LISTS_AT_ONCE);
        let present: Vec<Option<Gvk>> = lists.try_collect().await?;
        for gvk in present.into_iter().flatten() {
            // Whether the watch works is said where its state is; here its cache is only filled.
            let _ = cluster.children(&gvk, scope.as_deref()).synced().await;
            found.insert(gvk);
        }
    }
    Ok(found.into_iter().collect())
}

async fn has_children(
    cluster: Cluster,
    gvk: Gvk,
    namespace: Option<Arc<str>>,
) -> Result<Option<Gvk>, cluster::Error> {
    let query = ListQuery {
        gvk: gvk.clone(),
        namespace,
        labels: LabelSelector::exists(OWNER_LABEL),
        fields: FieldSelector::default(),
    };
    let objects = match cluster.list_metadata(&query).await {
        Ok(objects) => objects,
        // The kind went away, or a server of aggregated kinds does not do it: no children there.
        Err(error) if !error.retryable => return Ok(None),
        Err(error) => return Err(error),
    };
    let ours = |object: &Arc<Object>| {
        let mut managers = object.managed.iter().map(|entry| &entry.manager);
        managers.any(|manager| manager.starts_with(FIELD_MANAGER_PREFIX))
    };
    Ok(objects.iter().any(ours).then_some(gvk))
}

/// What we may do, as the server says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rules {
    resource_rules: Vec<Rule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl Rules {
    fn allow(&self, kind: &ApiKind, verb: &str) -> bool {
        let has =
            |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        kind.verbs.iter().any(|served| &**served == verb)
            && self.resource_rules.iter().any(|rule| {
                rule.resource_names.is_empty()
                    && has(&rule.verbs, verb)
                    && has(&rule.api_groups, &kind.gvk.group)
                    && has(&rule.resources, &kind.plural)
            })
    }
}

async fn rules(cluster: &Cluster, namespace: Option<&str>) -> Result<Rules, cluster::Error> {
    #[derive(Deserialize)]
    struct Review {
        #[serde(default)]
        status: Rules,
    }
    let gvk = Gvk::new("authorization.k8s.io", "v1", "SelfSubjectRulesReview");
    let review = json!({
        "apiVersion": gvk.api_version(), "kind": &*gvk.kind,
        "spec": {"namespace": namespace.unwrap_or(NO_NAMESPACE)},
    });
    let body = Bytes::from(review.to_string());
    let answer = cluster
        .create(&gvk, None, body, &WriteOptions::default())
        .await?;
    let review = serde_json::from_str::<Review>(answer.object.json());
    Ok(review.map(|review| review.status).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group: &str, plural: &str) -> ApiKind {
        ApiKind {
            gvk: Gvk::new(group, "v1", "K"),
            plural: plural.into(),
            namespaced: true,
            verbs: ["list", "delete"].map(Into::into).into(),
            has_status: false,
            has_scale: false,
        }
    }

    #[test]
    fn rules_add_up_and_names_do_not_count() {
        let rules: Rules = serde_json::from_value(json!({"resourceRules": [
            {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["*"]},
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["deployments"]},
            {"verbs": ["delete"], "apiGroups": ["apps"], "resources": ["daemonsets"],
             "resourceNames": ["one"]},
        ]}))
        .unwrap();
        let both = |kind: &ApiKind| {
            ["list", "delete"]
                .iter()
                .all(|verb| rules.allow(kind, verb))
        };
        assert!(both(&kind("apps", "deployments")));
        assert!(!both(&kind("apps", "daemonsets")));
        assert!(!both(&kind("", "configmaps")));
    }
}
