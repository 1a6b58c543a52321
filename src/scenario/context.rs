//! The context of one scenario: its environment, namespace and operator.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::documents::Manifest;
use super::environment::Environment;
use super::failure::Failure;
use super::permission_recorder::PermissionRecorder;
use super::snapshot::Snapshots;
use crate::clock;
use crate::cluster::connect::{self, Source, connect};
use crate::cluster::request::{DeleteOptions, WriteOptions};
use crate::cluster::{Cluster, ErrorKind};
use crate::controller::RunRate;
use crate::host::readiness;
use crate::model::{Gvk, Object, ObjectRef};
use crate::operator;
use crate::role::Toolchain;
use crate::script::Limits;

/// The field manager of scenarios.
const MANAGER: &str = "rhai-operator-test";

/// The name of the operator.
const NAME: &str = "rhai-operator";

/// The operator under test.
#[derive(Clone)]
pub(crate) struct TestedOperator {
    /// watches.yaml.
    pub watches_file: std::path::PathBuf,
    /// The folder of the roles.
    pub roles_dir: std::path::PathBuf,
    /// Environment variables that watches.yaml may name.
    pub environment: crate::watches::Environment,
    /// Environment variables that the operator opens to roles.
    pub allow_env: Vec<String>,
    /// Limits of one run of a role. Scripts of scenarios have the default limits.
    pub limits: Limits,
    /// Compiles the roles.
    pub toolchain: Toolchain,
    /// Records the permissions that its requests need.
    pub recorder: Option<Arc<PermissionRecorder>>,
}

/// The context of one scenario.
pub(super) struct ScenarioContext {
    pub(super) environment: Environment,
    /// The connection of the scenario itself, not of the operator.
    pub(super) cluster: Cluster,
    pub(super) namespace: String,
    /// The maximum time until an expectation holds.
    pub(super) deadline: Duration,
    pub(super) snapshots: Snapshots,
    operator: Mutex<Option<RunningOperator>>,
    /// The objects that the scenario applied and did not delete, in order.
    applied: Mutex<Vec<ObjectRef>>,
    /// The output of `print` in its scripts.
    said: Mutex<Vec<String>>,
}

struct RunningOperator {
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), operator::Error>>,
}

