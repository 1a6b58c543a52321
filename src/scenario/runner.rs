//! Runs one scenario, from `create` to `destroy`.
//!
//! After a stage fails, the runner skips the other stages. On a cluster, it still deletes the objects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::context::{CRD, ScenarioContext, TestedOperator};
use super::documents::Manifest;
use super::environment::{Environment, Target};
use super::expectation_check;
use super::failure::Failure;
use super::load::{Scenario, Steps};
use super::report::{ScenarioReport, StageReport};
use super::stage::{DocumentUse, Stage};
use crate::clock::{self, Stopwatch};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::host::readiness;
use crate::model::annotations::RECONCILE_AT;
use crate::model::{Gvk, Object, ObjectRef, Outcome, yaml};
use crate::script::{Engine, Job, Limits, Pool, Program, Variables, value};

/// The time without runs and writes after which the operator counts as idle. It exceeds the first backoff.
const QUIET_TIME: Duration = Duration::from_secs(3);
/// The deadline of a script, which no script reaches: a script can advance the time.
const SCRIPT_DEADLINE: Duration = Duration::from_hours(24 * 1000);

/// The context that all scenarios of a suite share.
pub(super) struct SuiteContext {
    pub(super) operator: TestedOperator,
    pub(super) target: Target,
    /// The kinds that the operator serves.
    pub(super) kinds: Vec<Gvk>,
    pub(super) engine: Engine,
}

/// Runs a scenario.
pub(super) async fn run(scenario: &Scenario, suite: &SuiteContext) -> ScenarioReport {
    let since = Stopwatch::start();
    let mut stages = Vec::new();
    let context = match context(scenario, suite).await {
        Ok(context) => Arc::new(context),
        Err(failure) => {
            let took = since.elapsed();
            stages.push(StageReport::new(Stage::Create, took, Err(failure)));
            return ScenarioReport::new(scenario, stages, took, Vec::new());
        }
    };
    let pool = Pool::new(suite.engine.clone(), 1, tokio::runtime::Handle::current());
    let mut runner = Runner {
        scenario,
        suite,
        context: Arc::clone(&context),
        pool,
        preexisting: Vec::new(),
    };
    for stage in Stage::ALL {
        let steps = scenario.stages.get(&stage);
        let clears_up = stage == Stage::Destroy && !context.environment.is_embedded();
        if stages.iter().any(StageReport::has_failed) && !clears_up {
            continue;
        }
        let since = Stopwatch::start();
        let Some(result) = runner.stage(stage, steps).await else {
            continue;
        };
        stages.push(StageReport::new(stage, since.elapsed(), result));
    }
    // If the operator ended early, the stage that noticed it has reported the error.
    let _ = context.stop_operator().await;
    ScenarioReport::new(scenario, stages, since.elapsed(), context.take_printed())
}

async fn context(scenario: &Scenario, suite: &SuiteContext) -> Result<ScenarioContext, Failure> {
    let environment = Environment::start(&suite.target).await?;
    let namespace = scenario.settings.namespace.clone().unwrap_or_else(|| {
        let name = scenario.name.to_lowercase().replace(['_', '.'], "-");
        if environment.is_embedded() {
            name
        } else {
            format!("{name}-{:08x}", rand::random::<u32>())
        }
    });
    let snapshots = scenario.snapshots.clone();
    ScenarioContext::new(
        environment,
        &namespace,
        scenario.settings.deadline,
        snapshots,
    )
    .await
}

struct Runner<'a> {
    scenario: &'a Scenario,
    suite: &'a SuiteContext,
    context: Arc<ScenarioContext>,
    pool: Pool,
    /// Objects that existed before the scenario, which it does not delete.
    preexisting: Vec<ObjectRef>,
}

