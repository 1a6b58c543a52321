//! Cached reads. A read is a subscription: the operator watches the object or list that was read, also if
//! it is absent.
//!
//! The watches on CRs and children answer if they have the object. Otherwise a metadata-only watch on the
//! kind and namespace reports the current version (or absence), and a bounded cache has the value at that
//! version. If the operator must not watch the kind, each read is a request without a subscription.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures::FutureExt;
use twox_hash::XxHash3_64;

use super::error::{Error, ErrorKind, Target};
use super::read_set::ReadSet;
use super::request::ListQuery;
use super::watch::{Content, Purpose, Scope, Subscription, Watch, compare};
use super::{ApiKind, Cluster};
use crate::clock;
use crate::model::access::{Access, AccessScope};
use crate::model::{Gvk, Object, ObjectRef};

/// The maximum number of outdated list members that are requested one by one.
const MAX_SINGLE_FETCHES: usize = 2;
/// The maximum number of attempts to read a value that changes during the read.
const MAX_ROUNDS: usize = 4;

/// The result of a read.
#[derive(Clone, Debug)]
pub struct ReadResult {
    /// The object; `None` if it is absent.
    pub object: Option<Arc<Object>>,
    /// Keeps the watch open that reports the next change.
    pub subscription: Subscription,
}

/// The result of a read of a list.
#[derive(Clone, Debug)]
pub struct ReadList {
    /// The objects, by namespace and name.
    pub objects: Vec<Arc<Object>>,
    /// Keeps the watch open that reports the next change.
    pub subscription: Subscription,
    /// The version of the list. It changes when a member is created, deleted or changed; see
    /// [`Cluster::list_version`].
    pub version: u64,
}

/// The use of a subscription's watch by a read.
enum WatchUse {
    /// The watch reports the current version.
    Synced(Arc<Watch>),
    /// No complete watch exists: the read sends a request.
    Live,
    /// The cluster does not serve the kind.
    KindAbsent,
}

impl Cluster {
    /// Returns the object, from a cache if one has it. An object of a kind that the cluster does not serve
    /// is absent, and the subscription waits for the kind.
    pub async fn read(&self, object: &ObjectRef) -> Result<ReadResult, Error> {
        let Some(kind) = self.kind(&object.gvk).await? else {
            let subscription = self.await_kind(&object.gvk, object.namespace.as_deref());
            return Ok(ReadResult {
                object: None,
                subscription,
            });
        };
        let object = kind.scoped(object);
        let namespace = object.namespace.as_deref();
        self.check_read(&kind, "get", namespace, &object.name)?;
        if let Some((found, Purpose::Primary | Purpose::Children)) = self.lookup(&object) {
            return Ok(ReadResult {
                object: found,
                subscription: Subscription::permanent(),
            });
        }
        let (subscription, watch) = self.subscribe(&kind, namespace).await?;
        let object = match watch {
            WatchUse::Synced(watch) => self.read_watched(&object, &watch).await?,
            WatchUse::Live => self.get(&object).await?,
            WatchUse::KindAbsent => None,
        };
        Ok(ReadResult {
            object,
            subscription,
        })
    }

    /// Returns an object whose current version a watch reports.
    async fn read_watched(
        &self,
        object: &ObjectRef,
        watch: &Watch,
    ) -> Result<Option<Arc<Object>>, Error> {
        for _ in 0..MAX_ROUNDS {
            if let Some(object) = self.cached(object) {
                return Ok(object);
            }
            let value = self.fetch_value(object).await?;
            let reported = watch.get(object.namespace.as_deref(), &object.name);
            let is_outdated = |value: &Arc<Object>| {
                reported.as_ref().is_some_and(|reported| {
                    compare(&reported.resource_version, &value.resource_version).is_gt()
                })
            };
            if value.as_ref().is_some_and(is_outdated) {
                continue;
            }
            if let (Some(value), Some(reported)) = (&value, &reported)
                && value.resource_version == reported.resource_version
                && value.uid != reported.uid
            {
                return Err(self.wrong_uid(value, &reported.uid));
            }
            return Ok(value);
        }
        // The object changes faster than it can be read. Use the newest value; the watch reports the next
        // one.
        self.get(object).await
    }

