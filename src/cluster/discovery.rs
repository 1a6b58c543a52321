//! Discovery: the kinds that the cluster serves, requested on demand per group and version, and cached.
//!
//! An absent kind is cached for a short time only, or until the watch on the CRDs reports a change.

mod aggregated;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::watch;

use super::api_call::{ApiCall, Deadlines, RetryPolicy};
use super::error::{Error, ErrorKind, Target};
use super::settings::Settings;
use super::transport::Transport;
use crate::clock::{self, Instant};
use crate::model::redact::PublicText;
use crate::model::syntax::is_dns_label;
use crate::model::{Gvk, ObjectRef};
use crate::telemetry::log;

/// The time for which absence is cached if no watch reports new kinds: for aggregated APIs, and for CRDs
/// that the operator must not watch. After this time, discovery also requests a served group again if a
/// kind is missing in it.
const ABSENCE: Duration = Duration::from_secs(5);
/// The time for which absence is cached if the CRDs are watched. Only aggregated APIs can appear unnoticed
/// then.
const ABSENCE_WATCHED: Duration = Duration::from_mins(1);
/// The time for which the list of groups is cached. The watch on CRDs reports its changes, but not those
/// by aggregated APIs.
const GROUPS: Duration = Duration::from_mins(1);

/// The fields of a status that a CRD declares.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DeclaredFields {
    pub(super) names: BTreeSet<String>,
    /// True if the server also keeps fields of other names.
    pub(super) accepts_others: bool,
}

/// The declared fields of a status; `None` if the CRD is unknown.
pub(super) type StatusFields = Option<Arc<DeclaredFields>>;

/// A kind that a cluster serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKind {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Its name in URLs, such as `deployments`.
    pub plural: Box<str>,
    /// True if its objects have a namespace.
    pub namespaced: bool,
    /// The verbs that the kind serves: `get`, `list`, `watch`, …
    pub verbs: Box<[Box<str>]>,
    /// True if it has the status subresource.
    pub has_status: bool,
    /// True if it has the scale subresource.
    pub has_scale: bool,
}

impl ApiKind {
    /// Returns `deployments.apps`, its name in RBAC and kubectl.
    pub fn resource(&self) -> String {
        if self.gvk.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.gvk.group)
        }
    }

    /// Returns whether it serves a verb.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| &**one == verb)
    }

    /// Returns the address in the scope of the kind: objects of a cluster-scoped kind have no namespace.
    pub(super) fn scoped(&self, object: &ObjectRef) -> ObjectRef {
        ObjectRef {
            namespace: object.namespace.clone().filter(|_| self.namespaced),
            ..object.clone()
        }
    }

    /// Refuses an invalid namespace, because in a path it could select another object or a whole
    /// collection. `""` selects all namespaces.
    pub(super) fn check_namespace(
        &self,
        namespace: &str,
        target: impl FnOnce() -> Target,
    ) -> Result<(), Error> {
        if !self.namespaced || namespace.is_empty() || is_dns_label(namespace) {
            return Ok(());
        }
        let message = format!(
            "invalid namespace {namespace:?}: expected at most 63 lower case letters, digits and dashes"
        );
        Err(Error::local(ErrorKind::Invalid, message, target()))
    }

    /// Returns the path of its objects in a namespace, or in all namespaces.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let mut path = group_version_path(&self.gvk.group, &self.gvk.version);
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }
}

fn group_version_path(group: &str, version: &str) -> String {
    match group {
        "" => format!("/api/{version}"),
        _ => format!("/apis/{group}/{version}"),
    }
}

/// An API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiGroup {
    /// Its name; `""` for the core group.
    pub name: String,
    /// Its versions, the preferred one first.
    pub versions: Vec<String>,
}

/// The cached kinds of a cluster.
pub(super) struct Discovery {
    transport: Transport,
    settings: Settings,
    known: Mutex<DiscoveredKinds>,
    /// Locked during a request, so that concurrent runs request the same answer once.
    asking: tokio::sync::Mutex<()>,
    crds_watched: AtomicBool,
    /// The number of times that kinds may have appeared or disappeared.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct DiscoveredKinds {
    kinds: HashMap<Gvk, Arc<ApiKind>>,
    asked: HashMap<(Box<str>, Box<str>), Instant>,
    groups: Option<(Instant, Arc<[ApiGroup]>)>,
    all: Option<(Instant, Arc<[Arc<ApiKind>]>)>,
    status_fields: HashMap<Gvk, StatusFields>,
    version: Option<String>,
}

/// A cached answer about a kind.
enum CachedKind {
    Served(Arc<ApiKind>),
    Absent,
}

impl From<CachedKind> for Option<Arc<ApiKind>> {
    fn from(heard: CachedKind) -> Self {
        match heard {
            CachedKind::Served(kind) => Some(kind),
            CachedKind::Absent => None,
        }
    }
}

