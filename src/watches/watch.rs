//! One entry of watches.yaml as it is meant: defaults filled in, every value valid.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::Gvk;
use crate::model::selector::LabelSelector;
use crate::model::yaml::Position;

/// Long enough for any run that does not hang.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// A kind and how its objects are reconciled.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the file, independent of the others"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// The kind of the primary objects.
    pub gvk: Gvk,
    /// The role, as the file names it: a folder of the roles folder, or a path.
    pub role: Arc<str>,
    /// Where the file names it.
    pub role_position: Position,
    /// Variables that win over the CR's spec.
    pub vars: Map<String, Value>,
    /// Time between runs when nothing happens; zero for never, `None` for the operator's flag.
    pub reconcile_period: Option<Duration>,
    /// Runs of this kind at one time; `None` for the operator's flag.
    pub max_concurrent: Option<NonZeroUsize>,
    /// Whether the runtime writes conditions of its own.
    pub manage_status: bool,
    /// Whether changes of children trigger runs.
    pub watch_dependents: bool,
    /// Whether changes of cluster-scoped children trigger runs.
    pub watch_cluster_scoped: bool,
    /// Whether changes of the CR's annotations and labels trigger runs.
    pub watch_annotations: bool,
    /// Whether spec keys appear in `vars` in `snake_case`.
    pub snake_case: bool,
    /// Which objects of the kind are primaries; `None` for all.
    pub selector: Option<LabelSelector>,
    /// Kinds of children that do not trigger.
    pub blacklist: Vec<Gvk>,
    /// What happens before a CR goes.
    pub finalizer: Option<Finalizer>,
    /// The style of the runtime's conditions.
    pub conditions: Conditions,
    /// The longest that one run may take.
    pub timeout: Duration,
    /// Whether children that the role no longer applies are deleted.
    pub prune: bool,
    /// What becomes of children that garbage collection cannot reach.
    pub on_delete: OnDelete,
    /// Whether applies take over fields of other managers; `None` for the default per child.
    pub force: Option<bool>,
    /// True if applies adopt existing objects that the CR does not own.
    pub adopt: bool,
    /// Namespaces whose objects are primaries, `WATCH_NAMESPACE` taken into account.
    pub namespaces: Namespaces,
    /// Where the entry begins in the file.
    pub position: Position,
}

impl Watch {
    /// A kind, served by a role, with all defaults.
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

/// What happens between a CR's deletion and its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalizer {
    /// Name that is put into `metadata.finalizers`.
    pub name: Arc<str>,
    /// Role of the deletion run; `None` for the watch's own.
    pub role: Option<Arc<str>>,
    /// Where the file names it, or the finalizer.
    pub role_position: Position,
    /// Variables of the deletion run, winning over all others.
    pub vars: Map<String, Value>,
    /// The longest that the deletion may take in all; `None` for no bound.
    pub timeout: Option<Duration>,
    /// What happens at that bound.
    pub on_failure: FinalizerFailure,
}

/// What happens when a deletion run did not succeed in [`Finalizer::timeout`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinalizerFailure {
    /// The CR stays and the run is tried again.
    #[default]
    Retry,
    /// The finalizer is taken off; what the role would have removed stays.
    Orphan,
}

/// The style of the runtime's conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conditions {
    /// `Ready`, `Reconciling`, `Stalled`, as kstatus reads them.
    #[default]
    Standard,
    /// `Running`, `Successful`, `Failure`, as the Ansible operator writes them.
    Ansible,
}

/// What becomes of children that garbage collection cannot reach when their CR goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// The runtime deletes them, by a finalizer of its own.
    #[default]
    Delete,
    /// They stay.
    Orphan,
}

/// Namespaces that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and cluster-scoped objects.
    #[default]
    All,
    /// These, at least one.
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