    /// Removes a value, and returns the error that it belongs to another object than the one of the watch.
    fn wrong_uid(&self, value: &Object, reported: &str) -> Error {
        let object = value.object_ref();
        self.shared.values.remove(&object);
        let message = format!(
            "the server answered with {object} of uid {}, expected uid {reported}",
            value.uid
        );
        let target = Target {
            verb: "get",
            resource: object.gvk.kind_group(),
            namespace: object.namespace_or_empty().to_owned(),
            name: object.name.to_string(),
        };
        Error::local(ErrorKind::Malformed, message, target)
    }

    /// Returns the objects, from caches if they have them. A kind that the cluster does not serve has
    /// none, and the subscription waits for the kind.
    pub async fn read_list(&self, query: &ListQuery) -> Result<ReadList, Error> {
        let nothing = |subscription| ReadList {
            objects: Vec::new(),
            subscription,
            version: 0,
        };
        let Some(kind) = self.kind(&query.gvk).await? else {
            return Ok(nothing(
                self.await_kind(&query.gvk, query.namespace.as_deref()),
            ));
        };
        let query = &ListQuery {
            namespace: query.namespace.clone().filter(|_| kind.namespaced),
            ..query.clone()
        };
        let namespace = query.namespace.as_deref();
        let name = query.fields.name().unwrap_or_default();
        self.check_read(&kind, "list", namespace, name)?;
        let (subscription, watch) = self.subscribe(&kind, namespace).await?;
        let (objects, version) = match watch {
            WatchUse::Synced(watch) => self.list_watched(query, &watch).await?,
            WatchUse::Live => (self.list(query).await?, 0),
            WatchUse::KindAbsent => return Ok(nothing(subscription)),
        };
        Ok(ReadList {
            objects,
            subscription,
            version,
        })
    }

    /// Returns a list whose members a watch reports, and its version.
    async fn list_watched(
        &self,
        query: &ListQuery,
        watch: &Watch,
    ) -> Result<(Vec<Arc<Object>>, u64), Error> {
        if let Some(members) = members(watch, query) {
            let version = fingerprint(&members);
            return Ok((self.member_values(query, &members).await?, version));
        }
        // Only the server can determine the members, so a change of any object of the kind causes a
        // request.
        let version = watch.version();
        if let Some(objects) = self.shared.values.list(query, version) {
            return Ok((objects, version));
        }
        let objects = self.list(query).await?;
        self.shared.values.put_list(query, version, &objects);
        Ok((objects, version))
    }

    /// Returns the values of the members of a list. Requests those that are not cached or outdated.
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

    /// Returns the cached object. `Some(None)` means that it is absent, `None` that the caches do not know
    /// it.
    pub fn cached(&self, object: &ObjectRef) -> Option<Option<Arc<Object>>> {
        self.lookup(object).map(|(object, _)| object)
    }

    /// Returns the cached object, and the purpose of the watch that has it.
    fn lookup(&self, object: &ObjectRef) -> Option<(Option<Arc<Object>>, Purpose)> {
        if self.live_reads {
            return None;
        }
        let kind = self.shared.discovery.known(&object.gvk)?;
        let object = kind.scoped(object);
        let (namespace, name) = (object.namespace.as_deref(), &*object.name);
        self.check_read(&kind, "get", namespace, name).ok()?;
        if let Some(full) = self.full_object(&object) {
            return Some((Some(full), Purpose::Primary));
        }
        self.shared
            .watches
            .find_map(&object.gvk, namespace, |watch| {
                let spec = watch.spec();
                let tells_absence = spec.labels.is_empty() && watch.is_complete();
                if !tells_absence {
                    return None;
                }
                let found = match watch.get(namespace, name) {
                    None => Some(None),
                    Some(reported) if spec.content == Content::Metadata => self
                        .shared
                        .values
                        .get(&object, &reported.resource_version)
                        .map(Some),
                    Some(full) => Some(Some(full)),
                };
                Some((found?, spec.purpose))
            })
    }

