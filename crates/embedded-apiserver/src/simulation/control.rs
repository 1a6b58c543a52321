//! Holds, delays and fails simulated workloads.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::objects::{controller, controller_resource, labels, name, namespace};
use crate::builtin::path::text;
use crate::labels::LabelSelector;
use crate::registry::Transaction;

/// Selects the objects to hold, delay or fail. All criteria must match the object, or an object that
/// controls it: a target that matches a Deployment matches its Pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// `Pod`, `Deployment`, `PersistentVolumeClaim`…
    pub kind: Option<String>,
    /// A namespace.
    pub namespace: Option<String>,
    /// A name.
    pub name: Option<String>,
    /// Selects objects by their labels.
    labels: LabelSelector,
}

/// A failure of Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The Pods run, but their probes never succeed.
    NeverReady,
    /// Their containers exit immediately after each start.
    CrashLoopBackOff,
    /// The image of their containers cannot be pulled.
    ImagePullBackOff,
    /// The Pods exit with code 1, so a Job fails.
    Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Hold,
    Delay(Duration),
    Fail(Failure),
}

/// The planned behavior of a Pod or claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlannedBehavior {
    /// True if the object stays in its current state.
    pub(super) held: bool,
    /// The delay after the creation.
    pub(super) delay: Duration,
    /// The failure of a Pod, if any.
    pub(super) failure: Option<Failure>,
}

#[derive(Debug, Default)]
struct Rules {
    rules: Vec<(Target, Effect)>,
    changed: bool,
}

/// A handle for controlling a [`Simulation`](super::Simulation). Clones control the same simulation.
///
/// A change takes effect at the next write, or when the server settles. If several rules match an object, the
/// last one applies.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Mutex<Rules>>);

impl Control {
    /// Returns a control without rules: nothing is held, delayed or failed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Prevents Pods from starting and claims from being bound.
    pub fn hold(&self, target: Target) {
        self.add(target, Effect::Hold);
    }

    /// Delays the readiness of Pods and the binding of claims by a time after their creation.
    pub fn delay(&self, target: Target, delay: Duration) {
        self.add(target, Effect::Delay(delay));
    }

    /// Makes Pods fail.
    pub fn fail(&self, target: Target, failure: Failure) {
        self.add(target, Effect::Fail(failure));
    }

    /// Removes all rules of this target.
    pub fn release(&self, target: &Target) {
        let mut state = self.0.lock();
        state.rules.retain(|(one, _)| one != target);
        state.changed = true;
    }

    /// Removes all rules.
    pub fn release_all(&self) {
        let mut state = self.0.lock();
        state.rules.clear();
        state.changed = true;
    }

    fn add(&self, target: Target, effect: Effect) {
        let mut state = self.0.lock();
        state.rules.push((target, effect));
        state.changed = true;
    }

    pub(super) fn is_changed(&self) -> bool {
        self.0.lock().changed
    }

    /// Returns whether the rules changed since the last call.
    pub(super) fn take_changed(&self) -> bool {
        std::mem::take(&mut self.0.lock().changed)
    }

    /// Returns the planned behavior of a Pod or a claim.
    pub(super) fn planned_behavior(&self, tx: &Transaction<'_>, object: &Value) -> PlannedBehavior {
        let mut fate = PlannedBehavior::default();
        let state = self.0.lock();
        if state.rules.is_empty() {
            return fate;
        }
        let chain = chain(tx, object);
        for (target, effect) in &state.rules {
            if !target.fits(object, &chain) {
                continue;
            }
            match effect {
                Effect::Hold => fate.held = true,
                Effect::Delay(delay) => fate.delay = *delay,
                Effect::Fail(failure) => fate.failure = Some(*failure),
            }
        }
        fate
    }
}

/// Returns the kind and name of an object, of its controller, of the controller's controller and so on.
fn chain(tx: &Transaction<'_>, object: &Value) -> Vec<(String, String)> {
    let mut chain = vec![(text(object, &["kind"]).to_owned(), name(object).to_owned())];
    let mut owner = controller(object).cloned();
    while let Some(one) = owner {
        chain.push((
            text(&one, &["kind"]).to_owned(),
            text(&one, &["name"]).to_owned(),
        ));
        let resource = controller_resource(&one);
        let live = resource.and_then(|id| tx.get(id, namespace(object), text(&one, &["name"])));
        owner = live.and_then(|live| controller(&live).cloned());
    }
    chain
}

impl Target {
    /// Selects one object by its kind, namespace and name.
    pub fn object(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// Adds a label selector: `matchLabels` and `matchExpressions`, a map of labels, or the text of a query
    /// such as `app=web`. Returns an error for an invalid selector.
    pub fn with_labels(mut self, selector: &Value) -> Result<Self, String> {
        self.labels = LabelSelector::from_value(selector)?;
        Ok(self)
    }

    fn fits(&self, object: &Value, chain: &[(String, String)]) -> bool {
        let is =
            |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|one| one == value);
        is(&self.namespace, namespace(object))
            && chain
                .iter()
                .any(|(kind, name)| is(&self.kind, kind) && is(&self.name, name))
            && self.labels.matches(|key| labels(object)[key].as_str())
    }
}