impl ScenarioContext {
    /// Creates the context of an empty namespace.
    pub(super) async fn new(
        environment: Environment,
        namespace: &str,
        deadline: Duration,
        snapshots: Snapshots,
    ) -> Result<Self, Failure> {
        let options = connect::Options {
            source: Source::Client(environment.client()),
            ..connect::Options::default()
        };
        let connection = connect(options).await;
        let connection = connection.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self {
            environment,
            cluster: connection.cluster,
            namespace: namespace.to_owned(),
            deadline,
            snapshots,
            operator: Mutex::default(),
            applied: Mutex::default(),
            said: Mutex::default(),
        })
    }

    /// Starts the operator, unless it serves already.
    pub(super) async fn start_operator(
        &self,
        tested: &TestedOperator,
        namespaces: Option<&str>,
    ) -> Result<(), Failure> {
        if self.operator.lock().is_some() {
            return Ok(());
        }
        let mut environment = tested.environment.clone();
        environment.set("WATCH_NAMESPACE", namespaces.unwrap_or_default());
        let client = self
            .environment
            .requests
            .count_requests(self.environment.client(), tested.recorder.clone());
        let options = operator::Options {
            watches_file: tested.watches_file.clone(),
            roles_dir: tested.roles_dir.clone(),
            environment,
            allow_env: tested.allow_env.clone(),
            source: Source::Client(client),
            clock: self.environment.clock(),
            observer: Some(Arc::clone(&self.environment.runs) as _),
            metrics_address: None,
            health_address: None,
            name: NAME.to_owned(),
            election: None,
            max_concurrent: 4,
            period: operator::DEFAULT_PERIOD,
            run_rate: RunRate::default(),
            drain: Duration::ZERO,
            limits: tested.limits,
        };
        let shutdown = CancellationToken::new();
        let running =
            operator::run_until(options, tested.toolchain.clone(), shutdown.child_token());
        let task = tokio::spawn(running);
        *self.operator.lock() = Some(RunningOperator { shutdown, task });
        while !self.environment.runs.is_serving() {
            self.check_operator()?;
            // Files are read by a thread of the runtime, which takes real time.
            let breath = tokio::task::spawn_blocking(std::thread::yield_now);
            let _ = breath.await;
        }
        self.settle().await
    }

    /// Fails if the operator ended.
    fn check_operator(&self) -> Result<(), Failure> {
        let ended = |serving: &RunningOperator| serving.task.is_finished();
        if self.operator.lock().as_ref().is_some_and(ended) {
            return Err(Failure::new("the operator has ended"));
        }
        Ok(())
    }

    /// Stops the operator. Fails if it ended before.
    pub(super) async fn stop_operator(&self) -> Result<(), Failure> {
        let serving = self.operator.lock().take();
        let Some(RunningOperator { shutdown, task }) = serving else {
            return Ok(());
        };
        shutdown.cancel();
        let ended = task.await;
        self.environment.runs.operator_stopped();
        let error = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(operator::Error::Project(diagnostics))) => {
                let diagnostics: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
                return Err(
                    Failure::new("the project has errors").with_details(diagnostics.join("\n"))
                );
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err(Failure::new(format!("the operator has ended: {error}")))
    }

    /// Waits until the operator is idle.
    pub(super) async fn settle(&self) -> Result<(), Failure> {
        self.check_operator()?;
        self.environment.settle().await
    }

    /// Repeats a check until it succeeds. Returns its last failure after `within`.
    pub(super) async fn eventually<T>(
        &self,
        within: Duration,
        mut check: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let deadline = clock::now() + within;
        loop {
            if self.environment.is_embedded() {
                self.settle().await?;
            } else {
                self.check_operator()?;
            }
            match check().await {
                Err(failure) if clock::now() >= deadline => return Err(failure),
                Err(_) => self.environment.wait_before_retry().await,
                done => return done,
            }
        }
    }

    /// Returns the reference of an object. The default namespace is that of the scenario.
    pub(super) async fn object_ref(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<ObjectRef, Failure> {
        let kind = self.cluster.kind(gvk).await;
        let kind = kind.map_err(|error| Failure::from_cluster_error(&gvk.kind_group(), &error))?;
        let Some(kind) = kind else {
            return Err(Failure::new(format!("the cluster does not serve {gvk}")));
        };
        let namespace = namespace.unwrap_or(&self.namespace);
        let namespace = Some(namespace).filter(|_| kind.namespaced);
        Ok(ObjectRef::new(gvk.clone(), namespace, name))
    }

    /// Applies an object of a file; a CRD is waited for.
    pub(super) async fn apply(&self, manifest: &Manifest) -> Result<Arc<Object>, Failure> {
        let applied = self.apply_value(&manifest.gvk, manifest.value.clone());
        let at = |failure: Failure| failure.at(&manifest.file, manifest.position);
        applied.await.map_err(at)
    }

    /// Applies an object; a CRD is waited for.
    pub(super) async fn apply_value(
        &self,
        gvk: &Gvk,
        mut value: Value,
    ) -> Result<Arc<Object>, Failure> {
        let metadata = |key: &str| value["metadata"][key].as_str().map(str::to_owned);
        let (name, namespace) = (metadata("name"), metadata("namespace"));
        let name_or_empty = name.as_deref().unwrap_or_default();
        let object = self
            .object_ref(gvk, namespace.as_deref(), name_or_empty)
            .await?;
        if let Some(namespace) = &object.namespace {
            value["metadata"]["namespace"] = Value::from(&**namespace);
        }
        let body = Bytes::from(value.to_string());
        let options = WriteOptions {
            manager: MANAGER.to_owned(),
            force: true,
            ..WriteOptions::default()
        };
        let written = if name.is_some() {
            self.cluster.apply(&object, body, &options).await
        } else {
            let namespace = object.namespace.as_deref();
            self.cluster.create(gvk, namespace, body, &options).await
        };
        let written =
            written.map_err(|error| Failure::from_cluster_error("cannot apply", &error))?;
        let object = written.object.object_ref();
        self.note_applied(object);
        if &*gvk.kind == CRD {
            self.wait_established(&written.object).await?;
        }
        Ok(written.object)
    }

    fn note_applied(&self, object: ObjectRef) {
        let mut applied = self.applied.lock();
        applied.retain(|known| *known != object);
        applied.push(object);
    }

    /// Waits until the kinds of a CRD are served.
    async fn wait_established(&self, crd: &Object) -> Result<(), Failure> {
        let value = crd.value();
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
        let version = text("/spec/versions/0/name");
        let parts = [group, version, kind].map(Option::unwrap_or_default);
        let gvk = Gvk::new(parts[0], parts[1], parts[2]);
        let object = crd.object_ref();
        self.eventually(self.deadline, async || {
            let now = self.get(&object).await?;
            let why = now.and_then(|now| readiness::not_ready(&now.value()));
            if let Some(why) = why {
                return Err(Failure::new(format!("{object}: {why}")));
            }
            self.object_ref(&gvk, None, "").await.map(drop)
        })
        .await
    }

    /// Reads an object.
    pub(super) async fn get(&self, object: &ObjectRef) -> Result<Option<Arc<Object>>, Failure> {
        let found = self.cluster.get(object).await;
        found.map_err(|error| Failure::from_cluster_error(&object.to_string(), &error))
    }

    /// Deletes an object; that it is absent is no error.
    pub(super) async fn delete(&self, object: &ObjectRef) -> Result<(), Failure> {
        self.applied.lock().retain(|known| known != object);
        match self.cluster.delete(object, &DeleteOptions::default()).await {
            Err(error) if error.kind != ErrorKind::KindAbsent => Err(Failure::from_cluster_error(
                &format!("cannot delete {object}"),
                &error,
            )),
            _ => Ok(()),
        }
    }

    /// Waits until an object is gone.
    pub(super) async fn wait_gone(
        &self,
        object: &ObjectRef,
        within: Duration,
    ) -> Result<(), Failure> {
        self.eventually(within, async || {
            let left = match self.cluster.get(object).await {
                Err(error) if error.kind == ErrorKind::KindAbsent => None,
                left => {
                    left.map_err(|error| Failure::from_cluster_error(&object.to_string(), &error))?
                }
            };
            let Some(left) = left else {
                return Ok(());
            };
            let finalizers = left.value()["metadata"]["finalizers"].clone();
            let failure = Failure::new(format!("{object} still exists"));
            Err(match finalizers {
                Value::Null => failure,
                finalizers => failure.with_details(format!("its finalizers are {finalizers}")),
            })
        })
        .await
    }

    /// The objects that the scenario applied and did not delete, in order.
    pub(super) fn applied(&self) -> Vec<ObjectRef> {
        self.applied.lock().clone()
    }

    /// Stores a line that a script printed, for the report.
    pub(super) fn print(&self, text: String) {
        self.said.lock().push(text);
    }

    /// Takes the output of the scripts.
    pub(super) fn take_printed(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock())
    }
}

/// The kind of custom resource definitions.
pub(super) const CRD: &str = "CustomResourceDefinition";
