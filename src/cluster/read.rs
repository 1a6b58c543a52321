//! Cached reads. A read is a subscription: what was read, absence included, is watched from then on.
//!
//! Flow: the watches over CRs and children answer where they hold the object; else a metadata-only
//! watch of the kind and namespace says which version is the current one (or that there is none), and
//! a bounded cache of values holds what was read at that version. Where the kind may be read but not
//! watched, every read is a request, and no subscription.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures::FutureExt;
use twox_hash::XxHash3_64;

use super::error::{Error, ErrorKind, Target};
use super::request::ListQuery;
use super::watch::{Content, Purpose, Watch, WatchSpec, compare};
use super::{ApiKind, Cluster};
use crate::clock;
use crate::model::access::{Access, AccessScope};
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object, ObjectRef};

/// So many namespaces of one kind are watched one by one; beyond, all of them by one watch: each
/// watch is a connection.
const MAX_NAMESPACE_WATCHES: usize = 8;
/// So many stale members of a list are asked for one by one; beyond, the list is.
const MAX_SINGLE_FETCHES: usize = 2;
/// A value that was overtaken while it was read is read again, so many times.
const MAX_ROUNDS: usize = 4;

/// What a read found.
#[derive(Clone, Debug)]
pub struct Read {
    /// The object, `None` if it is absent.
    pub object: Option<Arc<Object>>,
    /// Whether listeners hear of its next change, or none waits for it ([`Cluster::with_live_reads`]).
    pub subscribed: bool,
}

/// What a read of many found.
#[derive(Clone, Debug)]
pub struct ReadList {
    /// The objects, by namespace and name.
    pub objects: Vec<Arc<Object>>,
    /// Whether listeners hear of the next change.
    pub subscribed: bool,
    /// Changes when a member comes, goes or changes; see [`Cluster::list_version`].
    pub version: u64,
}

impl Cluster {
    /// The object, from caches wherever the answer is known.
    pub async fn read(&self, object: &ObjectRef) -> Result<Read, Error> {
        let kind = self.require_kind(&object.gvk).await?;
        let object = kind.scoped(object);
        self.check_read(&kind, "get", object.namespace.as_deref(), &object.name)?;
        if let Some(object) = self.cached(&object) {
            return Ok(Read {
                object,
                subscribed: true,
            });
        }
        let Some(watch) = self.reference(&kind, object.namespace.as_deref()).await? else {
            let object = self.get(&object).await?;
            return Ok(Read {
                object,
                subscribed: self.live_reads,
            });
        };
        for _ in 0..MAX_ROUNDS {
            if let Some(object) = self.cached(&object) {
                return Ok(Read {
                    object,
                    subscribed: true,
                });
            }
            let value = self.fetch_value(&object).await?;
            let seen = watch.get(object.namespace.as_deref(), &object.name);
            let overtaken = |value: &Arc<Object>| {
                seen.is_some_and(|seen| {
                    compare(&seen.resource_version, &value.resource_version).is_gt()
                })
            };
            if !value.as_ref().is_some_and(overtaken) {
                return Ok(Read {
                    object: value,
                    subscribed: true,
                });
            }
        }
        // It changes faster than it is read: whatever is newest, and the watch tells of the next.
        let object = self.get(&object).await?;
        Ok(Read {
            object,
            subscribed: true,
        })
    }

    /// The objects, from caches wherever the answer is known.
    pub async fn read_list(&self, query: &ListQuery) -> Result<ReadList, Error> {
        let kind = self.require_kind(&query.gvk).await?;
        let query = &ListQuery {
            namespace: query.namespace.clone().filter(|_| kind.namespaced),
            ..query.clone()
        };
        let namespace = query.namespace.as_deref();
        let name = query.fields.name().unwrap_or_default();
        self.check_read(&kind, "list", namespace, name)?;
        let Some(watch) = self.reference(&kind, namespace).await? else {
            let objects = self.list(query).await?;
            return Ok(ReadList {
                objects,
                subscribed: self.live_reads,
                version: 0,
            });
        };
        let Some(members) = members(&watch, query) else {
            return self.list_by_version(query, watch.version()).await;
        };
        let version = fingerprint(&members);
        let objects = self.member_values(query, &members).await?;
        Ok(ReadList {
            objects,
            subscribed: true,
            version,
        })
    }

    /// A list whose members only the server can tell: asked for when anything of the kind changed.
    async fn list_by_version(&self, query: &ListQuery, version: u64) -> Result<ReadList, Error> {
        if let Some(objects) = self.shared.values.list(query, version) {
            return Ok(ReadList {
                objects,
                subscribed: true,
                version,
            });
        }
        let objects = self.list(query).await?;
        self.shared.values.put_list(query, version, &objects);
        Ok(ReadList {
            objects,
            subscribed: true,
            version,
        })
    }

