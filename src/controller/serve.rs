//! Starts and stops serving kinds: at start, and when the project changes.

use std::sync::Arc;

use tracing::Instrument;

use super::kinds::ServedKind;
use super::shared::{Controller, Shared};
use crate::cluster::watch::{Content, Purpose, WatchSpec};
use crate::model::redact::PublicText;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, ObjectRef, Reason};
use crate::reconcile;
use crate::role::{Project, Roles};
use crate::telemetry::log;
use crate::watches::{Namespaces, Watch};

impl Controller {
    /// Starts to serve a project. Reconciles CRs whose watch or role changed. Releases the finalizers of
    /// CRs whose watch was removed, or whose selector no longer selects them.
    pub async fn serve(&self, project: &Project) {
        let shared = &self.0;
        for served in shared.kinds.all() {
            if !project
                .watches
                .iter()
                .any(|watch| watch.gvk == served.watch.gvk)
            {
                shared.stop_kind(&served);
            }
        }
        for watch in &project.watches {
            match shared.kinds.by_gvk(&watch.gvk) {
                None => shared.start_kind(watch, &project.roles).await,
                Some(served) => shared.replace_kind(&served, watch, &project.roles).await,
            }
        }
    }
}

impl Shared {
    async fn start_kind(self: &Arc<Self>, watch: &Arc<Watch>, roles: &Arc<Roles>) {
        let name = format!("{}-controller", watch.gvk.kind.to_lowercase());
        let metrics = self.metrics.controller(&name);
        // Closed until the first list is complete.
        let id = self.queue.add_kind(0, metrics.clone());
        let served = ServedKind::new(id, Arc::clone(watch), Arc::clone(roles), metrics);
        let served = Arc::new(served);
        self.kinds.put(Arc::clone(&served));
        self.start_caches(&served).await;
    }

    async fn start_caches(&self, served: &ServedKind) {
        let specs = self.specs(&served.watch).await;
        let caches = specs
            .into_iter()
            .map(|spec| self.context.cluster.watch(spec))
            .collect();
        served.set_caches(caches);
        // The lists may be complete already.
        for cache in served.caches() {
            self.health.set_state(&cache, &cache.state());
        }
        self.open_queue(served);
    }

    async fn specs(&self, watch: &Watch) -> Vec<WatchSpec> {
        let spec = |namespace: Option<Arc<str>>| WatchSpec {
            gvk: watch.gvk.clone(),
            namespace,
            labels: watch.selector.clone().unwrap_or_default(),
            content: Content::Full,
            purpose: Purpose::Primary,
        };
        match &watch.namespaces {
            Namespaces::Only(names) if self.is_namespaced(&watch.gvk).await => names
                .iter()
                .map(|name| spec(Some(name.as_str().into())))
                .collect(),
            _ => vec![spec(None)],
        }
    }

    /// Returns whether a kind is namespaced. Assumes this of a kind that is not installed yet, because
    /// most kinds are.
    async fn is_namespaced(&self, gvk: &Gvk) -> bool {
        let kind = self.context.cluster.kind(gvk).await;
        kind.ok().flatten().is_none_or(|kind| kind.namespaced)
    }

    async fn replace_kind(
        self: &Arc<Self>,
        old: &Arc<ServedKind>,
        watch: &Arc<Watch>,
        roles: &Arc<Roles>,
    ) {
        let same_watch = is_equal_ignoring_position(&old.watch, watch);
        if same_watch && same_roles(&old.roles, roles) {
            // Roles of other watches may have changed. Later includes use them.
            self.kinds
                .put(Arc::new(old.with(Arc::clone(watch), Arc::clone(roles))));
            return;
        }
        let new = Arc::new(old.with(Arc::clone(watch), Arc::clone(roles)));
        self.kinds.put(Arc::clone(&new));
        let moved =
            old.watch.selector != watch.selector || old.watch.namespaces != watch.namespaces;
        if moved {
            self.replace_caches(old, &new).await;
        } else {
            self.open_queue(&new);
        }
        for key in self.index.read().keys(|key| key.kind == new.id) {
            self.queue.add(&key, Reason::Role, 0);
        }
    }

    /// Replaces the caches after a change of the selector or the namespaces, and releases the finalizers of
    /// custom resources that they no longer select.
    async fn replace_caches(self: &Arc<Self>, old: &ServedKind, new: &Arc<ServedKind>) {
        let former = old.caches();
        self.start_caches(new).await;
        for cache in new.caches() {
            // The watch is forbidden or absent, which its state reports. The unselected CRs are not known.
            let _ = cache.synced().await;
        }
        for cache in former {
            if new.caches().iter().any(|kept| kept.spec() == cache.spec()) {
                continue;
            }
            for cr in cache.list(None, &LabelSelector::default()) {
                let key = new.key(&cr);
                if new.is_synced() && new.get(&key).is_none() {
                    self.forget(&key);
                    self.release_finalizers(cr.object_ref(), cr.uid.clone());
                }
            }
            self.context.cluster.close(cache.spec());
        }
    }

    fn stop_kind(self: &Arc<Self>, served: &ServedKind) {
        self.kinds.remove(&served.watch.gvk);
        self.queue.set_limit(served.id, 0);
        for cache in served.caches() {
            for cr in cache.list(None, &LabelSelector::default()) {
                self.forget(&served.key(&cr));
                self.release_finalizers(cr.object_ref(), cr.uid.clone());
            }
            self.context.cluster.close(cache.spec());
        }
    }

    /// Releases the finalizers of a custom resource that is no longer served, unless it is deleted.
    pub(super) fn release_finalizers(self: &Arc<Self>, cr: ObjectRef, uid: Box<str>) {
        let shared = Arc::clone(self);
        let chore = async move {
            let context = &shared.context;
            let released = match context.cluster.get(&cr).await {
                Ok(Some(live)) if live.uid == uid => reconcile::release(context, &live).await,
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = released {
                let error = PublicText::outside_runs(error);
                log::warn!("cannot release finalizers", object = cr, error = error);
            }
        };
        let mut chores = self.background_tasks.lock();
        while chores.try_join_next().is_some() {}
        chores.spawn(chore.in_current_span());
    }

    pub(super) fn limit_of(&self, watch: &Watch) -> usize {
        watch
            .max_concurrent
            .map_or(self.settings.max_concurrent, usize::from)
    }
}

fn is_equal_ignoring_position(old: &Watch, new: &Watch) -> bool {
    let moved = Watch {
        position: old.position,
        ..new.clone()
    };
    *old == moved
}

/// Returns whether the roles of a watch are unchanged: its own, its finalizer's, and all roles that these
/// can include, because the included ones are known only in a run.
fn same_roles(old: &Arc<Roles>, new: &Arc<Roles>) -> bool {
    let digests = |roles: &Roles| -> Vec<(Arc<str>, u64)> {
        roles
            .iter()
            .map(|(name, role)| (Arc::clone(name), role.digest))
            .collect()
    };
    digests(old) == digests(new)
}
