//! Finds the children of a custom resource, and the kinds of which children exist.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::OnceCell;
use tracing::Instrument;

use super::Owner;
use crate::cluster::request::ListQuery;
use crate::cluster::{self, Cluster};
use crate::model::annotations::{OWNER_LABEL, PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE};
use crate::model::field_selector::FieldSelector;
use crate::model::owner::FIELD_MANAGER_PREFIX;
use crate::model::redact::PublicText;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object};
use crate::telemetry::log;

/// Maximum number of concurrent list requests. The server has other clients at the start of an
/// operator.
const LISTS_AT_ONCE: usize = 4;

/// Returns the children of a custom resource from the caches: the objects that may be deleted for it.
///
/// The label selects them, but proves nothing: controllers copy labels (from a Service to its
/// `EndpointSlices`), and anyone who may patch an object can set one. A child must name the custom
/// resource as its controller, as garbage collection requires. Where the API allows no such reference,
/// the custom resource must list the child, and either our field manager wrote the child, or its
/// annotation names the custom resource.
pub(super) fn children(cluster: &Cluster, owner: &Owner) -> Vec<Arc<Object>> {
    let mut seen = BTreeSet::new();
    let mut children = cluster.owned_by(&owner.uid);
    children.retain(|child| is_child(owner, child) && seen.insert(child.uid.clone()));
    children
}

fn is_child(owner: &Owner, object: &Object) -> bool {
    let details = object.details();
    let mut references = details.owner_references.iter();
    let controller = references.find(|reference| reference.controller);
    if owner.can_be_referenced_from(object.namespace.as_deref()) {
        return controller.is_some_and(|controller| controller.uid == *owner.uid);
    }
    let annotated = |key: &str, value: String| details.annotations.get(key) == Some(&value);
    let is_marked = object.managed_by(&owner.manager, None).next().is_some()
        || annotated(PRIMARY_RESOURCE, owner.namespaced_name())
            && annotated(PRIMARY_RESOURCE_TYPE, owner.cr.gvk.kind_group());
    controller.is_none() && is_marked && owner.listed_children.contains(&object.object_ref())
}

/// Returns the children that owner references cannot reach.
pub(super) fn unreachable_children(cluster: &Cluster, owner: &Owner) -> Vec<Arc<Object>> {
    let mut children = children(cluster, owner);
    children.retain(|child| !owner.can_be_referenced_from(child.namespace.as_deref()));
    children
}

/// The discovery of all kinds of which children exist. It completes once per process, before the first
/// prune or cleanup. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ChildKindDiscovery(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    begun: AtomicBool,
    done: OnceCell<()>,
}

impl ChildKindDiscovery {
    /// Starts the discovery in the background, so that a later run does not wait for all of it.
    pub fn start(&self, cluster: &Cluster) {
        // The load comes first, because this function is called before each run.
        let progress = &self.0;
        if progress.begun.load(Ordering::Relaxed) || progress.begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let (sweep, cluster) = (self.clone(), cluster.clone());
        let work = async move {
            if let Err(error) = sweep.done(&cluster).await {
                // A run that needs the result tries again and reports the error.
                let error = PublicText::outside_runs(error);
                log::debug!("cannot discover the kinds of children", error = error);
            }
        };
        tokio::spawn(work.in_current_span());
    }

    /// Waits until the caches hold the children of all kinds. The first caller does the work.
    pub async fn done(&self, cluster: &Cluster) -> Result<(), cluster::Error> {
        let work = || async {
            let found = discover_child_kinds(cluster, cluster.namespaces()).await?;
            log::debug!("discovered the kinds of children", kinds = found.len());
            Ok(())
        };
        self.0.done.get_or_try_init(work).await.copied()
    }
}

/// Starts a watch on each kind of which children exist, including kinds that no role applies any more,
/// and waits until the caches hold these children.
///
/// # Flow
/// A review of the operator's own rules returns the kinds that it may list and delete, so that no
/// request is refused. Each kind is listed once, metadata only, with a label selector.
///
/// `namespaces` limits the search; `None` means all namespaces.
pub async fn discover_child_kinds(
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
        let rules = cluster.rules(scope.as_deref()).await?;
        let candidates = kinds
            .iter()
            .filter(|kind| scope.is_none() || kind.namespaced)
            .filter(|kind| {
                ["list", "delete"]
                    .iter()
                    .all(|verb| rules.allows(kind, verb))
            });
        // Owned values: a future with borrows inside a stream cannot be spawned.
        let lists: Vec<_> = candidates
            .map(|kind| has_children(cluster.clone(), kind.gvk.clone(), scope.clone()))
            .collect();
        let lists = stream::iter(lists).buffered(LISTS_AT_ONCE);
        let present: Vec<Option<Gvk>> = lists.try_collect().await?;
        for gvk in present.into_iter().flatten() {
            // The state of the watch is reported elsewhere; this call only fills its cache.
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
        // The kind was removed, or an aggregated API server does not support lists: it has no children.
        Err(error) if !error.retryable => return Ok(None),
        Err(error) => return Err(error),
    };
    let ours = |object: &Arc<Object>| {
        let mut managers = object.managed.iter().map(|entry| &entry.manager);
        managers.any(|manager| manager.starts_with(FIELD_MANAGER_PREFIX))
    };
    Ok(objects.iter().any(ours).then_some(gvk))
}