    /// The values of a list's members: kept ones, and what is stale asked for.
    async fn member_values(
        &self,
        query: &ListQuery,
        members: &[Arc<Object>],
    ) -> Result<Vec<Arc<Object>>, Error> {
        let kept: Vec<_> = members
            .iter()
            .map(|member| self.cached_member(member))
            .collect();
        let stale = kept.iter().filter(|value| value.is_none()).count();
        if stale > MAX_SINGLE_FETCHES {
            let objects = self.list(query).await?;
            for object in &objects {
                self.shared.values.put(object);
            }
            return Ok(objects);
        }
        let mut objects = Vec::with_capacity(members.len());
        for (member, value) in members.iter().zip(kept) {
            match value {
                Some(value) => objects.push(value),
                None => objects.extend(self.fetch_value(&member.object_ref()).await?),
            }
        }
        Ok(objects)
    }

    /// As [`Cluster::read`], if it needs no request and no waiting: `Some(None)` is known absence.
    pub fn cached(&self, object: &ObjectRef) -> Option<Option<Arc<Object>>> {
        if self.live_reads {
            return None;
        }
        let kind = self.shared.discovery.known(&object.gvk)?;
        let object = kind.scoped(object);
        let (namespace, name) = (object.namespace.as_deref(), &*object.name);
        self.check_read(&kind, "get", namespace, name).ok()?;
        if let Some(held) = self.full_object(&object) {
            return Some(Some(held));
        }
        self.shared
            .watches
            .find_map(&object.gvk, namespace, |watch| {
                let spec = watch.spec();
                let tells_absence = spec.labels.is_empty() && watch.is_complete();
                if !tells_absence {
                    return None;
                }
                match watch.get(namespace, name) {
                    None => Some(None),
                    Some(seen) if spec.content == Content::Metadata => self
                        .shared
                        .values
                        .get(&object, &seen.resource_version)
                        .map(Some),
                    Some(whole) => Some(Some(whole)),
                }
            })
    }

    /// Returns whether an object still is as a run read it (resource version, `None` for absent), as far as
    /// the watches know. A run's subscriptions begin with this question: what changed between its
    /// read and the registration would be lost otherwise.
    pub fn is_current(&self, object: &ObjectRef, resource_version: Option<&str>) -> bool {
        let Some(kind) = self.shared.discovery.known(&object.gvk) else {
            return true;
        };
        let object = kind.scoped(object);
        let (namespace, name) = (object.namespace.as_deref(), &*object.name);
        let changed = self
            .shared
            .watches
            .find_map(&object.gvk, namespace, |watch| {
                match (watch.get(namespace, name), resource_version) {
                    (Some(seen), Some(read)) => {
                        compare(&seen.resource_version, read).is_gt().then_some(())
                    }
                    (Some(_), None) => Some(()),
                    (None, Some(_)) => {
                        let tells_absence = watch.spec().labels.is_empty() && watch.is_complete();
                        tells_absence.then_some(())
                    }
                    (None, None) => None,
                }
            });
        changed.is_none()
    }

    /// What [`ReadList::version`] would be now; `None` where no watch can tell.
    pub fn list_version(&self, query: &ListQuery) -> Option<u64> {
        let kind = self.shared.discovery.known(&query.gvk)?;
        let namespace = query.namespace.as_deref().filter(|_| kind.namespaced);
        let watch = self
            .shared
            .watches
            .find_map(&query.gvk, namespace, |watch| {
                let answers = watch.spec().purpose == Purpose::Reference && watch.is_complete();
                answers.then(|| Arc::clone(watch))
            })?;
        let members = members(&watch, query);
        Some(members.map_or_else(|| watch.version(), |members| fingerprint(&members)))
    }

    /// The object whole, from a watch over CRs or children.
    fn full_object(&self, object: &ObjectRef) -> Option<Arc<Object>> {
        let namespace = object.namespace.as_deref();
        self.shared
            .watches
            .find_map(&object.gvk, namespace, |watch| {
                let whole = watch.spec().content == Content::Full;
                whole.then(|| watch.get(namespace, &object.name)).flatten()
            })
    }

    /// The value of a member, if a current one is kept.
    fn cached_member(&self, member: &Object) -> Option<Arc<Object>> {
        let object = member.object_ref();
        let not_older =
            |held: &Arc<Object>| compare(&held.resource_version, &member.resource_version).is_ge();
        let held = self.full_object(&object).filter(not_older);
        held.or_else(|| self.shared.values.get(&object, &member.resource_version))
    }

