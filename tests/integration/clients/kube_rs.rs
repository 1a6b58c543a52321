//! A controller of kube-rs: its custom resources get a ConfigMap each, and a finalizer.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use test_harness::{Case, Crd, SOON, eventually};

const FINALIZER: &str = "things.test/cleanup";

type Failure = finalizer::Error<kube::Error>;

/// The shared data of reconciliations.
struct Context {
    things: Api<DynamicObject>,
    maps: Api<ConfigMap>,
    resource: ApiResource,
    /// The names of things that were cleaned up.
    cleaned: Mutex<BTreeSet<String>>,
}

/// Its whole life; what came of it.
pub(super) async fn live(case: &Case) -> anyhow::Result<Vec<String>> {
    let resource = case.define(&Crd::new("Thing")).await?;
    let context = Arc::new(Context {
        things: case.api(&resource),
        maps: case.objects(),
        resource: resource.clone(),
        cleaned: Mutex::default(),
    });
    let end = CancellationToken::new();
    let controller = Controller::new_with(
        context.things.clone(),
        watcher::Config::default(),
        resource.clone(),
    )
    .owns(context.maps.clone(), watcher::Config::default())
    .graceful_shutdown_on(end.clone().cancelled_owned())
    .run(reconcile, |_, _, _| again(), Arc::clone(&context));
    let controller = tokio::spawn(controller.map(drop).collect::<()>());
    // By a list that is streamed, which the controller's are not.
    let config = watcher::Config::default().streaming_lists();
    let writer = Writer::new(resource);
    let store = writer.as_reader();
    let events = watcher(context.things.clone(), config).default_backoff();
    let reflector = tokio::spawn(events.reflect(writer).map(drop).collect::<()>());
    let lines = story(&context, &store).await;
    end.cancel();
    controller.await?;
    reflector.abort();
    lines
}

async fn story(context: &Context, store: &Store<DynamicObject>) -> anyhow::Result<Vec<String>> {
    store.wait_until_ready().await?;
    let mut lines = vec![format!("listed: {} things", store.len())];
    makes(context, &mut lines).await?;
    follows(context, store, &mut lines).await?;
    ends(context, store, &mut lines).await?;
    Ok(lines)
}

/// A thing gets its child, and another when that is deleted.
async fn makes(context: &Context, lines: &mut Vec<String>) -> anyhow::Result<()> {
    let Context { things, maps, .. } = context;
    let thing = DynamicObject::new("a", &context.resource);
    let thing = thing.data(json!({"spec": {"text": "one"}}));
    things.create(&PostParams::default(), &thing).await?;
    let is_ready = |thing: Option<&DynamicObject>| {
        thing.is_some_and(|thing| thing.data["status"]["ready"] == true)
    };
    let ready = in_time(await_condition(things.clone(), "a", is_ready)).await?;
    let ready = ready.context("gone")?;
    lines.push(format!("ready, with {:?}", ready.finalizers()));
    let child = maps.get("a").await?;
    let data = child.data.clone().unwrap_or_default();
    lines.push(format!("its child says {data:?}"));
    maps.delete("a", &DeleteParams::default()).await?;
    let uid = child.uid();
    let is_another = move |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != uid);
    in_time(await_condition(maps.clone(), "a", is_another)).await?;
    lines.push("its child is made anew".to_owned());
    Ok(())
}

/// Changes the thing, and waits until its child and the watch have the change.
async fn follows(
    context: &Context,
    store: &Store<DynamicObject>,
    lines: &mut Vec<String>,
) -> anyhow::Result<()> {
    let Context { things, maps, .. } = context;
    let change = Patch::Merge(json!({"spec": {"text": "two"}}));
    things.patch("a", &PatchParams::default(), &change).await?;
    let follows = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.is_some_and(|data| data["text"] == "two")
    };
    in_time(await_condition(maps.clone(), "a", follows)).await?;
    lines.push("its child follows".to_owned());
    eventually(SOON, "what the reflector knows", || async {
        let all = store.state();
        let texts: Vec<_> = all.iter().map(|one| &one.data["spec"]["text"]).collect();
        anyhow::ensure!(texts == ["two"], "{texts:?}");
        Ok(())
    })
    .await?;
    lines.push("the reflector knows".to_owned());
    Ok(())
}

/// The end of the thing is that of its child.
async fn ends(
    context: &Context,
    store: &Store<DynamicObject>,
    lines: &mut Vec<String>,
) -> anyhow::Result<()> {
    let Context { things, maps, .. } = context;
    let thing = things.delete("a", &DeleteParams::default()).await?;
    let uid = thing.left().and_then(|thing| thing.uid());
    let uid = uid.context("deleted at once")?;
    let gone = conditions::is_deleted(&uid);
    in_time(await_condition(things.clone(), "a", gone)).await?;
    lines.push(format!("cleaned up: {:?}", context.cleaned.lock()));
    // The garbage collector discovers a new kind only every 30 s.
    eventually(4 * SOON, "the child to be collected", || async {
        let left = maps.get_opt("a").await?;
        anyhow::ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await?;
    lines.push("its child is collected".to_owned());
    eventually(SOON, "the reflector to know it", || async {
        anyhow::ensure!(store.is_empty(), "{:?}", store.state());
        Ok(())
    })
    .await?;
    lines.push("the reflector knows nothing any more".to_owned());
    Ok(())
}

async fn in_time<T, E>(waiting: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    E: Error + Send + Sync + 'static,
{
    let done = tokio::time::timeout(SOON, waiting).await;
    Ok(done.context("not in time")??)
}

async fn reconcile(thing: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, Failure> {
    let things = &context.things;
    finalizer(things, FINALIZER, thing, async |event| match event {
        finalizer::Event::Apply(thing) => context.apply(&thing).await,
        finalizer::Event::Cleanup(thing) => {
            context.cleaned.lock().insert(thing.name_any());
            Ok(Action::await_change())
        }
    })
    .await
}

impl Context {
    async fn apply(&self, thing: &DynamicObject) -> kube::Result<Action> {
        let name = thing.name_any();
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "ownerReferences": [thing.controller_owner_ref(&self.resource)],
            },
            "data": {"text": thing.data["spec"]["text"]},
        });
        let how = PatchParams::apply("things").force();
        self.maps.patch(&name, &how, &Patch::Apply(child)).await?;
        let status = Patch::Merge(json!({"status": {"ready": true}}));
        let how = PatchParams::default();
        self.things.patch_status(&name, &how, &status).await?;
        Ok(Action::await_change())
    }
}

/// Requests a retry: an API server refuses owner references to a new kind until it has discovered it.
fn again() -> Action {
    Action::requeue(Duration::from_millis(200))
}
