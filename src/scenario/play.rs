//! One scenario from create to destroy.
//!
//! After a stage that failed the others are skipped, but for the clearing up of a cluster.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::documents::Manifest;
use super::failure::Failure;
use super::ground::{Floor, Ground};
use super::load::{Scenario, Steps};
use super::report::{Played, StageReport};
use super::stage::{Documents, Stage};
use super::verify;
use super::world::{Subject, World};
use crate::clock::{self, Stopwatch};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::host::readiness;
use crate::model::annotations::RECONCILE_AT;
use crate::model::{Gvk, Object, ObjectRef, Outcome, yaml};
use crate::script::{Engine, Job, Limits, Pool, Program, Variables, value};

/// Who changes nothing for this long has come to rest: longer than the operator's first backoff.
const REST: Duration = Duration::from_secs(3);
/// A script's time is the scenario's, which it may advance as it likes.
const NEVER: Duration = Duration::from_hours(24 * 1000);

/// The kind of definitions.
pub(super) const CRD: &str = "CustomResourceDefinition";

/// What all scenarios of a suite share.
pub(super) struct Stagehands {
    pub(super) subject: Subject,
    pub(super) ground: Ground,
    /// The kinds that the operator serves.
    pub(super) kinds: Vec<Gvk>,
    pub(super) engine: Engine,
}

/// Plays a scenario. Never panics, whatever fails.
pub(super) async fn play(scenario: &Scenario, hands: &Stagehands) -> Played {
    let since = Stopwatch::start();
    let mut stages = Vec::new();
    let world = match world(scenario, hands).await {
        Ok(world) => Arc::new(world),
        Err(failure) => {
            let took = since.elapsed();
            stages.push(StageReport::new(Stage::Create, took, Err(failure)));
            return Played::new(scenario, stages, took, Vec::new());
        }
    };
    let pool = Pool::new(hands.engine.clone(), 1, tokio::runtime::Handle::current());
    let mut play = Play {
        scenario,
        hands,
        world: Arc::clone(&world),
        pool,
        foreign: Vec::new(),
    };
    for stage in Stage::ALL {
        let steps = scenario.stages.get(&stage);
        let clears_up = stage == Stage::Destroy && !world.floor.is_embedded();
        if stages.iter().any(StageReport::has_failed) && !clears_up {
            continue;
        }
        let since = Stopwatch::start();
        let Some(result) = play.stage(stage, steps).await else {
            continue;
        };
        stages.push(StageReport::new(stage, since.elapsed(), result));
    }
    // What it says was said where it mattered, if it ended early.
    let _ = world.stop().await;
    Played::new(scenario, stages, since.elapsed(), world.said())
}

async fn world(scenario: &Scenario, hands: &Stagehands) -> Result<World, Failure> {
    let floor = Floor::of(&hands.ground).await?;
    let namespace = scenario.settings.namespace.clone().unwrap_or_else(|| {
        let name = scenario.name.to_lowercase().replace(['_', '.'], "-");
        if floor.is_embedded() {
            name
        } else {
            format!("{name}-{:08x}", rand::random::<u32>())
        }
    });
    let snapshots = scenario.snapshots.clone();
    World::new(floor, &namespace, scenario.settings.deadline, snapshots).await
}

struct Play<'a> {
    scenario: &'a Scenario,
    hands: &'a Stagehands,
    world: Arc<World>,
    pool: Pool,
    /// What was on the cluster before and is to stay.
    foreign: Vec<ObjectRef>,
}

