//! The kinds that the operator serves, with their settings, roles and caches.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::queue::{Key, KindId};
use crate::cluster::watch;
use crate::model::{Gvk, Object, ObjectRef};
use crate::role::Roles;
use crate::telemetry::metrics;
use crate::watches::Watch;

/// A kind that the operator serves.
pub(super) struct ServedKind {
    pub(super) id: KindId,
    pub(super) watch: Arc<Watch>,
    pub(super) roles: Arc<Roles>,
    pub(super) metrics: metrics::ControllerMetrics,
    /// One cache, or one per namespace.
    caches: RwLock<Vec<Arc<watch::Watch>>>,
}

impl ServedKind {
    pub(super) fn new(
        id: KindId,
        watch: Arc<Watch>,
        roles: Arc<Roles>,
        metrics: metrics::ControllerMetrics,
    ) -> Self {
        Self {
            id,
            watch,
            roles,
            metrics,
            caches: RwLock::default(),
        }
    }

    /// Returns the kind with its caches and other settings.
    pub(super) fn with(&self, watch: Arc<Watch>, roles: Arc<Roles>) -> Self {
        let caches = RwLock::new(self.caches.read().clone());
        let metrics = self.metrics.clone();
        Self {
            id: self.id,
            watch,
            roles,
            metrics,
            caches,
        }
    }

    pub(super) fn set_caches(&self, caches: Vec<Arc<watch::Watch>>) {
        *self.caches.write() = caches;
    }

    pub(super) fn caches(&self) -> Vec<Arc<watch::Watch>> {
        self.caches.read().clone()
    }

    /// Returns the custom resource from the caches.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let caches = self.caches.read();
        caches
            .iter()
            .find_map(|cache| cache.get(key.namespace.as_deref(), &key.name))
    }

    /// Returns whether all its caches are complete.
    pub(super) fn is_synced(&self) -> bool {
        let caches = self.caches.read();
        let synced = |cache: &Arc<watch::Watch>| matches!(cache.state(), watch::WatchState::Synced);
        !caches.is_empty() && caches.iter().all(synced)
    }

    pub(super) fn key(&self, object: &Object) -> Key {
        Key {
            kind: self.id,
            namespace: object.namespace.clone(),
            name: Arc::clone(&object.name),
        }
    }

    pub(super) fn object_ref(&self, key: &Key) -> ObjectRef {
        ObjectRef {
            gvk: self.watch.gvk.clone(),
            namespace: key.namespace.clone(),
            name: Arc::clone(&key.name),
        }
    }

    /// Returns whether changes of a child trigger runs.
    pub(super) fn watches_child(&self, child: &Object) -> bool {
        let watch = &self.watch;
        watch.watch_dependents
            && (watch.watch_cluster_scoped || child.namespace.is_some())
            && !watch.blacklist.iter().any(|gvk| gvk.same_kind(&child.gvk))
    }
}

/// All kinds that the operator serves.
#[derive(Default)]
pub(super) struct ServedKinds(RwLock<KindTables>);

#[derive(Default)]
struct KindTables {
    by_gvk: HashMap<Gvk, Arc<ServedKind>>,
    by_id: HashMap<KindId, Arc<ServedKind>>,
}

impl ServedKinds {
    pub(super) fn by_gvk(&self, gvk: &Gvk) -> Option<Arc<ServedKind>> {
        self.0.read().by_gvk.get(gvk).cloned()
    }

    pub(super) fn by_id(&self, id: KindId) -> Option<Arc<ServedKind>> {
        self.0.read().by_id.get(&id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<ServedKind>> {
        self.0.read().by_id.values().cloned().collect()
    }

    pub(super) fn put(&self, served: Arc<ServedKind>) {
        let mut tables = self.0.write();
        tables
            .by_gvk
            .insert(served.watch.gvk.clone(), Arc::clone(&served));
        tables.by_id.insert(served.id, served);
    }

    pub(super) fn remove(&self, gvk: &Gvk) -> Option<Arc<ServedKind>> {
        let mut tables = self.0.write();
        let served = tables.by_gvk.remove(gvk)?;
        tables.by_id.remove(&served.id)
    }
}
