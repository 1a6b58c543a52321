//! What belongs to a custom resource: the objects with its label, and how their kinds are found.

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

/// Lists at one time: the server has others to serve while we start.
const LISTS_AT_ONCE: usize = 4;

/// The children of a custom resource that the caches hold, each once: what may be deleted for it.
///
/// The label finds them and proves nothing: controllers copy labels (a Service's go to its
/// `EndpointSlices`), and whoever may patch an object can set one. A child names the custom resource as
/// its controller, as garbage collection wants it. Where the API allows no such reference, the custom
/// resource lists the child, and the child was written by our field manager or names the custom resource
/// in an annotation.
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

/// Those of the children that owner references cannot reach.
pub(super) fn unreachable_children(cluster: &Cluster, owner: &Owner) -> Vec<Arc<Object>> {
    let mut children = children(cluster, owner);
    children.retain(|child| !owner.can_be_referenced_from(child.namespace.as_deref()));
    children
}

/// The sweep of a process: done once, before anything is pruned or cleaned up. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ChildKindDiscovery(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    begun: AtomicBool,
    done: OnceCell<()>,
}

impl ChildKindDiscovery {
    /// Begins the work beside whatever goes on, so that nobody has to wait for all of it later.
    pub fn start(&self, cluster: &Cluster) {
        // Read first: this is asked before each run.
        let progress = &self.0;
        if progress.begun.load(Ordering::Relaxed) || progress.begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let (sweep, cluster) = (self.clone(), cluster.clone());
        let work = async move {
            if let Err(error) = sweep.done(&cluster).await {
                // Whoever needs it tries again, and says so.
                let error = PublicText::outside_runs(error);
                log::debug!("cannot look for children of all kinds", error = error);
            }
        };
        tokio::spawn(work.in_current_span());
    }

    /// Returns when the caches hold all kinds of children; whoever comes first does the work.
    pub async fn done(&self, cluster: &Cluster) -> Result<(), cluster::Error> {
        let work = || async {
            let found = discover_child_kinds(cluster, cluster.namespaces()).await?;
            log::debug!("looked for children of all kinds", kinds = found.len());
            Ok(())
        };
        self.0.done.get_or_try_init(work).await.copied()
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