    /// Returns whether an object or list that a run read has changed since, as far as the watches report.
    /// Without this check, a change between the read and the registration of the subscription would be
    /// lost. Ignores the objects in `ignored`, and lists of their kinds.
    pub fn is_stale(&self, reads: &ReadSet, ignored: &[ObjectRef]) -> bool {
        let mut objects = reads
            .objects()
            .filter(|(object, _)| !ignored.contains(object));
        let is_ignored = |query: &ListQuery| ignored.iter().any(|own| own.gvk == query.gvk);
        let mut lists = reads.lists().filter(|(query, _)| !is_ignored(query));
        objects.any(|(object, version)| !self.is_current(object, version))
            || lists
                .any(|(query, version)| self.list_version(query).is_some_and(|now| now != version))
    }

    /// Returns whether an object still has this resource version (`None` for absence), as far as the
    /// watches report.
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

    /// Returns the current [`ReadList::version`]; `None` if no watch determines it.
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

    /// Returns the whole object, from a watch on CRs or children.
    fn full_object(&self, object: &ObjectRef) -> Option<Arc<Object>> {
        let namespace = object.namespace.as_deref();
        self.shared
            .watches
            .find_map(&object.gvk, namespace, |watch| {
                let whole = watch.spec().content == Content::Full;
                whole.then(|| watch.get(namespace, &object.name)).flatten()
            })
    }

    /// Returns the value of a member if the cached one is current.
    fn cached_member(&self, member: &Object) -> Option<Arc<Object>> {
        let object = member.object_ref();
        let not_older =
            |held: &Arc<Object>| compare(&held.resource_version, &member.resource_version).is_ge();
        let held = self.full_object(&object).filter(not_older);
        held.or_else(|| self.shared.values.get(&object, &member.resource_version))
    }

    /// Requests the object. Concurrent callers share the request.
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

    /// Subscribes to a kind that the cluster does not serve.
    fn await_kind(&self, gvk: &Gvk, namespace: Option<&str>) -> Subscription {
        if self.live_reads {
            return Subscription::permanent();
        }
        self.open(&Scope {
            gvk: gvk.clone(),
            namespace: namespace.map(Arc::from),
        })
    }

    fn open(&self, scope: &Scope) -> Subscription {
        let subscription = self.shared.watches.subscribe(scope.clone());
        self.shared.watches.reference_watch(scope);
        subscription
    }

    /// Subscribes to a kind in a namespace, and waits for the watch that reports its versions.
    async fn subscribe(
        &self,
        kind: &ApiKind,
        namespace: Option<&str>,
    ) -> Result<(Subscription, WatchUse), Error> {
        if self.live_reads {
            return Ok((Subscription::permanent(), WatchUse::Live));
        }
        if !kind.can("watch") || !kind.can("list") {
            return Ok((Subscription::unwatched(), WatchUse::Live));
        }
        let scope = Scope {
            gvk: kind.gvk.clone(),
            namespace: namespace.filter(|_| kind.namespaced).map(Arc::from),
        };
        let subscription = self.open(&scope);
        let until = clock::now() + self.shared.settings.call_timeout;
        loop {
            let watch = self.shared.watches.reference_watch(&scope);
            let error = match tokio::time::timeout_at(until, watch.synced()).await {
                Ok(Ok(())) => return Ok((subscription, WatchUse::Synced(watch))),
                Ok(Err(error)) => error,
                // The server does not answer watches, but may answer a read. When the watch is complete,
                // its listeners compare its objects with those that runs read.
                Err(_) => return Ok((subscription, WatchUse::Live)),
            };
            match error.kind {
                ErrorKind::Forbidden | ErrorKind::MethodNotAllowed => {
                    return Ok((subscription.without_watch(), WatchUse::Live));
                }
                ErrorKind::KindAbsent => return Ok((subscription, WatchUse::KindAbsent)),
                // A watch on all namespaces replaced it.
                ErrorKind::Cancelled => {}
                _ => return Err(error),
            }
        }
    }

    /// Checks the fences for a request that is not sent, because permissions must not depend on the state
    /// of the cluster.
    pub async fn check_access(&self, object: &ObjectRef, verb: &'static str) -> Result<(), Error> {
        if self.fences.is_empty() {
            return Ok(());
        }
        let kind = self.require_kind(&object.gvk).await?;
        self.check_read(&kind, verb, object.namespace.as_deref(), &object.name)
    }

    /// Checks the namespace and the fences for a read that a cache can answer.
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

/// Returns the members of a list from the watch; `None` if only the server can determine them.
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