impl Runner<'_> {
    /// Runs a stage. Returns `None` if it has nothing to do.
    async fn stage(&mut self, stage: Stage, steps: Option<&Steps>) -> Option<Result<(), Failure>> {
        let nothing = Steps::default();
        let result = match stage {
            Stage::Create => self.create().await,
            Stage::Converge => self.start_operator().await,
            Stage::Idempotence if !self.scenario.settings.idempotence => return None,
            Stage::Idempotence => self.check_idempotence().await,
            Stage::Destroy => Ok(()),
            _ if steps.is_none() => return None,
            _ => Ok(()),
        };
        let steps = steps.unwrap_or(&nothing);
        let result = match result {
            Ok(()) => self.steps(stage, steps).await,
            failed => failed,
        };
        if stage != Stage::Destroy {
            return Some(result);
        }
        let gone = self.destroy().await;
        Some(result.and(gone))
    }

    /// Executes the documents of a stage, then its script.
    async fn steps(&self, stage: Stage, steps: &Steps) -> Result<(), Failure> {
        match stage.documents() {
            DocumentUse::Apply => self.apply(stage, &steps.manifests).await?,
            DocumentUse::Delete => self.delete(&steps.manifests).await?,
            DocumentUse::Expect => {}
        }
        let context = &self.context;
        for expected in &steps.expectations {
            let check = async || expectation_check::check(context, expected).await;
            context.eventually(context.deadline, check).await?;
        }
        match &steps.script {
            Some(script) => self.run_script(script).await,
            None => Ok(()),
        }
    }

    async fn apply(&self, stage: Stage, manifests: &[Manifest]) -> Result<(), Failure> {
        let mut served = Vec::new();
        for manifest in manifests {
            let object = self.context.apply(manifest).await?;
            if self.suite.kinds.contains(&manifest.gvk) {
                served.push((manifest, object.object_ref()));
            }
        }
        if stage < Stage::Converge {
            return Ok(());
        }
        for (manifest, cr) in &served {
            let reconciled = async || self.check_reconciled(cr).await;
            let reconciled = self
                .context
                .eventually(self.context.deadline, reconciled)
                .await;
            reconciled.map_err(|failure| failure.at(&manifest.file, manifest.position))?;
        }
        Ok(())
    }

    async fn delete(&self, manifests: &[Manifest]) -> Result<(), Failure> {
        let context = &self.context;
        for manifest in manifests {
            let text = |key: &str| manifest.value["metadata"][key].as_str();
            let name = text("name").unwrap_or_default();
            let deleted = async {
                let object = context
                    .object_ref(&manifest.gvk, text("namespace"), name)
                    .await?;
                context.delete(&object).await?;
                context.wait_gone(&object, context.deadline).await
            };
            let at = |failure: Failure| failure.at(&manifest.file, manifest.position);
            deleted.await.map_err(at)?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<(), Failure> {
        let namespace = Manifest::namespace(&self.context.namespace);
        for manifest in self.scenario.crds.iter().chain([&namespace]) {
            let name = manifest.value["metadata"]["name"].as_str();
            let object = ObjectRef::new(manifest.gvk.clone(), None, name.unwrap_or_default());
            if self.context.get(&object).await?.is_some() {
                self.preexisting.push(object);
            }
            self.context.apply(manifest).await?;
        }
        Ok(())
    }

    async fn start_operator(&self) -> Result<(), Failure> {
        let everywhere =
            self.context.environment.is_embedded() || self.scenario.settings.all_namespaces;
        let namespace = Some(&*self.context.namespace).filter(|_| !everywhere);
        let serving = self
            .context
            .start_operator(&self.suite.operator, namespace)
            .await;
        match serving {
            // `stop_operator` returns the reason.
            Err(failure) => Err(self.context.stop_operator().await.err().unwrap_or(failure)),
            serving => serving,
        }
    }

    /// Reconciles each custom resource once more. Fails if the operator writes.
    async fn check_idempotence(&self) -> Result<(), Failure> {
        let context = &self.context;
        self.wait_quiet().await?;
        let before = context.environment.requests.write_count();
        for cr in context.environment.runs.objects() {
            if let Some(now) = context.get(&cr).await?.filter(|now| !now.deleting) {
                self.request_run(&now).await?;
            }
        }
        context.environment.advance(QUIET_TIME).await?;
        let writes = context.environment.requests.writes_after(before);
        if writes.is_empty() {
            return Ok(());
        }
        let count = match writes.len() {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let message = format!("in one more run, the operator wrote {count}");
        Err(Failure::new(message).with_details(writes.join("\n")))
    }

    /// Lets time pass until the operator runs and writes nothing.
    async fn wait_quiet(&self) -> Result<(), Failure> {
        let environment = &self.context.environment;
        let deadline = clock::now() + self.context.deadline;
        loop {
            let before = (environment.runs.count(), environment.requests.write_count());
            environment.advance(QUIET_TIME).await?;
            if (environment.runs.count(), environment.requests.write_count()) == before {
                return Ok(());
            }
            if clock::now() >= deadline {
                return Err(Failure::new(
                    "the operator does not stop running and writing",
                ));
            }
        }
    }

    async fn request_run(&self, cr: &Object) -> Result<(), Failure> {
        let context = &self.context;
        let requested = || {
            context
                .environment
                .runs
                .last_run(cr)
                .map_or(0, |last| last.requested)
        };
        let before = requested();
        let at = format!("idempotence {before}");
        let patch = json!({"metadata": {"annotations": {RECONCILE_AT: at}}});
        let (object, body) = (cr.object_ref(), Bytes::from(patch.to_string()));
        let options = WriteOptions::default();
        let patched = context
            .cluster
            .patch(&object, PatchKind::Merge, body, &options);
        let failed = |error| Failure::from_cluster_error("cannot request a run", &error);
        patched.await.map_err(failed)?;
        let ran = async || {
            if requested() > before {
                return Ok(());
            }
            Err(Failure::new(format!("{object} was not reconciled again")))
        };
        context.eventually(context.deadline, ran).await
    }

    /// Deletes the objects that the scenario applied. Custom resources must be deleted while the operator
    /// runs, because it releases their finalizers. On the embedded API, all other objects end with the server.
    async fn destroy(&self) -> Result<(), Failure> {
        let context = &self.context;
        let mut result = Ok(());
        let (served, others): (Vec<_>, Vec<_>) = context
            .applied()
            .into_iter()
            .filter(|object| !self.preexisting.contains(object))
            .partition(|object| self.suite.kinds.contains(&object.gvk));
        for cr in served.iter().rev() {
            result = result.and(context.delete(cr).await);
        }
        for cr in &served {
            if result.is_ok() {
                result = context.wait_gone(cr, context.deadline).await;
            }
        }
        if !context.environment.is_embedded() {
            for object in others.iter().rev() {
                result = result.and(context.delete(object).await);
            }
            // The next scenario can apply the same CRDs again.
            for crd in others.iter().filter(|other| &*other.gvk.kind == CRD) {
                result = result.and(context.wait_gone(crd, context.deadline).await);
            }
        }
        result.and(context.stop_operator().await)
    }

    /// Fails unless the last run of a custom resource observed the current generation, succeeded, and wrote
    /// that to the status.
    async fn check_reconciled(&self, cr: &ObjectRef) -> Result<(), Failure> {
        let Some(now) = self.context.get(cr).await? else {
            return Err(Failure::new(format!("{cr} is gone")));
        };
        let value = now.value();
        let failed = |why: String| {
            let conditions = &value["status"]["conditions"];
            let conditions = if conditions.is_null() {
                String::new()
            } else {
                yaml::write(&json!({"conditions": conditions}))
            };
            Err(Failure::new(format!("{cr}: {why}")).with_details(conditions))
        };
        let Some(last) = self.context.environment.runs.last_run(&now) else {
            return failed("it has not been reconciled".to_owned());
        };
        if last.outcome != Outcome::Done {
            let word = last.outcome.as_str();
            let message = last.outcome.message().map_or("", |message| message);
            return failed(format!("the last run is {word}: {message}"));
        }
        match readiness::not_ready(&value) {
            Some(why) => failed(format!("it is not ready: {why}")),
            None => Ok(()),
        }
    }

    async fn run_script(&self, program: &Arc<Program>) -> Result<(), Failure> {
        let vars = serde_json::Value::Object(self.scenario.settings.vars.clone());
        let job = Job {
            program: Arc::clone(program),
            native: None,
            variables: Variables::from([
                ("embedded", self.context.environment.is_embedded().into()),
                ("namespace", self.context.namespace.as_str().into()),
                ("scenario", self.scenario.name.as_str().into()),
                ("vars", value::to_dynamic(&vars)),
            ]),
            state: Arc::<ScenarioContext>::clone(&self.context),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            deadline: clock::now() + SCRIPT_DEADLINE,
        };
        let ran = self.pool.run(job).await;
        ran.map(drop).map_err(|error| Failure::from(&error))
    }
}
