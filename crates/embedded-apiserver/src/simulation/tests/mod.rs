//! Tests of the simulated workloads on a server with all controllers and a controlled clock.

mod deployments;
mod jobs;
mod pods;
mod sets;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Control, Failure, Target};
use crate::builtin::path::{at, items, text};
use crate::{ApiServer, Options};
use clock::Clock;

/// A server, its control and its clock.
struct Cluster {
    server: ApiServer,
    control: Control,
    now: Arc<Mutex<Timestamp>>,
}

impl Cluster {
    fn new() -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = Arc::new(Mutex::new(start));
        let read = Arc::clone(&now);
        let control = Control::new();
        let server = ApiServer::new(Options {
            clock: Clock::from_fn(move || *read.lock()),
            simulation: control.clone(),
            ..Options::default()
        });
        Self {
            server,
            control,
            now,
        }
    }

    fn create(&self, resource: &str, object: Value) {
        let made = self
            .server
            .registry
            .write(|tx| tx.create(resource, "default", object));
        made.unwrap();
    }

    fn change(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let changed = self.server.registry.write(|tx| {
            let mut object = (*tx.get(resource, "default", name).unwrap()).clone();
            change(&mut object);
            tx.update(resource, "", object)
        });
        changed.unwrap();
    }

    fn delete(&self, resource: &str, name: &str) {
        let gone = self
            .server
            .registry
            .write(|tx| tx.delete(resource, "default", name, None));
        gone.unwrap();
    }

    fn get(&self, resource: &str, name: &str) -> Value {
        self.find(resource, name).unwrap()
    }

    fn find(&self, resource: &str, name: &str) -> Option<Value> {
        let found = self
            .server
            .registry
            .write(|tx| tx.get(resource, "default", name));
        found.map(|object| (*object).clone())
    }

    fn list(&self, resource: &str) -> Vec<Value> {
        let all = self
            .server
            .registry
            .write(|tx| tx.list(resource, Some("default")));
        all.iter().map(|object| (**object).clone()).collect()
    }

    fn advance(&self, seconds: i64) {
        *self.now.lock() += SignedDuration::from_secs(seconds);
        self.server.settle();
    }
}

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "nginx", "ports": [{"name": "http", "containerPort": 80}]}]},
    })
}

fn workload(kind: &str, replicas: i64) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template()},
    });
    if kind != "DaemonSet" {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]}}},
    })
}

fn conditions(object: &Value) -> Vec<String> {
    let conditions = items(&object["status"]["conditions"]).iter();
    let one = |c: &Value| {
        format!(
            "{}={} {}",
            text(c, &["type"]),
            text(c, &["status"]),
            text(c, &["reason"])
        )
    };
    conditions.map(one).collect()
}
