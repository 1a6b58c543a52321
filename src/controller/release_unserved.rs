//! Releases the finalizers of custom resources that this operator no longer serves: they left the selector, or
//! their watch was removed, while no operator ran.
//!
//! No other work depends on this, so it begins after the first lists and sends one request at a time. If
//! no watch has a selector, it checks only kinds that are not watched.

use std::sync::Arc;

use super::shared::Shared;
use crate::apply::orphaned_finalizers;
use crate::backoff::Backoff;
use crate::model::redact::PublicText;
use crate::model::{Gvk, Object, OperatorId};
use crate::telemetry::log;
use crate::watches::{Namespaces, Watch};
use crate::{clock, cluster, reconcile};

impl Shared {
    /// Releases finalizers once, with retries until the server answers.
    pub(super) async fn release_unserved(self: Arc<Self>) {
        let Some(holder) = self.context.holder.clone() else {
            return;
        };
        for served in self.kinds.all() {
            for cache in served.caches() {
                // An absent or forbidden kind has no objects to check.
                let _ = cache.synced().await;
            }
        }
        for failures in 1.. {
            match self.try_release_unserved(&holder).await {
                Ok(()) => return,
                Err(error) if error.retryable => {
                    let error = PublicText::outside_runs(error);
                    log::debug!(
                        "cannot list objects with finalizers to release: retrying",
                        error = error
                    );
                    clock::sleep(Backoff::RECONCILE.delay(failures)).await;
                }
                Err(error) => {
                    let error = PublicText::outside_runs(error);
                    log::warn!(
                        "cannot list objects with finalizers to release",
                        error = error
                    );
                    return;
                }
            }
        }
    }

    async fn try_release_unserved(&self, holder: &OperatorId) -> Result<(), cluster::Error> {
        let cluster = &self.context.cluster;
        let served = self.kinds.all();
        for served in &served {
            let Watch {
                gvk,
                selector,
                namespaces,
                ..
            } = &*served.watch;
            let Some(selector) = selector else { continue };
            let places = match namespaces {
                Namespaces::All => None,
                Namespaces::Only(names) => Some(names.iter().map(|name| (**name).into()).collect()),
            };
            let lost =
                orphaned_finalizers::unselected(cluster, holder, gvk, places.as_ref(), selector)
                    .await?;
            self.release_all(&lost).await?;
        }
        let kinds: Vec<Gvk> = served.iter().map(|it| it.watch.gvk.clone()).collect();
        let lost = orphaned_finalizers::unwatched_kinds(cluster, holder, &kinds).await?;
        self.release_all(&lost).await
    }

    async fn release_all(&self, lost: &[Arc<Object>]) -> Result<(), cluster::Error> {
        for cr in lost {
            // The project may have changed since the list was requested.
            if self.serves(cr) {
                continue;
            }
            let object = cr.object_ref();
            match reconcile::release(&self.context, cr).await {
                Ok(()) => log::info!(
                    "finalizers released: no watch covers the object",
                    object = object
                ),
                Err(error) if error.retryable => return Err(error),
                Err(error) => {
                    let error = PublicText::outside_runs(error);
                    log::warn!("cannot release finalizers", object = object, error = error);
                }
            }
        }
        Ok(())
    }

    /// Returns whether the operator reconciles an object.
    fn serves(&self, object: &Object) -> bool {
        let selects = |watch: &Watch| {
            let selector = watch.selector.as_ref();
            watch.gvk.same_kind(&object.gvk)
                && watch.namespaces.contains(object.namespace.as_deref())
                && selector.is_none_or(|it| it.matches(|key| object.label(key)))
        };
        self.kinds.all().iter().any(|served| selects(&served.watch))
    }
}
