//! The state of one run for its host functions, and the effects that they record for its report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rhai::{Dynamic, NativeCallContext};
use serde_json::{Map, Value};

use super::error::{HostResult, short_message};
use crate::apply::{self, Action, ActionCounts, ApplyCache, ApplyResult, ExistingObject, Owner};
use crate::clock::{self, Clock, Instant};
use crate::cluster::request::{ListQuery, WriteOptions};
use crate::cluster::watch::Subscription;
use crate::cluster::{Cluster, ErrorKind, ReadSet};
use crate::model::condition::Status;
use crate::model::redact::{PublicText, Redactor};
use crate::model::{Object, ObjectRef};
use crate::pipeline::{OpenSteps, StepHistory, StepReport, StepSelection};
use crate::role::{Entry, Role, Roles};
use crate::script::{self, HostError, NativeEntry, Run, Variables, value};

/// The inputs of a session.
pub struct Setup {
    /// The cluster, seen through the layers of this run; host functions use [`Session::cluster`].
    pub cluster: Cluster,
    /// The results of earlier applies; one for the process.
    pub apply_cache: ApplyCache,
    /// The custom resource of the run, as owner.
    pub owner: Owner,
    /// The role that runs.
    pub role: Arc<Role>,
    /// The roles that it may include.
    pub roles: Arc<Roles>,
    /// The constants of the script. An included role has the same ones, except `vars`.
    pub variables: Variables,
    /// The secrets that the run has seen.
    pub redactor: Redactor,
    /// The wall clock.
    pub clock: Clock,
    /// The clock that timeouts of steps use.
    pub timeout_clock: Clock,
    /// Environment variables that `--allow-env` lists. A trailing `*` matches any ending.
    pub allow_env: Vec<String>,
    /// Returns the native code of an entry: the executor of pipelines, which is above this layer.
    pub native: fn(&Entry) -> Option<NativeEntry>,
    /// True to record each call in [`RunEffects::trace`].
    pub trace: bool,
    /// The history of steps that earlier runs stored.
    pub step_history: StepHistory,
    /// The steps of the role to execute.
    pub selection: StepSelection,
}

/// The state of a run ([`crate::script::Job::state`]).
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) started: Instant,
    /// The stack of included roles, innermost last.
    pub(crate) included: Mutex<Vec<Included>>,
    /// The steps that are open.
    pub(crate) open: Mutex<OpenSteps>,
    effects: Mutex<RunEffects>,
    unredacted: Mutex<Unredacted>,
}

/// An included role, and the `vars` that it sees.
pub(crate) struct Included {
    pub(crate) role: Arc<Role>,
    /// The cluster, restricted to the permissions of this role and of all roles that include it.
    pub(crate) cluster: Cluster,
    pub(crate) vars: Dynamic,
}

/// The effects of a run, each list in the order of the calls. It holds no text that could contain a
/// value of a Secret.
#[derive(Clone, Default, Debug)]
pub struct RunEffects {
    /// Objects and lists that the run read, absent objects included. A change of one triggers a run.
    pub reads: ReadSet,
    /// Objects that the role wants to exist.
    pub applied: BTreeSet<ObjectRef>,
    /// Number of failed applies, including those whose error the role caught. With one of them the run is
    /// not complete.
    pub failed_applies: usize,
    /// True if the run applied an object that garbage collection cannot reach from the custom resource.
    pub unreachable: bool,
    /// The shortest delay that the role passed to `requeue`.
    pub requested_requeue: Option<Duration>,
    /// Objects of the writes that changed something, one entry per write.
    pub writes: Vec<ObjectRef>,
    /// Number of writes that were not necessary, or that changed nothing.
    pub skipped: usize,
    /// Number of applies by action.
    pub actions: ActionCounts,
    /// Objects that existed without this owner and that the run adopted.
    pub adopted: Vec<ObjectRef>,
    /// Kinds that the run read and that cannot be watched: a change of them triggers no run.
    pub unwatched: BTreeSet<String>,
    /// Number of calls of each host function.
    pub calls: BTreeMap<&'static str, usize>,
    /// The calls; empty unless [`Setup::trace`] is set.
    pub trace: Vec<TracedCall>,
    /// The steps of the pipeline, in the order in which they ended.
    pub steps: Vec<StepReport>,
    /// The step history for the next run; `None` if no pipeline ran to its end.
    pub step_history: Option<StepHistory>,
    /// True if the run left out steps that were not selected.
    pub partial: bool,
}

/// The output of a role before redaction. It can contain values of Secrets and must not leave the run.
#[derive(Default)]
pub struct Unredacted {
    /// The values of `set_status` as one merge patch.
    pub status: Map<String, Value>,
    /// The conditions of `set_condition`, the last of each type.
    pub conditions: Vec<RoleCondition>,
    /// The Events of `event`.
    pub events: Vec<Event>,
    /// Fields that the server did not keep.
    pub pruned_fields: Vec<(ObjectRef, String)>,
    /// The object before and after each of [`RunEffects::writes`].
    pub writes: Vec<WrittenStates>,
}

