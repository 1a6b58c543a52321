//! Finds custom resources with finalizers of this operator that no watch selects any more.
//!
//! The list requests select these custom resources by the label that [`super::finalizer`] sets. The
//! label names the operator, so that the finalizers of other operators are not touched.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::finalizer::own_finalizers;
use crate::cluster::request::ListQuery;
use crate::cluster::{self, ApiKind, Cluster, ErrorKind, Rules};
use crate::model::annotations::HELD_BY_LABEL;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::{LabelSelector, Operator, Requirement};
use crate::model::{Gvk, Object, OperatorId};

/// The namespaces to search; `None` for all.
pub(crate) type NamespaceScope<'a> = Option<&'a BTreeSet<Arc<str>>>;

/// Returns objects of a kind that have finalizers of this operator and do not match the selector. Reads
/// metadata only.
pub(crate) async fn unselected(
    cluster: &Cluster,
    holder: &OperatorId,
    gvk: &Gvk,
    places: NamespaceScope<'_>,
    selector: &LabelSelector,
) -> Result<Vec<Arc<Object>>, cluster::Error> {
    let mut found = Vec::new();
    for labels in selector.negations() {
        for namespace in scopes(places) {
            found.extend(
                list_with_finalizers(cluster, holder, gvk, namespace, labels.clone()).await?,
            );
        }
    }
    found.retain(|object: &Arc<Object>| !selector.matches(|key| object.label(key)));
    Ok(found)
}

/// Returns objects with finalizers of this operator whose kinds are not among those `served`.
///
/// Searches two groups of kinds: custom kinds that the operator may list and patch, and built-in kinds
/// that its RBAC rules name explicitly. A rule for `*` does not count for built-in kinds, so that an
/// operator with administrator rights does not list all Pods.
pub(crate) async fn unwatched_kinds(
    cluster: &Cluster,
    holder: &OperatorId,
    served: &[Gvk],
) -> Result<Vec<Arc<Object>>, cluster::Error> {
    let kinds = cluster.kinds().await?;
    let places = cluster.namespaces();
    let mut found = Vec::new();
    for namespace in scopes(places) {
        let rules = cluster.rules(namespace.as_deref()).await?;
        let searched = kinds.iter().filter(|kind| {
            let in_scope = namespace.is_none() || kind.namespaced;
            in_scope && is_searched(kind, &rules) && !served.iter().any(|s| s.same_kind(&kind.gvk))
        });
        for kind in searched {
            let all = LabelSelector::default();
            found.extend(
                list_with_finalizers(cluster, holder, &kind.gvk, namespace.clone(), all).await?,
            );
        }
    }
    Ok(found)
}

fn scopes(places: NamespaceScope<'_>) -> Vec<Option<Arc<str>>> {
    match places {
        None => vec![None],
        Some(names) => names.iter().cloned().map(Some).collect(),
    }
}

fn is_searched(kind: &ApiKind, rules: &Rules) -> bool {
    let allowed = ["list", "patch"]
        .iter()
        .all(|verb| rules.allows(kind, verb));
    allowed && (is_custom(&kind.gvk.group) || rules.names(kind))
}

/// Returns whether a group is not reserved for Kubernetes: those without a dot and those below k8s.io
/// are.
fn is_custom(group: &str) -> bool {
    group.contains('.') && !group.ends_with(".k8s.io")
}

async fn list_with_finalizers(
    cluster: &Cluster,
    holder: &OperatorId,
    gvk: &Gvk,
    namespace: Option<Arc<str>>,
    labels: LabelSelector,
) -> Result<Vec<Arc<Object>>, cluster::Error> {
    let by_us = Requirement::new(HELD_BY_LABEL, Operator::In, [holder.as_str()]);
    let query = ListQuery {
        gvk: gvk.clone(),
        namespace,
        labels: labels.and(by_us),
        fields: FieldSelector::default(),
    };
    let mut found = match cluster.list_metadata(&query).await {
        // The kind or the permission was removed: nothing can be released.
        Err(error) if !error.retryable && error.kind != ErrorKind::Cancelled => {
            return Ok(Vec::new());
        }
        answer => answer?,
    };
    // A label can be copied, so the manager of the finalizers counts.
    found.retain(|object| !own_finalizers(object).is_empty());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_groups_have_a_domain_of_their_own() {
        for group in ["example.com", "kmm.sigs.x-k8s.io"] {
            assert!(is_custom(group), "{group}");
        }
        for group in ["", "apps", "rbac.authorization.k8s.io", "events.k8s.io"] {
            assert!(!is_custom(group), "{group}");
        }
    }
}