impl Discovery {
    pub(super) fn new(transport: Transport, settings: Settings) -> Self {
        Self {
            transport,
            settings,
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            crds_watched: AtomicBool::new(false),
            changes: watch::Sender::new(0),
        }
    }

    /// Returns the kind if it is cached.
    pub(super) fn known(&self, gvk: &Gvk) -> Option<Arc<ApiKind>> {
        self.known.lock().kinds.get(gvk).cloned()
    }

    /// Returns whether a known resource is cluster-scoped; `false` if it is not known.
    pub(super) fn is_cluster_scoped(&self, group: &str, plural: &str) -> bool {
        let known = self.known.lock();
        let mut kinds = known.kinds.values();
        kinds.any(|kind| !kind.namespaced && *kind.gvk.group == *group && &*kind.plural == plural)
    }

    /// Returns the kind, and requests it if it is not cached.
    pub(super) async fn kind(
        &self,
        gvk: &Gvk,
        retry: RetryPolicy,
    ) -> Result<Option<Arc<ApiKind>>, Error> {
        if let Some(heard) = self.cached(gvk) {
            return Ok(heard.into());
        }
        let _one_at_a_time = self.asking.lock().await;
        if let Some(heard) = self.cached(gvk) {
            return Ok(heard.into());
        }
        let asked_at = clock::now();
        let kinds = self.fetch_kinds(&gvk.group, &gvk.version, retry).await?;
        let mut known = self.known.lock();
        let key = (gvk.group.clone(), gvk.version.clone());
        known.asked.insert(key, asked_at);
        for kind in kinds {
            known.kinds.insert(kind.gvk.clone(), Arc::new(kind));
        }
        Ok(known.kinds.get(gvk).cloned())
    }

    fn cached(&self, gvk: &Gvk) -> Option<CachedKind> {
        let known = self.known.lock();
        if let Some(kind) = known.kinds.get(gvk) {
            return Some(CachedKind::Served(Arc::clone(kind)));
        }
        let key = (gvk.group.clone(), gvk.version.clone());
        let asked = known.asked.get(&key)?;
        let believed = if self.crds_watched.load(Ordering::Relaxed) {
            ABSENCE_WATCHED
        } else {
            ABSENCE
        };
        (asked.elapsed() < believed).then_some(CachedKind::Absent)
    }

    async fn fetch_kinds(
        &self,
        group: &str,
        version: &str,
        retry: RetryPolicy,
    ) -> Result<Vec<ApiKind>, Error> {
        let path = group_version_path(group, version);
        let list: ResourceList = match self.fetch(&path, retry).await {
            Err(error) if matches!(error.kind, ErrorKind::KindAbsent | ErrorKind::NotFound) => {
                return Ok(Vec::new());
            }
            answer => answer?,
        };
        Ok(list.kinds(group, version))
    }

