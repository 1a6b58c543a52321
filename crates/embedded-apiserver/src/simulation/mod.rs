//! Simulated workloads: a small simulation of a cluster's controllers, scheduler and node.
//!
//! Deployments roll out, Jobs complete, Services get endpoints, claims are bound, and Pods run on one node
//! without containers. The simulation writes the status fields of the real controllers, so that clients that
//! wait for them (`kubectl rollout status`, `kubectl wait`, kstatus) continue. Each step depends only on the
//! objects and the clock. [`Control`] holds, delays and fails steps.

mod claim;
mod condition;
mod control;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption;
mod endpoints;
mod hash;
mod job;
mod node;
mod objects;
mod owned_sets;
mod pod;
mod replica_set;
mod revision;
mod rollout;
mod stateful_set;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

pub use self::control::{Control, Failure, Target};

use self::objects::{controller, controller_resource, labels, name, namespace, selects};
use crate::registry::{Controller, Transaction};
use crate::store::{Change, Event};

/// The resource, namespace and name of a controlled object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    resource: &'static str,
    namespace: String,
    name: String,
}

/// The simulated controllers, scheduler and node.
#[derive(Debug, Default)]
pub struct Simulation {
    control: Control,
    /// The objects to sync, with their times.
    due: BTreeSet<(Timestamp, Key)>,
    /// The number of Pod addresses allocated so far.
    addresses: u32,
}

/// The resources that the simulation controls.
const RESOURCES: [&str; 11] = [
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "jobs.batch",
    "persistentvolumeclaims",
    "poddisruptionbudgets.policy",
    "pods",
    "replicasets.apps",
    "replicationcontrollers",
    "services",
    "statefulsets.apps",
];

/// The resources that the admission of Pods depends on.
const ADMITTING: [&str; 2] = ["priorityclasses.scheduling.k8s.io", "serviceaccounts"];

/// The resources that create Pods.
const CREATING: [&str; 5] = [
    "daemonsets.apps",
    "jobs.batch",
    "replicasets.apps",
    "replicationcontrollers",
    "statefulsets.apps",
];

impl Simulation {
    /// Returns a simulation whose steps a [`Control`] holds, delays and fails.
    pub fn new(control: Control) -> Self {
        Self {
            control,
            ..Self::default()
        }
    }

    fn sync(&mut self, tx: &mut Transaction<'_>, key: &Key) {
        let Some(object) = tx.get(key.resource, &key.namespace, &key.name) else {
            return;
        };
        match key.resource {
            "pods" => pod::sync(self, tx, &object),
            "replicasets.apps" | "replicationcontrollers" => {
                replica_set::sync(self, tx, key.resource, &object);
            }
            "deployments.apps" => deployment::sync(self, tx, &object),
            "statefulsets.apps" => stateful_set::sync(self, tx, &object),
            "daemonsets.apps" => daemon_set::sync(self, tx, &object),
            "jobs.batch" => job::sync(self, tx, &object),
            "cronjobs.batch" => cron_job::sync(self, tx, &object),
            "services" => endpoints::sync(tx, &object),
            "persistentvolumeclaims" => claim::sync(self, tx, &object),
            "poddisruptionbudgets.policy" => disruption::sync(tx, &object),
            _ => {}
        }
    }

    /// Schedules an object to be synced again at a time.
    fn requeue(&mut self, at: Timestamp, resource: &'static str, object: &Value) {
        self.due.insert((at, key_of(resource, object)));
    }

    /// Syncs workloads again whose Pods may have been refused because an object was missing.
    fn retry(&mut self, tx: &mut Transaction<'_>, namespace: &str) {
        for resource in CREATING {
            for object in tx.list(resource, Some(namespace)) {
                self.sync(tx, &key_of(resource, &object));
            }
        }
    }

    /// Syncs all objects that a changed [`Control`] can affect.
    fn refresh(&mut self, tx: &mut Transaction<'_>) {
        if !self.control.take_changed() {
            return;
        }
        for resource in ["pods", "persistentvolumeclaims"] {
            for object in tx.list(resource, None) {
                self.sync(tx, &key_of(resource, &object));
            }
        }
    }
}

impl Controller for Simulation {
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        self.refresh(tx);
        let id = &**event.resource.id();
        if id == "namespaces" {
            node::ensure(tx);
        }
        if ADMITTING.contains(&id) && event.change == Change::Added {
            self.retry(tx, namespace(&event.object));
        }
        let Some(resource) = RESOURCES.into_iter().find(|one| *one == id) else {
            return;
        };
        for key in concerned(tx, resource, event) {
            self.sync(tx, &key);
        }
    }

    fn next_due(&self) -> Option<Timestamp> {
        if self.control.is_changed() {
            return Some(Timestamp::UNIX_EPOCH);
        }
        self.due.first().map(|(at, _)| *at)
    }

    fn tick(&mut self, tx: &mut Transaction<'_>) {
        self.refresh(tx);
        while let Some((at, key)) = self.due.first().cloned() {
            if at > tx.now() {
                return;
            }
            self.due.remove(&(at, key.clone()));
            self.sync(tx, &key);
        }
    }
}

fn key_of(resource: &'static str, object: &Value) -> Key {
    Key {
        resource,
        namespace: namespace(object).to_owned(),
        name: name(object).to_owned(),
    }
}

/// Returns the objects that a write affects: the object, its controller, and objects that select it.
fn concerned(tx: &Transaction<'_>, resource: &'static str, event: &Event) -> Vec<Key> {
    let object = &*event.object;
    let mut keys = vec![key_of(resource, object)];
    if let Some(owner) = controller(object)
        && let Some(resource) = controller_resource(owner)
    {
        keys.push(Key {
            resource,
            namespace: namespace(object).to_owned(),
            name: owner["name"].as_str().unwrap_or_default().to_owned(),
        });
    }
    let space = Some(namespace(object));
    match resource {
        "pods" => {
            for selecting in ["services", "poddisruptionbudgets.policy"] {
                let is_concerned = |one: &Value| {
                    let before = event.previous.as_deref();
                    selects(one, labels(object))
                        || before.is_some_and(|before| selects(one, labels(before)))
                };
                let found = tx.list(selecting, space);
                let found = found.iter().filter(|one| is_concerned(one));
                keys.extend(found.map(|one| key_of(selecting, one)));
            }
            if event.change == Change::Deleted {
                // A terminating claim is deleted after the last Pod that uses it.
                let claims = tx.list("persistentvolumeclaims", space);
                keys.extend(
                    claims
                        .iter()
                        .map(|one| key_of("persistentvolumeclaims", one)),
                );
            }
        }
        "persistentvolumeclaims" => {
            let waiting = tx.list("pods", space);
            let waiting = waiting
                .iter()
                .filter(|pod| pod["spec"]["nodeName"].is_null());
            keys.extend(waiting.map(|pod| key_of("pods", pod)));
        }
        _ => {}
    }
    keys
}