/// A condition that a role set, before redaction. It is redacted at the end of the run, when all Secrets
/// that the run read are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCondition {
    /// Its type.
    pub kind: String,
    /// The value of the condition.
    pub status: Status,
    /// One `CamelCase` word.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// An Event that a role emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// True for a Warning, false for a Normal Event.
    pub warning: bool,
    /// Its reason, `CamelCase`.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// An object before and after a write.
pub struct WrittenStates {
    /// `None` if it was absent or is not known.
    pub before: Option<Arc<Object>>,
    /// `None` if it was deleted.
    pub after: Option<Arc<Object>>,
}

/// A host call, for people.
#[derive(Clone, Debug)]
pub struct TracedCall {
    /// Time since the run began.
    pub at: Duration,
    /// The duration of the call.
    pub took: Duration,
    /// The function.
    pub function: &'static str,
    /// The subject of the call.
    pub object: PublicText,
    /// The result of the call.
    pub result: PublicText,
}

/// A way to end a run from a host function ([`crate::script::end`]).
#[derive(Clone, Debug)]
pub enum Ending {
    /// The run waits for an object and is resumed when that changes.
    Waiting {
        /// On what, for people.
        on: String,
        /// The objects, read or applied by this run.
        objects: BTreeSet<ObjectRef>,
    },
    /// `fail(message)`: no retry of its own.
    Failed(String),
    /// Steps of a pipeline failed.
    Broken {
        /// The steps with their errors, for users.
        message: String,
        /// Not before this has passed, where a server said so.
        after: Option<Duration>,
        /// True if trying again does not help.
        terminal: bool,
    },
    /// The custom resource is gone, or was made anew: this run has no point any more.
    Gone,
}

impl RunEffects {
    /// The number of host calls.
    pub(crate) fn called(&self) -> usize {
        self.calls.values().sum()
    }
}

impl Session {
    /// A session of a run that begins now.
    pub fn new(setup: Setup) -> Self {
        setup.redactor.exempt(&setup.role.words);
        Self {
            started: clock::now(),
            included: Mutex::default(),
            open: Mutex::default(),
            effects: Mutex::default(),
            unredacted: Mutex::default(),
            setup,
        }
    }

    /// The session of the run that makes a call.
    pub fn from_call(cx: &NativeCallContext) -> HostResult<Arc<Self>> {
        Run::from_call(cx)?
            .state()
            .ok_or_else(|| "called outside a run of a role".into())
    }

    /// The role whose files and templates are meant: the innermost one.
    pub fn role(&self) -> Arc<Role> {
        let included = self.included.lock();
        Arc::clone(
            included
                .last()
                .map_or(&self.setup.role, |inner| &inner.role),
        )
    }

    /// Returns the current roles, outermost first. A request requires the permission of all of them.
    pub(super) fn roles(&self) -> Vec<Arc<Role>> {
        let included = self.included.lock();
        let inner = included.iter().map(|inner| Arc::clone(&inner.role));
        std::iter::once(Arc::clone(&self.setup.role))
            .chain(inner)
            .collect()
    }

    /// Returns the cluster, restricted to the permissions of the current roles.
    pub(super) fn cluster(&self) -> Cluster {
        let included = self.included.lock();
        let inner = included.last().map(|inner| &inner.cluster);
        inner.unwrap_or(&self.setup.cluster).clone()
    }

    /// Returns the constants of the running script.
    pub(super) fn variables(&self) -> Variables {
        let mut variables = self.setup.variables.clone();
        if let Some(inner) = self.included.lock().last() {
            variables.insert("vars", inner.vars.clone());
        }
        // A step may see more of them.
        variables.extend(script::variable("vars").map(|vars| ("vars", vars)));
        variables
    }