    /// Removes a group whose CRDs changed from the cache, and notifies the waiters for a kind.
    pub(super) fn invalidate_group(&self, group: &str) {
        let mut known = self.known.lock();
        known.kinds.retain(|gvk, _| &*gvk.group != group);
        known.asked.retain(|(asked, _), _| &**asked != group);
        known.status_fields.retain(|gvk, _| &*gvk.group != group);
        known.groups = None;
        known.all = None;
        drop(known);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Removes one group and version from the cache, without a notification.
    pub(super) fn invalidate(&self, gvk: &Gvk) {
        let mut known = self.known.lock();
        known.kinds.remove(gvk);
        let key = (gvk.group.clone(), gvk.version.clone());
        known.asked.remove(&key);
    }

    /// Returns the cached fields of a status; `None` if there was no request yet.
    pub(super) fn status_fields(&self, gvk: &Gvk) -> Option<StatusFields> {
        self.known.lock().status_fields.get(gvk).cloned()
    }

    pub(super) fn set_status_fields(&self, gvk: &Gvk, fields: StatusFields) {
        self.known.lock().status_fields.insert(gvk.clone(), fields);
    }

    /// Returns whether a watch reports changes of CRDs through [`Discovery::invalidate_group`].
    pub(super) fn set_crds_watched(&self, watched: bool) {
        self.crds_watched.store(watched, Ordering::Relaxed);
    }

    /// Resolves when kinds may have appeared or disappeared.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the groups, the core group first.
    pub(super) async fn groups(&self) -> Result<Arc<[ApiGroup]>, Error> {
        if let Some((asked, groups)) = &self.known.lock().groups
            && asked.elapsed() < GROUPS
        {
            return Ok(Arc::clone(groups));
        }
        let list: GroupList = self.fetch("/apis", RetryPolicy::Always).await?;
        let core = ApiGroup {
            name: String::new(),
            versions: vec!["v1".to_owned()],
        };
        let groups: Arc<[_]> = std::iter::once(core)
            .chain(list.groups.into_iter().map(ApiGroup::from))
            .collect();
        self.known.lock().groups = Some((clock::now(), Arc::clone(&groups)));
        Ok(groups)
    }

    /// Returns all kinds, each at its group's preferred version. Omits a group that does not answer, such
    /// as an aggregated API whose server is down.
    pub(super) async fn all(&self) -> Result<Arc<[Arc<ApiKind>]>, Error> {
        let _one_at_a_time = self.asking.lock().await;
        if let Some((asked, all)) = &self.known.lock().all
            && asked.elapsed() < GROUPS
        {
            return Ok(Arc::clone(all));
        }
        let asked_at = clock::now();
        let all: Arc<[_]> = match self.fetch_aggregated().await? {
            Some(kinds) => kinds.into_iter().map(Arc::new).collect(),
            None => self.fetch_each_group().await?.into(),
        };
        let mut known = self.known.lock();
        for kind in all.iter() {
            let key = (kind.gvk.group.clone(), kind.gvk.version.clone());
            known.asked.insert(key, asked_at);
            known.kinds.insert(kind.gvk.clone(), Arc::clone(kind));
        }
        known.all = Some((asked_at, Arc::clone(&all)));
        Ok(all)
    }

    async fn fetch_aggregated(&self) -> Result<Option<Vec<ApiKind>>, Error> {
        let mut kinds = Vec::new();
        for path in ["/api", "/apis"] {
            let answer: aggregated::GroupDiscoveryList = self
                .fetch_as(path, aggregated::ACCEPT, RetryPolicy::Always)
                .await?;
            match answer.kinds() {
                Some(some) => kinds.extend(some),
                None => return Ok(None),
            }
        }
        Ok(Some(kinds))
    }

    async fn fetch_each_group(&self) -> Result<Vec<Arc<ApiKind>>, Error> {
        let mut kinds = Vec::new();
        for group in self.groups().await?.iter() {
            match self.kinds_of(group).await {
                Ok(of_group) => kinds.extend(of_group),
                Err(error) => log::warn!(
                    "cannot discover a group",
                    group = PublicText::outside_runs(&group.name),
                    error = PublicText::outside_runs(error),
                ),
            }
        }
        Ok(kinds)
    }

    /// Returns all kinds of a group at its preferred version.
    pub(super) async fn kinds_of(&self, group: &ApiGroup) -> Result<Vec<Arc<ApiKind>>, Error> {
        let Some(version) = group.versions.first() else {
            return Ok(Vec::new());
        };
        let kinds = self
            .fetch_kinds(&group.name, version, RetryPolicy::Always)
            .await?;
        Ok(kinds.into_iter().map(Arc::new).collect())
    }

    /// Returns the version of the server.
    pub(super) async fn version(&self, retry: RetryPolicy) -> Result<String, Error> {
        if let Some(version) = &self.known.lock().version {
            return Ok(version.clone());
        }
        let version: Version = self.fetch("/version", retry).await?;
        self.known.lock().version = Some(version.git_version.clone());
        Ok(version.git_version)
    }

    async fn fetch<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
        retry: RetryPolicy,
    ) -> Result<T, Error> {
        self.fetch_as(path, "application/json", retry).await
    }

    async fn fetch_as<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
        accept: &'static str,
        retry: RetryPolicy,
    ) -> Result<T, Error> {
        let target = Target {
            verb: "discover",
            resource: path.to_owned(),
            ..Target::default()
        };
        let call = ApiCall {
            accept,
            retry,
            ..ApiCall::get(target.clone(), path.to_owned())
        };
        let answer = call
            .send(&self.transport, &self.settings, &Deadlines::default())
            .await?;
        serde_json::from_slice(&answer.body)
            .map_err(|cause| Error::local(ErrorKind::Malformed, cause.to_string(), target))
    }
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<Box<str>>,
}

impl ResourceList {
    fn kinds(self, group: &str, version: &str) -> Vec<ApiKind> {
        let names: Vec<_> = self.resources.iter().map(|r| r.name.clone()).collect();
        let has = |plural: &str, sub: &str| names.contains(&format!("{plural}/{sub}"));
        let whole = self.resources.into_iter().filter(|r| !r.name.contains('/'));
        whole
            .map(|resource| ApiKind {
                gvk: Gvk::new(group, version, &resource.kind),
                namespaced: resource.namespaced,
                verbs: resource.verbs.into(),
                has_status: has(&resource.name, "status"),
                has_scale: has(&resource.name, "scale"),
                plural: resource.name.into(),
            })
            .collect()
    }
}

#[derive(Deserialize)]
struct GroupList {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

impl From<Group> for ApiGroup {
    fn from(group: Group) -> Self {
        let preferred = group.preferred_version.map(|preferred| preferred.version);
        let mut versions: Vec<_> = group.versions.into_iter().map(|v| v.version).collect();
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        Self {
            name: group.name,
            versions,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}
