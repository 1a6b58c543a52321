//! Subscriptions: a reference watch is open as long as a run's result depends on it.
//!
//! Each namespace of a kind that runs read has a watch of its own. From [`MAX_NAMESPACE_WATCHES`] on, one
//! watch over all namespaces takes their place, because each watch is a connection. It stays open until
//! nothing subscribes to the kind any more.

use std::fmt;
use std::sync::{Arc, Weak};

use super::claims::RemainingClaims;
use super::registry::WatchRegistry;
use super::running_watch::Watch;
use super::scope::Scope;
use super::spec::Purpose;

/// The maximum number of namespaces of one kind with separate watches.
const MAX_NAMESPACE_WATCHES: usize = 8;

/// A dependency on the objects of a [`Scope`]. Its watch is open as long as a clone of it exists.
#[derive(Clone, Debug)]
pub struct Subscription {
    claim: Option<Arc<Claim>>,
    is_watched: bool,
}

impl Subscription {
    /// A subscription to a watch that stays open by itself: one over custom resources or children.
    pub fn permanent() -> Self {
        Self {
            claim: None,
            is_watched: true,
        }
    }

    /// A subscription that no watch serves, because the kind cannot be watched.
    pub fn unwatched() -> Self {
        Self {
            claim: None,
            is_watched: false,
        }
    }

    /// Returns whether listeners get the next change. A watch without permission to list stays open: it
    /// serves the subscription as soon as the permission is granted.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Returns the scope whose watch the subscription keeps open.
    pub fn scope(&self) -> Option<&Scope> {
        self.claim.as_deref().map(|claim| &claim.scope)
    }

    pub(in crate::cluster) fn without_watch(self) -> Self {
        Self {
            is_watched: false,
            ..self
        }
    }
}

/// The state that the clones of a subscription share. Dropping it ends the subscription to its scope.
struct Claim {
    scope: Scope,
    registry: Weak<WatchRegistry>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claim").field(&self.scope).finish()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.unsubscribe(&self.scope);
        }
    }
}

impl WatchRegistry {
    /// Subscribes to a scope; its watch opens with [`WatchRegistry::reference_watch`].
    pub(in crate::cluster) fn subscribe(self: &Arc<Self>, scope: Scope) -> Subscription {
        self.claims.lock().add(&scope);
        let registry = Arc::downgrade(self);
        let claim = Arc::new(Claim { scope, registry });
        Subscription {
            claim: Some(claim),
            is_watched: true,
        }
    }

    /// Returns the watch that serves a scope, and starts it if there is none. Only a subscription keeps it
    /// open.
    pub(in crate::cluster) fn reference_watch(&self, scope: &Scope) -> Arc<Watch> {
        let all = Scope {
            namespace: None,
            ..scope.clone()
        };
        if scope.namespace.is_none() {
            return self.watch(all.spec());
        }
        if let Some(all) = self.find(&all.spec()).filter(|all| all.is_complete()) {
            if self.find(&scope.spec()).is_some() {
                self.close(&scope.spec());
            }
            return all;
        }
        let single = self.watch(scope.spec());
        if self.may_watch_all_namespaces()
            && self.reference_watches(&scope.gvk).len() > MAX_NAMESPACE_WATCHES
        {
            self.watch(all.spec());
        }
        single
    }

    /// Closes the watches that no subscription needs since the claim on a scope was dropped.
    fn unsubscribe(&self, scope: &Scope) {
        let closed = {
            let mut claims = self.claims.lock();
            let is_unused = match claims.remove(scope) {
                RemainingClaims::Scope => return,
                RemainingClaims::Kind => false,
                RemainingClaims::Nothing => true,
            };
            // Closed under the lock, so that a subscription that begins now opens a new watch.
            self.remove(&scope.gvk, |watch| {
                let is_single =
                    scope.namespace.is_some() && watch.spec.namespace == scope.namespace;
                watch.spec.purpose == Purpose::Reference && (is_unused || is_single)
            })
        };
        for watch in closed {
            self.end(&watch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::discovery::Discovery;
    use crate::cluster::{Settings, transport};
    use crate::model::Gvk;
    use tower::BoxError;

    /// Creates a registry whose server never answers.
    fn mk_registry() -> Arc<WatchRegistry> {
        let silent = tower::service_fn(|_request: http::Request<kube::client::Body>| async {
            std::future::pending::<Result<_, BoxError>>().await
        });
        let transport = transport::boxed(silent);
        let settings = Settings::default();
        let discovery = Arc::new(Discovery::new(transport.clone(), settings.clone()));
        Arc::new(WatchRegistry::new(transport, settings, discovery))
    }

    fn mk_scope(kind: &str, namespace: Option<&str>) -> Scope {
        Scope {
            gvk: Gvk::new("", "v1", kind),
            namespace: namespace.map(Arc::from),
        }
    }

    fn open(registry: &Arc<WatchRegistry>, scope: &Scope) -> Subscription {
        let subscription = registry.subscribe(scope.clone());
        registry.reference_watch(scope);
        subscription
    }

    #[tokio::test]
    async fn a_watch_closes_with_its_last_subscription() {
        let registry = mk_registry();
        let (secrets, maps) = (
            mk_scope("Secret", Some("a")),
            mk_scope("ConfigMap", Some("a")),
        );
        let first = open(&registry, &secrets);
        let (second, again) = (open(&registry, &secrets), first.clone());
        let _other = open(&registry, &maps);
        assert_eq!(registry.all().len(), 2, "repeated reads share a watch");
        let watch = registry.find(&secrets.spec()).unwrap();
        drop((first, second));
        assert!(registry.find(&secrets.spec()).is_some());
        drop(again);
        assert!(registry.find(&secrets.spec()).is_none());
        assert!(watch.stop.is_cancelled());
        assert!(registry.find(&maps.spec()).is_some());
        let _reopened = open(&registry, &secrets);
        assert!(registry.find(&secrets.spec()).is_some());
    }

    #[tokio::test]
    async fn one_watch_over_all_namespaces_serves_a_kind_that_many_namespaces_read() {
        let registry = mk_registry();
        let names: Vec<String> = (0..=MAX_NAMESPACE_WATCHES).map(|n| n.to_string()).collect();
        let scopes = names.iter().map(|name| mk_scope("Secret", Some(name)));
        let mut open: Vec<_> = scopes.map(|scope| open(&registry, &scope)).collect();
        let all = mk_scope("Secret", None).spec();
        assert!(registry.find(&all).is_some());
        let last = open.pop();
        drop(open);
        assert!(registry.find(&all).is_some(), "the last namespace needs it");
        drop(last);
        assert!(registry.all().is_empty());
    }
}