    /// The object as the server has it, asked for once by all who want it now.
    async fn fetch_value(&self, object: &ObjectRef) -> Result<Option<Arc<Object>>, Error> {
        let cluster = self.unfenced();
        let wanted = object.clone();
        let ask = move || async move { cluster.get(&wanted).await }.boxed();
        let value = self.shared.values.fetch_once(object, ask).await?;
        if let Some(value) = &value {
            self.shared.values.put(value);
        }
        Ok(value)
    }

    /// The watch that tells which version is the current one; `None` where there can be none.
    async fn reference(
        &self,
        kind: &ApiKind,
        namespace: Option<&str>,
    ) -> Result<Option<Arc<Watch>>, Error> {
        if self.live_reads || !kind.can("watch") || !kind.can("list") {
            return Ok(None);
        }
        let namespace = namespace.filter(|_| kind.namespaced);
        let watch = self.reference_watch(&kind.gvk, namespace);
        let until = clock::now() + self.shared.settings.call_timeout;
        match tokio::time::timeout_at(until, watch.synced()).await {
            Ok(Ok(())) => Ok(Some(watch)),
            Ok(Err(error)) => match error.kind {
                ErrorKind::Forbidden | ErrorKind::MethodNotAllowed => Ok(None),
                _ => Err(error),
            },
            // The server is away for watches; perhaps a read gets through.
            Err(_) => Ok(None),
        }
    }

    /// One watch per namespace; from some number on, one for all if that is allowed.
    fn reference_watch(&self, gvk: &Gvk, namespace: Option<&str>) -> Arc<Watch> {
        let watches = &self.shared.watches;
        let of = |namespace: Option<&str>| WatchSpec {
            gvk: gvk.clone(),
            namespace: namespace.map(Arc::from),
            labels: LabelSelector::default(),
            content: Content::Metadata,
            purpose: Purpose::Reference,
        };
        let all = of(None);
        let Some(namespace) = namespace else {
            return watches.watch(all);
        };
        if let Some(all) = watches.find(&all).filter(|all| all.is_complete()) {
            let single = of(Some(namespace));
            if watches.find(&single).is_some() {
                watches.release(&single);
            }
            return all;
        }
        let single = watches.watch(of(Some(namespace)));
        let may_watch_all = self.shared.settings.namespaces.is_none();
        if may_watch_all && watches.reference_watches(gvk).len() > MAX_NAMESPACE_WATCHES {
            watches.watch(all);
        }
        single
    }

    /// Asks the fences whether a request would be allowed that is not needed: what is allowed does not
    /// depend on the state of the cluster.
    pub async fn check_access(&self, object: &ObjectRef, verb: &'static str) -> Result<(), Error> {
        if self.fences.is_empty() {
            return Ok(());
        }
        let kind = self.require_kind(&object.gvk).await?;
        self.check_read(&kind, verb, object.namespace.as_deref(), &object.name)
    }

    /// What is asked before a cache may answer: whether there can be such an object, and the fence.
    fn check_read(
        &self,
        kind: &ApiKind,
        verb: &'static str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), Error> {
        let target = || Target {
            verb,
            resource: kind.resource(),
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
        };
        kind.check_namespace(namespace.unwrap_or_default(), target)?;
        let access = Access {
            verb,
            group: &kind.gvk.group,
            resource: &kind.plural,
            scope: match namespace.filter(|namespace| !namespace.is_empty()) {
                _ if !kind.namespaced => AccessScope::Cluster,
                Some(namespace) => AccessScope::Namespace(namespace),
                None => AccessScope::AllNamespaces,
            },
            name,
        };
        let mut refusals = self
            .fences
            .iter()
            .filter_map(|fence| fence.refusal(&access));
        refusals.next().map_or(Ok(()), |message| {
            Err(Error::local(ErrorKind::Forbidden, message, target()))
        })
    }
}

/// The members of a list as the watch knows them; `None` where only the server can tell.
fn members(watch: &Watch, query: &ListQuery) -> Option<Vec<Arc<Object>>> {
    let mut members = watch.list(query.namespace.as_deref(), &query.labels);
    query.fields.matches("", "")?;
    members.retain(|member| {
        let namespace = member.namespace.as_deref().unwrap_or_default();
        query
            .fields
            .matches(namespace, &member.name)
            .unwrap_or(true)
    });
    Some(members)
}

fn fingerprint(members: &[Arc<Object>]) -> u64 {
    let mut hasher = XxHash3_64::new();
    for member in members {
        (&member.namespace, &member.name, &member.resource_version).hash(&mut hasher);
    }
    hasher.finish()
}