    /// Returns the effects so far.
    pub fn effects(&self) -> MutexGuard<'_, RunEffects> {
        self.effects.lock()
    }

    /// Returns the options of the role's writes.
    pub(super) fn write_options(&self) -> WriteOptions {
        WriteOptions {
            manager: self.setup.owner.manager.to_string(),
            ..WriteOptions::default()
        }
    }

    /// Counts a call that began at `since`, and notes it where calls are traced.
    pub(super) fn trace<O: ToString, R: ToString>(
        &self,
        function: &'static str,
        since: Instant,
        object: impl FnOnce() -> O,
        result: impl FnOnce() -> R,
    ) {
        *self.effects.lock().calls.entry(function).or_default() += 1;
        if !self.setup.trace {
            return;
        }
        let redactor = &self.setup.redactor;
        let call = TracedCall {
            at: since.duration_since(self.started),
            took: since.elapsed(),
            function,
            object: redactor.public(&object().to_string()).shorten(TRACED),
            result: redactor.public(&result().to_string()).shorten(TRACED),
        };
        self.effects.lock().trace.push(call);
    }

    /// Notes a call that began at `since` if it failed, and hands its answer on.
    pub(super) fn trace_failure<T>(
        &self,
        function: &'static str,
        since: Instant,
        object: impl FnOnce() -> String,
        answer: HostResult<T>,
    ) -> HostResult<T> {
        if let Err(error) = &answer {
            self.trace(function, since, object, || short_message(error));
        }
        answer
    }

    /// Adds the secret values of an object that was read or written to the redactor.
    pub(super) fn learn(&self, object: &Object) -> Result<(), HostError> {
        self.setup.redactor.learn(object);
        self.check_secrets()
    }

    /// Fails if the run read more Secret values than the redactor supports.
    pub(super) fn check_secrets(&self) -> Result<(), HostError> {
        let hint = "hint: read fewer Secrets, by name or by label";
        self.setup
            .redactor
            .check()
            .map_err(|error| HostError::new("limit", format!("{error}; {hint}")))
    }

    /// Adds an object to the read set.
    pub(super) fn note_read(
        &self,
        object: ObjectRef,
        found: Option<&Arc<Object>>,
        subscription: Subscription,
    ) {
        let mut effects = self.effects.lock();
        if !subscription.is_watched() {
            effects.unwatched.insert(object.gvk.kind_group());
        }
        let version = found.map(|found| found.resource_version.clone());
        effects.reads.add_object(object, version, subscription);
    }

    /// Adds an existing object that prevented a write to the read set: its deletion triggers a run.
    pub(super) fn note_existing(&self, existing: &ExistingObject) {
        let object = existing.live.object_ref();
        self.note_read(object, Some(&existing.live), existing.subscription.clone());
    }

    /// Adds a list to the read set.
    pub(super) fn note_list(&self, query: ListQuery, version: u64, subscription: Subscription) {
        let mut effects = self.effects.lock();
        if !subscription.is_watched() {
            effects.unwatched.insert(query.gvk.kind_group());
        }
        effects.reads.add_list(query, version, subscription);
    }

    /// Returns the output of the role before redaction.
    pub fn unredacted(&self) -> MutexGuard<'_, Unredacted> {
        self.unredacted.lock()
    }

    /// Records a write that changed something.
    pub(super) fn note_write(
        &self,
        object: ObjectRef,
        before: Option<Arc<Object>>,
        after: Option<Arc<Object>>,
    ) {
        self.effects.lock().writes.push(object);
        let states = WrittenStates { before, after };
        self.unredacted.lock().writes.push(states);
    }

    /// Records the fields that the server's warnings report as dropped.
    pub(super) fn note_warnings(&self, object: &ObjectRef, warnings: &[String]) {
        let fields = warnings
            .iter()
            .filter_map(|warning| apply::unknown_field(warning));
        let dropped = fields.map(|field| (object.clone(), field));
        self.unredacted.lock().pruned_fields.extend(dropped);
    }

    /// Records the result of an apply.
    pub(super) fn note(&self, applied: &ApplyResult) {
        let object = applied.object.object_ref();
        let mut effects = self.effects.lock();
        let mut output = self.unredacted.lock();
        let pruned = applied.pruned_fields.iter();
        output
            .pruned_fields
            .extend(pruned.map(|field| (object.clone(), field.clone())));
        if applied.adopted {
            effects.adopted.push(object.clone());
        }
        effects.unreachable |= applied.ownership.is_unreachable();
        effects.actions.record(applied.action);
        match applied.action {
            Action::Skipped | Action::Unchanged => effects.skipped += 1,
            Action::Created | Action::Changed | Action::Recreated => {
                effects.writes.push(object.clone());
                output.writes.push(WrittenStates {
                    before: applied.before.clone(),
                    after: Some(Arc::clone(&applied.object)),
                });
            }
        }
        if !applied.ownership.is_owned() {
            let version = applied.object.resource_version.clone();
            effects
                .reads
                .add_object(object.clone(), Some(version), applied.subscription.clone());
        }
        effects.applied.insert(object);
    }
}

/// Bytes of a text that a trace shows: enough for a message, and ten thousand of them fit.
const TRACED: usize = 4_096;

/// Returns a live object as scripts see it. Costs a parse.
pub(crate) fn live(object: &Arc<Object>) -> HostResult<Dynamic> {
    readable(object)?;
    let value = value::from_json(object.json().as_bytes());
    Ok(value.map_err(|error| unreadable(object, &error))?)
}

/// Refuses an object that is not whole.
pub(crate) fn readable(object: &Object) -> Result<(), HostError> {
    match &object.unreadable {
        None => Ok(()),
        Some(why) => Err(unreadable(object, why)),
    }
}

fn unreadable(object: &Object, why: &dyn std::fmt::Display) -> HostError {
    let message = format!("cannot read {}: {why}", object.object_ref());
    HostError::new(ErrorKind::Malformed.as_str(), message)
}
