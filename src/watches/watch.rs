//! A valid entry of watches.yaml, with defaults.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::Gvk;
use crate::model::selector::LabelSelector;
use crate::model::yaml::Position;

/// The default timeout: long enough for any run that does not hang.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// A kind and how its objects are reconciled.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the file, independent of the others"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The kind of the custom resources.
    pub gvk: Gvk,
    /// The role, as the file names it: a folder of the roles folder, or a path.
    pub role: Arc<str>,
    /// The position of its name in the file.
    pub role_position: Position,
    /// Variables that override the CR's spec.
    pub vars: Map<String, Value>,
    /// The time between periodic runs; zero for none, `None` for the operator's flag.
    pub reconcile_period: Option<Duration>,
    /// The maximum number of concurrent runs of this kind; `None` for the operator's flag.
    pub max_concurrent: Option<NonZeroUsize>,
    /// True if the operator writes conditions.
    pub manage_status: bool,
    /// True if changes of children trigger runs.
    pub watch_dependents: bool,
    /// True if changes of cluster-scoped children trigger runs.
    pub watch_cluster_scoped: bool,
    /// True if changes of the CR's annotations and labels trigger runs.
    pub watch_annotations: bool,
    /// True if spec keys appear in `vars` in `snake_case`.
    pub snake_case: bool,
    /// The objects of the kind that the role serves; `None` for all.
    pub selector: Option<LabelSelector>,
    /// The kinds of children whose changes do not trigger runs.
    pub blacklist: Vec<Gvk>,
    /// The finalizer that runs a role before a CR is deleted.
    pub finalizer: Option<Finalizer>,
    /// The style of the operator's conditions.
    pub conditions: Conditions,
    /// The maximum duration of a run.
    pub timeout: Duration,
    /// True if children that the role no longer applies are deleted.
    pub prune: bool,
    /// The fate of children that garbage collection cannot reach.
    pub on_delete: OnDelete,
    /// True if applies take over fields of other managers; `None` for the default per child.
    pub force: Option<bool>,
    /// True if applies adopt existing objects that the CR does not own.
    pub adopt: bool,
    /// The namespaces whose objects the role serves, limited by `WATCH_NAMESPACE`.
    pub namespaces: Namespaces,
    /// The position of the entry in the file.
    pub position: Position,
}

impl Watch {
    /// Returns a watch of a kind with the defaults.
    pub fn new(gvk: Gvk, role: impl Into<Arc<str>>) -> Self {
        Self {
            gvk,
            role: role.into(),
            role_position: Position::default(),
            vars: Map::new(),
            reconcile_period: None,
            max_concurrent: None,
            manage_status: true,
            watch_dependents: true,
            watch_cluster_scoped: true,
            watch_annotations: false,
            snake_case: false,
            selector: None,
            blacklist: Vec::new(),
            finalizer: None,
            conditions: Conditions::default(),
            timeout: DEFAULT_TIMEOUT,
            prune: true,
            on_delete: OnDelete::default(),
            force: None,
            adopt: false,
            namespaces: Namespaces::default(),
            position: Position::default(),
        }
    }
}

/// A finalizer: a role that runs when a CR is deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalizer {
    /// The name in `metadata.finalizers`.
    pub name: Arc<str>,
    /// The role of the deletion run; `None` for the watch's own.
    pub role: Option<Arc<str>>,
    /// The position of the name of the role, or of the finalizer.
    pub role_position: Position,
    /// Variables of the deletion run, which override all others.
    pub vars: Map<String, Value>,
    /// The maximum duration of the deletion, with all its runs; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The behavior at that limit.
    pub on_failure: FinalizerFailure,
}

/// The behavior after a deletion that did not succeed within [`Finalizer::timeout`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinalizerFailure {
    /// The CR stays, and the run is retried.
    #[default]
    Retry,
    /// The finalizer is released; objects that the role would have deleted stay.
    Orphan,
}

/// The style of the operator's conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// `Ready`, `Reconciling`, `Stalled`, as kstatus reads them.
    #[default]
    Standard,
    /// `Running`, `Successful`, `Failure`, as the Ansible operator writes them.
    Ansible,
}

/// The fate of children that garbage collection cannot reach when their CR is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// The operator deletes them, with a finalizer of its own.
    #[default]
    Delete,
    /// They stay.
    Orphan,
}

/// The watched namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and cluster-scoped objects.
    #[default]
    All,
    /// Only these, at least one.
    Only(BTreeSet<String>),
}

impl Namespaces {
    /// Returns whether objects of a namespace (`None`: cluster-scoped ones) are watched.
    pub fn contains(&self, namespace: Option<&str>) -> bool {
        match (self, namespace) {
            (Self::All, _) | (_, None) => true,
            (Self::Only(names), Some(name)) => names.contains(name),
        }
    }
}