impl Play<'_> {
    /// Plays a stage; `None` if it has nothing to do.
    async fn stage(&mut self, stage: Stage, steps: Option<&Steps>) -> Option<Result<(), Failure>> {
        let nothing = Steps::default();
        let result = match stage {
            Stage::Create => self.create().await,
            Stage::Converge => self.serve().await,
            Stage::Idempotence if !self.scenario.settings.idempotence => return None,
            Stage::Idempotence => self.again().await,
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

    /// The documents of a stage, then its script.
    async fn steps(&self, stage: Stage, steps: &Steps) -> Result<(), Failure> {
        match stage.documents() {
            Documents::Applied => self.apply(stage, &steps.manifests).await?,
            Documents::Deleted => self.delete(&steps.manifests).await?,
            Documents::Expected => {}
        }
        let world = &self.world;
        for expected in &steps.expectations {
            let check = async || verify::check(world, expected).await;
            world.eventually(world.deadline, check).await?;
        }
        match &steps.script {
            Some(script) => self.script(script).await,
            None => Ok(()),
        }
    }

    async fn apply(&self, stage: Stage, manifests: &[Manifest]) -> Result<(), Failure> {
        let mut served = Vec::new();
        for manifest in manifests {
            let object = self.world.apply(manifest).await?;
            if self.hands.kinds.contains(&manifest.gvk) {
                served.push((manifest, object.object_ref()));
            }
        }
        if stage < Stage::Converge {
            return Ok(());
        }
        for (manifest, cr) in &served {
            let reconciled = async || self.is_reconciled(cr).await;
            let reconciled = self.world.eventually(self.world.deadline, reconciled).await;
            reconciled.map_err(|failure| failure.at(&manifest.file, manifest.position))?;
        }
        Ok(())
    }

    async fn delete(&self, manifests: &[Manifest]) -> Result<(), Failure> {
        let world = &self.world;
        for manifest in manifests {
            let text = |key: &str| manifest.value["metadata"][key].as_str();
            let name = text("name").unwrap_or_default();
            let deleted = async {
                let object = world
                    .address(&manifest.gvk, text("namespace"), name)
                    .await?;
                world.delete(&object).await?;
                world.is_gone(&object, world.deadline).await
            };
            let at = |failure: Failure| failure.at(&manifest.file, manifest.position);
            deleted.await.map_err(at)?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<(), Failure> {
        let namespace = Manifest::namespace(&self.world.namespace);
        for manifest in self.scenario.crds.iter().chain([&namespace]) {
            let name = manifest.value["metadata"]["name"].as_str();
            let object = ObjectRef::new(manifest.gvk.clone(), None, name.unwrap_or_default());
            if self.world.get(&object).await?.is_some() {
                self.foreign.push(object);
            }
            self.world.apply(manifest).await?;
        }
        Ok(())
    }

    async fn serve(&self) -> Result<(), Failure> {
        let everywhere = self.world.floor.is_embedded() || self.scenario.settings.all_namespaces;
        let namespace = Some(&*self.world.namespace).filter(|_| !everywhere);
        let serving = self.world.serve(&self.hands.subject, namespace).await;
        match serving {
            // Why it has ended it says when it is stopped.
            Err(failure) => Err(self.world.stop().await.err().unwrap_or(failure)),
            serving => serving,
        }
    }

    /// Reconciles every custom resource once more: nothing may be written.
    async fn again(&self) -> Result<(), Failure> {
        let world = &self.world;
        self.comes_to_rest().await?;
        let before = world.floor.requests.written();
        for cr in world.floor.runs.objects() {
            if let Some(now) = world.get(&cr).await?.filter(|now| !now.deleting) {
                self.request_run(&now).await?;
            }
        }
        world.floor.advance(REST).await?;
        let writes = world.floor.requests.writes_after(before);
        if writes.is_empty() {
            return Ok(());
        }
        let count = match writes.len() {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let message = format!("reconciled once more, the operator wrote {count}");
        Err(Failure::new(message).with_details(writes.join("\n")))
    }

    /// Lets time pass until nothing is run and written any more.
    async fn comes_to_rest(&self) -> Result<(), Failure> {
        let floor = &self.world.floor;
        let deadline = clock::now() + self.world.deadline;
        loop {
            let before = (floor.runs.count(), floor.requests.written());
            floor.advance(REST).await?;
            if (floor.runs.count(), floor.requests.written()) == before {
                return Ok(());
            }
            if clock::now() >= deadline {
                return Err(Failure::new("the operator goes on running and writing"));
            }
        }
    }

    async fn request_run(&self, cr: &Object) -> Result<(), Failure> {
        let world = &self.world;
        let requested = || {
            world
                .floor
                .runs
                .last_of(cr)
                .map_or(0, |last| last.requested)
        };
        let before = requested();
        let at = format!("idempotence {before}");
        let patch = json!({"metadata": {"annotations": {RECONCILE_AT: at}}});
        let (object, body) = (cr.object_ref(), Bytes::from(patch.to_string()));
        let options = WriteOptions::default();
        let patched = world
            .cluster
            .patch(&object, PatchKind::Merge, body, &options);
        let failed = |error| Failure::of_cluster("cannot ask for a run", &error);
        patched.await.map_err(failed)?;
        let ran = async || {
            if requested() > before {
                return Ok(());
            }
            Err(Failure::new(format!(
                "{object} was not reconciled once more"
            )))
        };
        world.eventually(world.deadline, ran).await
    }

    /// Deletes what the scenario has applied. Custom resources must go while the operator serves; on the
    /// embedded API all else goes with the server.
    async fn destroy(&self) -> Result<(), Failure> {
        let world = &self.world;
        let mut result = Ok(());
        let (served, others): (Vec<_>, Vec<_>) = world
            .applied()
            .into_iter()
            .filter(|object| !self.foreign.contains(object))
            .partition(|object| self.hands.kinds.contains(&object.gvk));
        for cr in served.iter().rev() {
            result = result.and(world.delete(cr).await);
        }
        for cr in &served {
            if result.is_ok() {
                result = world.is_gone(cr, world.deadline).await;
            }
        }
        if !world.floor.is_embedded() {
            for object in others.iter().rev() {
                result = result.and(world.delete(object).await);
            }
            // The next scenario applies them anew.
            for crd in others.iter().filter(|other| &*other.gvk.kind == CRD) {
                result = result.and(world.is_gone(crd, world.deadline).await);
            }
        }
        result.and(world.stop().await)
    }

    /// A custom resource's last run has seen its present generation and has done all, and the custom
    /// resource says so.
    async fn is_reconciled(&self, cr: &ObjectRef) -> Result<(), Failure> {
        let Some(now) = self.world.get(cr).await? else {
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
        let Some(last) = self.world.floor.runs.last_of(&now) else {
            return failed("it has not been reconciled".to_owned());
        };
        if last.outcome != Outcome::Done {
            let word = last.outcome.as_str();
            let message = last.outcome.message().unwrap_or_default();
            return failed(format!("the last run is {word}: {message}"));
        }
        match readiness::not_ready(&value) {
            Some(why) => failed(format!("it is not ready: {why}")),
            None => Ok(()),
        }
    }

    async fn script(&self, program: &Arc<Program>) -> Result<(), Failure> {
        let vars = serde_json::Value::Object(self.scenario.settings.vars.clone());
        let job = Job {
            program: Arc::clone(program),
            native: None,
            variables: Variables::from([
                ("embedded", self.world.floor.is_embedded().into()),
                ("namespace", self.world.namespace.as_str().into()),
                ("scenario", self.scenario.name.as_str().into()),
                ("vars", value::to_dynamic(&vars)),
            ]),
            state: Arc::<World>::clone(&self.world),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            deadline: clock::now() + NEVER,
        };
        let ran = self.pool.run(job).await;
        ran.map(drop).map_err(|error| Failure::from(&error))
    }
}
