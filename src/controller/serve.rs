//! Starts and stops serving kinds: at start, and when the project changes.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use super::kinds::ServedKind;
use super::shared::{Controller, Shared};
use crate::backoff::Backoff;
use crate::clock;
use crate::cluster::watch::{Content, Purpose, WatchSpec};
use crate::model::redact::PublicText;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, ObjectRef, Reason};
use crate::reconcile;
use crate::role::{Project, Roles};
use crate::telemetry::log;
use crate::watches::{Namespaces, Watch};

/// The backoff of requests that find out whether a kind is namespaced.
const SCOPE_UNKNOWN: Backoff = Backoff {
    initial: Duration::from_secs(1),
    max: Duration::from_mins(1),
    jitter: 0.2,
};

impl Controller {
    /// Starts to serve a project. Reconciles CRs whose watch or role changed. Releases the finalizers of
    /// CRs whose watch was removed, or whose selector no longer selects them.
    pub(crate) async fn serve(&self, project: &Project) {
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
        self.check_limit(watch);
        let name = format!("{}-controller", watch.gvk.kind.to_lowercase());
        let metrics = self.metrics.controller(&name);
        // Closed until the first list is complete.
        let id = self.queue.add_kind(0, metrics.clone());
        let served = ServedKind::new(id, Arc::clone(watch), Arc::clone(roles), metrics);
        let served = Arc::new(served);
        self.kinds.put(Arc::clone(&served));
        self.start_caches(&served).await;
    }

    async fn start_caches(self: &Arc<Self>, served: &Arc<ServedKind>) {
        let is_namespaced = match &served.watch.namespaces {
            Namespaces::Only(_) => self.is_namespaced(&served.watch.gvk).await,
            Namespaces::All => Some(true),
        };
        self.open_caches(served, is_namespaced.unwrap_or(true));
        if is_namespaced.is_none() {
            self.follow_scope(&served.watch.gvk);
        }
    }

    fn open_caches(&self, served: &ServedKind, is_namespaced: bool) {
        let specs = specs(&served.watch, is_namespaced).into_iter();
        let caches = specs.map(|spec| self.context.cluster.watch(spec)).collect();
        served.set_caches(caches);
        // The lists may be complete already.
        for cache in served.caches() {
            self.health.set_state(&cache, &cache.state());
        }
        self.open_queue(served);
    }

    /// Returns whether a kind is namespaced; `None` if it is not installed yet, or if the server does not
    /// answer.
    async fn is_namespaced(&self, gvk: &Gvk) -> Option<bool> {
        match self.context.cluster.kind(gvk).await {
            Ok(kind) => kind.map(|kind| kind.namespaced),
            Err(error) => {
                log::warn!(
                    "cannot find out whether a kind is namespaced",
                    kind = PublicText::outside_runs(gvk),
                    error = PublicText::outside_runs(error)
                );
                None
            }
        }
    }

    /// Waits until it is known whether a kind is namespaced, and replaces the caches of namespaces if it is
    /// not. Until then it counts as namespaced, because most kinds are.
    fn follow_scope(self: &Arc<Self>, gvk: &Gvk) {
        let (shared, gvk) = (Arc::downgrade(self), gvk.clone());
        let chore = async move {
            for failures in 1.. {
                clock::sleep(SCOPE_UNKNOWN.delay(failures)).await;
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                let Some(served) = shared.kinds.by_gvk(&gvk) else {
                    return;
                };
                let scopes = served.caches();
                match shared.is_namespaced(&gvk).await {
                    None => continue,
                    Some(true) => return,
                    Some(false) => {}
                }
                shared.open_caches(&served, false);
                shared.open_queue(&served);
                for cache in scopes.iter().filter(|it| it.spec().namespace.is_some()) {
                    shared.context.cluster.close(cache.spec());
                }
                return;
            }
        };
        self.start_chore(chore);
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
        self.check_limit(watch);
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
        self.start_chore(chore);
    }

    fn start_chore(&self, chore: impl Future<Output = ()> + Send + 'static) {
        let mut chores = self.background_tasks.lock();
        while chores.try_join_next().is_some() {}
        chores.spawn(chore.in_current_span());
    }

    /// Warns of a watch that allows more runs than the process has threads. The threads are counted at the
    /// start, so this happens only after a reload.
    fn check_limit(&self, watch: &Watch) {
        let (limit, total) = (self.limit_of(watch), self.settings.total);
        if limit > total {
            log::warn!(
                "maxConcurrentReconciles has its full effect after a restart",
                kind = PublicText::outside_runs(&watch.gvk),
                wanted = limit,
                now = total
            );
        }
    }

    pub(super) fn limit_of(&self, watch: &Watch) -> usize {
        watch
            .max_concurrent
            .map_or(self.settings.max_concurrent, usize::from)
    }
}

/// Returns the specifications of the caches of a watch: one for each namespace, or one for all objects.
fn specs(watch: &Watch, is_namespaced: bool) -> Vec<WatchSpec> {
    let spec = |namespace: Option<Arc<str>>| WatchSpec {
        gvk: watch.gvk.clone(),
        namespace,
        labels: watch.selector.clone().unwrap_or_default(),
        content: Content::Full,
        purpose: Purpose::Primary,
    };
    match &watch.namespaces {
        Namespaces::Only(names) if is_namespaced => names
            .iter()
            .map(|name| spec(Some(name.as_str().into())))
            .collect(),
        _ => vec![spec(None)],
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
