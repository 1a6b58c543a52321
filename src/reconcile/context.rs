//! The state that all runs of a process share.

use std::sync::Arc;

use super::events::Recorder;
use super::warn_once::WarnOnce;
use crate::apply::ApplyCache;
use crate::apply::inventory::ChildKindDiscovery;
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::model::OperatorId;
use crate::pipeline::StepSelection;
use crate::script::{Limits, Pool};

/// The state that all runs of a process share.
#[derive(Clone)]
pub struct Context {
    /// The cluster, without a fence, for the runtime's own writes.
    pub cluster: Cluster,
    /// The results of earlier applies.
    pub apply_cache: ApplyCache,
    /// The discovery of the kinds of which children exist.
    pub child_kinds: ChildKindDiscovery,
    /// The threads that execute scripts.
    pub pool: Arc<Pool>,
    /// The limits of a script.
    pub limits: Limits,
    /// Environment variables that roles may read.
    pub allow_env: Vec<String>,
    /// The steps of pipelines that are executed.
    pub selection: StepSelection,
    /// The operator that the label of a custom resource with finalizers names; `None` if this
    /// process adds none.
    pub holder: Option<OperatorId>,
    /// The sender of Events.
    pub events: Recorder,
    /// The warnings that were already logged.
    pub warned: WarnOnce,
    /// The wall clock.
    pub clock: Clock,
    /// The clock that timeouts across runs use.
    pub timeout_clock: Clock,
}

impl Context {
    /// Creates a context with default limits. A task on the current runtime sends its Events.
    pub fn new(cluster: Cluster, pool: Arc<Pool>, clock: Clock) -> Self {
        Self {
            events: Recorder::spawn(cluster.clone(), clock.clone()),
            cluster,
            apply_cache: ApplyCache::default(),
            child_kinds: ChildKindDiscovery::default(),
            pool,
            limits: Limits::default(),
            allow_env: Vec::new(),
            selection: StepSelection::default(),
            holder: None,
            warned: WarnOnce::default(),
            timeout_clock: clock.for_timeouts(),
            clock,
        }
    }
}
