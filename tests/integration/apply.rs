//! Applying, pruning and cleaning up on a real API server, counted request by request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use libtest_mimic::Trial;
use rhai_operator::apply::finalizer::ChildRegistrar;
use rhai_operator::apply::{
    Action, ApplyCache, ApplyResult, DesiredObject, Error, Options, Owner, apply, cleanup,
    create_once, inventory, prune,
};
use rhai_operator::cluster::connect::{self, connect};
use rhai_operator::cluster::layer::RequestObserver;
use rhai_operator::cluster::request::WriteOptions;
use rhai_operator::cluster::{Cluster, Settings};
use rhai_operator::model::annotations::{CLEANUP_FINALIZER, OWNER_LABEL, PRIMARY_RESOURCE};
use rhai_operator::model::{Gvk, Object, ObjectRef};
use serde_json::{Value, json};

use test_harness::{Case, Crd, SOON, eventually, throughout, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        nothing_changed_nothing_sent,
        nothing_is_sent_after_a_restart,
        drift_is_repaired_and_what_others_own_is_left,
        an_undesired_field_is_removed,
        a_dropped_field_is_removed_after_a_change_and_a_restart,
        one_apply_changes_a_created_object,
        conflicts_name_manager_and_field,
        an_object_of_another_controller_is_refused_or_adopted,
        an_object_without_an_owner_is_refused_or_adopted,
        an_owner_becomes_the_controller,
        a_new_object_with_the_name_is_not_changed,
        immutable_fields_require_recreation,
        a_terminating_child_is_released_and_recreated,
        a_deletion_run_makes_orphans_and_keeps_children,
        a_child_in_another_namespace_is_guarded_and_cleaned_up,
        children_that_are_not_applied_are_pruned,
        copied_labels_make_no_child,
        a_forged_label_deletes_nothing,
        orphans_of_an_earlier_custom_resource_are_adopted,
        a_child_that_vanishes_asks_for_its_owner,
        a_field_without_schema_is_named,
        an_object_created_once_is_not_changed,
        a_plan_writes_nothing,
    ]
}

const ADOPT: Options = Options {
    owner: true,
    force: None,
    adopt: Some(true),
    recreate: false,
};

/// Writes sent and all requests.
#[derive(Default)]
struct Counter {
    writes: AtomicUsize,
    all: AtomicUsize,
}

impl RequestObserver for Counter {
    fn answered(&self, method: &Method, _code: Option<u16>, _latency: Duration) {
        self.all.fetch_add(1, Ordering::SeqCst);
        if *method != Method::GET {
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A process that applies for one custom resource.
struct Process {
    cluster: Cluster,
    apply_cache: ApplyCache,
    owner: Owner,
    counter: Arc<Counter>,
}

impl Process {
    async fn start(case: &Case, cr: &Object) -> anyhow::Result<Self> {
        let counter = Arc::new(Counter::default());
        let options = connect::Options {
            source: connect::Source::Configured {
                kubeconfig: Some(case.cluster.kubeconfig().to_owned()),
                context: None,
            },
            observer: Some(Arc::clone(&counter) as Arc<dyn RequestObserver>),
            settings: Settings::default(),
        };
        let cluster = connect(options).await?.cluster;
        let guard = ChildRegistrar::new(cluster.clone(), Arc::new(cr.clone()), None, true);
        Ok(Self {
            owner: Owner {
                registrar: Some(Arc::new(guard)),
                ..Owner::new(cr)
            },
            cluster,
            apply_cache: ApplyCache::default(),
            counter,
        })
    }

    async fn apply(&self, object: &Value) -> Result<ApplyResult, Error> {
        self.apply_with(object, Options::default()).await
    }

    async fn apply_with(&self, object: &Value, options: Options) -> Result<ApplyResult, Error> {
        let desired = DesiredObject::from_value(object)?;
        apply(
            &self.cluster,
            &self.apply_cache,
            &self.owner,
            &desired,
            options,
        )
        .await
    }

    fn writes(&self) -> usize {
        self.counter.writes.load(Ordering::SeqCst)
    }

    /// Returns the number of requests. Compare counts only over a short time: watches restart on their own.
    fn requests(&self) -> usize {
        self.counter.all.load(Ordering::SeqCst)
    }

    /// The requests once no watch begins any more.
    async fn comes_to_rest(&self) -> anyhow::Result<usize> {
        eventually(SOON, "the watches to stand", || async {
            let before = self.requests();
            throughout(Duration::from_millis(300), "no request", || async {
                let now = self.requests();
                anyhow::ensure!(now == before, "{now} after {before}");
                Ok(())
            })
            .await?;
            anyhow::Ok(before)
        })
        .await
    }
}

/// A custom resource in the test's namespace.
async fn cr(case: &Case) -> anyhow::Result<Object> {
    let resource = case.define(&Crd::new("Web")).await?;
    make_cr(case, &resource).await
}

async fn make_cr(case: &Case, resource: &kube::core::ApiResource) -> anyhow::Result<Object> {
    let object = json!({
        "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "w"},
    });
    let made = case
        .api(resource)
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    let gvk = Gvk::new(&resource.group, &resource.version, &resource.kind);
    Ok(Object::from_value(&gvk, &serde_json::to_value(made)?)?)
}

fn config(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn deployment(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{
                    "name": "c", "image": "busybox", "command": ["sleep", "inf"],
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                }]},
            },
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"selector": {"app": "d"}, "ports": [{"port": 80}]},
    })
}

fn children() -> [Value; 4] {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "stringData": {"password": "hunter22"},
    });
    [
        config("c", &json!({"a": "1"})),
        deployment(1),
        service(),
        secret,
    ]
}

async fn nothing_changed_nothing_sent(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    for child in children() {
        assert_eq!(
            process.apply(&child).await?.action,
            Action::Created,
            "{child}"
        );
    }
    assert_eq!(process.writes(), 4, "one write per child");
    let before = process.comes_to_rest().await?;
    for child in children() {
        let applied = process.apply(&child).await?;
        assert_eq!(applied.action, Action::Skipped, "{child}");
        assert!(applied.object.owner_uid().is_some());
    }
    assert_eq!(process.requests(), before);
    // The controllers of the workload write its status. Such a change requires no apply.
    let d = deployment_ref(&case);
    eventually(SOON, "the status is seen", || async {
        let live = process.cluster.cached(&d).flatten();
        let live = live.ok_or_else(|| anyhow::anyhow!("absent"))?;
        anyhow::ensure!(live.value()["status"]["observedGeneration"] == 1, "not yet");
        Ok(())
    })
    .await?;
    assert_eq!(process.apply(&deployment(1)).await?.action, Action::Skipped);
    Ok(())
}

async fn nothing_is_sent_after_a_restart(case: Case) -> anyhow::Result<()> {
    let cr = cr(&case).await?;
    let process = Process::start(&case, &cr).await?;
    for child in children() {
        process.apply(&child).await?;
    }
    let restarted = Process::start(&case, &cr).await?;
    for child in children() {
        let applied = restarted.apply(&child).await?;
        assert_eq!(applied.action, Action::Skipped, "{child}");
    }
    assert_eq!(restarted.writes(), 0);
    assert_eq!(
        restarted.apply(&deployment(2)).await?.action,
        Action::Changed
    );
    Ok(())
}

async fn drift_is_repaired_and_what_others_own_is_left(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let wanted = config("c", &json!({"a": "1"}));
    process.apply(&wanted).await?;
    let maps = case.objects::<ConfigMap>();
    let patch = |data: Value| Patch::Merge(json!({"data": data}));
    maps.patch("c", &PatchParams::default(), &patch(json!({"theirs": "x"})))
        .await?;
    let c = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some(&case.namespace), "c");
    let sees = |key: &'static str, value: &'static str| {
        let (process, c) = (&process, &c);
        eventually(SOON, "the change is seen", move || async move {
            let live = process.cluster.cached(c).flatten();
            let live = live.ok_or_else(|| anyhow::anyhow!("absent"))?;
            anyhow::ensure!(live.value()["data"][key] == value, "not yet");
            Ok(())
        })
    };
    sees("theirs", "x").await?;
    assert_eq!(process.apply(&wanted).await?.action, Action::Skipped);
    maps.patch("c", &PatchParams::default(), &patch(json!({"a": "2"})))
        .await?;
    sees("a", "2").await?;
    let repaired = process.apply(&wanted).await?;
    assert_eq!(repaired.action, Action::Changed);
    assert_eq!(
        repaired.object.value()["data"],
        json!({"a": "1", "theirs": "x"})
    );
    // A label of ours that is taken away takes the child out of our view; it is found again.
    let gone = Patch::Merge(json!({"metadata": {"labels": {OWNER_LABEL: null}}}));
    maps.patch("c", &PatchParams::default(), &gone).await?;
    let children = process.cluster.children(&c.gvk, c.namespace.as_deref());
    eventually(SOON, "the child is out of view", || async {
        anyhow::ensure!(
            children.get(c.namespace.as_deref(), "c").is_none(),
            "not yet"
        );
        Ok(())
    })
    .await?;
    let repaired = process.apply(&wanted).await?;
    assert_eq!(repaired.action, Action::Changed);
    assert_eq!(repaired.object.owner_uid(), Some(&*process.owner.uid));
    Ok(())
}

async fn an_undesired_field_is_removed(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    process
        .apply(&config("c", &json!({"a": "1", "b": "2"})))
        .await?;
    let applied = process.apply(&config("c", &json!({"a": "1"}))).await?;
    assert_eq!(applied.object.value()["data"], json!({"a": "1"}));
    let restarted = Process::start(&case, &cr_of(&process).await?).await?;
    let applied = restarted.apply(&config("c", &json!({"a": null}))).await?;
    assert_eq!(applied.object.value().get("data"), None);
    Ok(())
}

/// Children are created, so an entry of the create owns their fields beside the applies'.
async fn a_dropped_field_is_removed_after_a_change_and_a_restart(case: Case) -> anyhow::Result<()> {
    let cr = cr(&case).await?;
    let process = Process::start(&case, &cr).await?;
    let with_env = deployment(1);
    let mut without_env = deployment(2);
    let container = &mut without_env["spec"]["template"]["spec"]["containers"][0];
    (container.as_object_mut().context("a container")?).remove("env");
    process.apply(&with_env).await?;
    process.apply(&deployment(2)).await?;
    let restarted = Process::start(&case, &cr).await?;
    let applied = restarted.apply(&without_env).await?.object.value();
    let container = &applied["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"], Value::Null, "{container}");
    assert_eq!(container["terminationMessagePolicy"], "File", "a default");
    assert_eq!(applied["spec"]["replicas"], 2);
    let left = process
        .cluster
        .server_metadata(&deployment_ref(&case))
        .await?;
    let entries = left.context("gone")?.managed_fields;
    let ours = |entry: &&Value| entry["manager"].as_str() == Some(&*process.owner.manager);
    assert_eq!(entries.iter().filter(ours).count(), 1, "{entries:?}");
    let again = Process::start(&case, &cr).await?;
    assert_eq!(again.apply(&without_env).await?.action, Action::Skipped);
    Ok(())
}

fn deployment_ref(case: &Case) -> ObjectRef {
    let deployments = Gvk::new("apps", "v1", "Deployment");
    ObjectRef::new(deployments, Some(&case.namespace), "d")
}

async fn one_apply_changes_a_created_object(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let wanted = |a: &str| config("c", &json!({"a": a, "b": "2"}));
    process.apply(&wanted("1")).await?;
    for (sent, value) in [(2, "2"), (3, "3")] {
        let applied = process.apply(&wanted(value)).await?;
        assert_eq!(applied.action, Action::Changed);
        assert_eq!(process.writes(), sent, "one write per change");
    }
    let unforced = Options {
        force: Some(false),
        ..Options::default()
    };
    let applied = process.apply_with(&wanted("4"), unforced).await?;
    assert_eq!(
        applied.object.value()["data"]["a"],
        "4",
        "no conflict with ourselves"
    );
    Ok(())
}

async fn cr_of(process: &Process) -> anyhow::Result<Object> {
    let cr = process.cluster.get(&process.owner.cr).await?;
    cr.map(|cr| (*cr).clone()).context("gone")
}

async fn conflicts_name_manager_and_field(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    process.apply(&config("c", &json!({"a": "1"}))).await?;
    let maps = case.objects::<ConfigMap>();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"}});
    maps.patch(
        "c",
        &PatchParams::apply("somebody").force(),
        &Patch::Apply(theirs),
    )
    .await?;
    let polite = Options {
        force: Some(false),
        ..Options::default()
    };
    let wanted = config("c", &json!({"a": "1"}));
    let c = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some(&case.namespace), "c");
    eventually(SOON, "the change is seen", || async {
        let live = process.cluster.cached(&c).flatten();
        anyhow::ensure!(
            live.is_some_and(|live| live.value()["data"]["a"] == "2"),
            "not yet"
        );
        Ok(())
    })
    .await?;
    let error = process
        .apply_with(&wanted, polite)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("somebody") && error.contains(".data.a"),
        "{error}"
    );
    assert_eq!(process.apply(&wanted).await?.action, Action::Changed);
    Ok(())
}

async fn an_object_of_another_controller_is_refused_or_adopted(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let maps = case.objects::<ConfigMap>();
    let make = |value: Value| serde_json::from_value(value);
    let other = maps
        .create(
            &PostParams::default(),
            &make(json!({"metadata": {"name": "other"}}))?,
        )
        .await?;
    let child = json!({"metadata": {"name": "c", "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other.metadata.uid,
        "controller": true,
    }]}});
    maps.create(&PostParams::default(), &make(child)?).await?;
    let wanted = config("c", &json!({"a": "1"}));
    let error = process.apply(&wanted).await.unwrap_err();
    assert!(
        matches!(&error, Error::NotOwned { holder, .. } if holder == "ConfigMap other controls it"),
        "{error}"
    );
    let plan = process.cluster.with_dry_run();
    let desired = DesiredObject::from_value(&wanted)?;
    let planned = apply(&plan, &process.apply_cache, &process.owner, &desired, ADOPT).await?;
    assert_eq!(planned.action, Action::Changed);
    assert!(planned.before.is_some(), "a plan shows the live object");
    let adopted = process.apply_with(&wanted, ADOPT).await?;
    assert!(adopted.adopted);
    let references = adopted.object.details().owner_references;
    let controllers: Vec<_> = references
        .iter()
        .filter(|r| r.controller)
        .map(|r| &*r.kind)
        .collect();
    assert_eq!(controllers, ["Web"]);
    assert_eq!(references.len(), 2);
    assert_eq!(process.apply(&wanted).await?.action, Action::Skipped);
    Ok(())
}

async fn an_object_without_an_owner_is_refused_or_adopted(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let maps = case.objects::<ConfigMap>();
    let theirs = json!({"metadata": {"name": "c"}, "data": {"b": "2"}});
    maps.create(&PostParams::default(), &serde_json::from_value(theirs)?)
        .await?;
    let wanted = config("c", &json!({"a": "1"}));
    let error = process.apply(&wanted).await.unwrap_err();
    assert!(
        matches!(&error, Error::NotOwned { existing, .. } if existing.subscription.is_watched()),
        "{error}"
    );
    let plan = process.cluster.with_dry_run();
    let desired = DesiredObject::from_value(&wanted)?;
    let planned = apply(&plan, &process.apply_cache, &process.owner, &desired, ADOPT).await?;
    let before = planned.before.context("a plan shows the live object")?;
    assert_eq!(before.value()["data"], json!({"b": "2"}));
    assert_eq!(maps.get("c").await?.data.unwrap_or_default().len(), 1);
    let applied = process.apply_with(&wanted, ADOPT).await?;
    assert!(applied.adopted);
    assert_eq!(applied.object.value()["data"], json!({"a": "1", "b": "2"}));
    assert!(
        !process
            .apply(&config("c", &json!({"a": "2"})))
            .await?
            .adopted
    );
    Ok(())
}

/// The Ansible operator's owner references name no controller.
async fn an_owner_becomes_the_controller(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let mut reference = json!({
        "apiVersion": process.owner.cr.gvk.api_version(), "kind": "Web", "name": "w",
        "uid": process.owner.uid,
    });
    let theirs = json!({
        "metadata": {"name": "c", "ownerReferences": [reference]}, "data": {"a": "0"},
    });
    let maps = case.objects::<ConfigMap>();
    maps.create(&PostParams::default(), &serde_json::from_value(theirs)?)
        .await?;
    let applied = process.apply(&config("c", &json!({"a": "1"}))).await?;
    assert!(!applied.adopted);
    reference["controller"] = json!(true);
    reference["blockOwnerDeletion"] = json!(true);
    let live = applied.object.value();
    assert_eq!(live["metadata"]["ownerReferences"], json!([reference]));
    Ok(())
}

/// The caches are stale. The server decides, not the cache.
async fn a_new_object_with_the_name_is_not_changed(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let maps = case.objects::<ConfigMap>();
    let make = async || -> anyhow::Result<()> {
        let theirs = json!({"metadata": {"name": "c"}, "data": {"b": "2"}});
        maps.create(&PostParams::default(), &serde_json::from_value(theirs)?)
            .await?;
        Ok(())
    };
    let own = process.apply(&config("c", &json!({"a": "1"}))).await?;
    // An apply that names the object by its uid changes no other one of the name, nor makes one.
    let c = own.object.object_ref();
    let mut named = config("c", &json!({"a": "2"}));
    named["metadata"]["uid"] = json!(own.object.uid);
    let options = WriteOptions {
        manager: "somebody".into(),
        force: true,
        ..WriteOptions::default()
    };
    for exists in [false, true] {
        maps.delete("c", &DeleteParams::default()).await?;
        if exists {
            make().await?;
        }
        let body = named.to_string().into();
        let refused = process.cluster.apply(&c, body, &options).await;
        assert!(refused.is_err(), "{refused:?}");
        let live = maps.get_opt("c").await?.and_then(|live| live.data);
        assert_eq!(live.is_some(), exists);
        if !exists {
            make().await?;
        }
    }
    let error = process.apply(&config("c", &json!({"a": "2"}))).await;
    assert!(matches!(error, Err(Error::NotOwned { .. })), "{error:?}");
    let data = maps.get("c").await?.data.unwrap_or_default();
    assert_eq!(
        data.into_iter().collect::<Vec<_>>(),
        [("b".into(), "2".into())]
    );
    Ok(())
}

async fn immutable_fields_require_recreation(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let binding = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "b"}, "subjects": [],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        })
    };
    let first = process.apply(&binding("one")).await?;
    let error = process.apply(&binding("two")).await.unwrap_err();
    assert!(matches!(error, Error::Immutable { .. }), "{error}");
    assert!(error.to_string().contains("`recreate: true`"), "{error}");
    let recreate = Options {
        recreate: true,
        ..Options::default()
    };
    let second = process.apply_with(&binding("two"), recreate).await?;
    assert_eq!(second.action, Action::Recreated);
    assert_ne!(first.object.uid, second.object.uid);
    assert_eq!(
        process.apply_with(&binding("two"), recreate).await?.action,
        Action::Skipped
    );
    Ok(())
}

async fn a_terminating_child_is_released_and_recreated(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let with = |finalizers: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "finalizers": finalizers}, "data": {"a": "1"},
        })
    };
    let first = process.apply(&with(json!(["example.com/hold"]))).await?;
    case.objects::<ConfigMap>()
        .delete("c", &DeleteParams::default())
        .await?;
    let c = first.object.object_ref();
    let seen = |deleting: bool| {
        let (process, c) = (&process, &c);
        let what = if deleting {
            "the deletion is seen"
        } else {
            "the end is seen"
        };
        eventually(SOON, what, move || async move {
            let watch = process.cluster.children(&c.gvk, c.namespace.as_deref());
            let live = watch.get(c.namespace.as_deref(), &c.name);
            anyhow::ensure!(
                live.is_some_and(|live| live.deleting) == deleting,
                "not yet"
            );
            Ok(())
        })
    };
    seen(true).await?;
    // The finalizer delays the deletion: there is nothing to do, and no finalizer can be added.
    assert_eq!(
        process
            .apply(&with(json!(["example.com/hold"])))
            .await?
            .action,
        Action::Skipped
    );
    process
        .apply(&with(json!(["example.com/hold", "example.com/more"])))
        .await?;
    // Without a finalizer, the object is deleted, and the next apply creates it again.
    process.apply(&with(json!([]))).await?;
    seen(false).await?;
    let second = process.apply(&with(json!(["example.com/hold"]))).await?;
    assert_eq!(second.action, Action::Created);
    assert_ne!(first.object.uid, second.object.uid);
    process.apply(&with(json!([]))).await?;
    Ok(())
}

async fn a_deletion_run_makes_orphans_and_keeps_children(case: Case) -> anyhow::Result<()> {
    let mut process = Process::start(&case, &cr(&case).await?).await?;
    process.apply(&config("child", &json!({"a": "1"}))).await?;
    process.owner.finalizing = true;
    let child = process.apply(&config("child", &json!({"a": "2"}))).await?;
    assert_eq!(child.object.owner_uid(), Some(&*process.owner.uid));
    assert_eq!(child.object.details().owner_references.len(), 1);
    for expected in [Action::Created, Action::Skipped] {
        let orphan = process.apply(&config("orphan", &json!({"a": "1"}))).await?;
        assert_eq!(orphan.action, expected);
        assert_eq!(orphan.object.owner_uid(), None);
        assert!(orphan.object.details().owner_references.is_empty());
    }
    Ok(())
}

async fn a_child_in_another_namespace_is_guarded_and_cleaned_up(case: Case) -> anyhow::Result<()> {
    let other = format!("{}-other", case.namespace);
    case.create_namespace(&other).await?;
    let process = Process::start(&case, &cr(&case).await?).await?;
    let mut far = config("far", &json!({"a": "1"}));
    far["metadata"]["namespace"] = json!(other);
    let applied = process.apply(&far).await?;
    assert!(applied.ownership.is_unreachable());
    let name = format!("{}/w", case.namespace);
    assert_eq!(applied.object.details().annotations[PRIMARY_RESOURCE], name);
    assert_eq!(
        cr_of(&process).await?.details().finalizers,
        [CLEANUP_FINALIZER]
    );
    assert_eq!(process.apply(&far).await?.action, Action::Skipped);
    process.apply(&config("near", &json!({"a": "1"}))).await?;

    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{other}-made")},
    });
    process.apply(&namespace).await?;
    // After a restart the kinds are found again; workloads go before namespaces.
    let mut restarted = Process::start(&case, &cr_of(&process).await?).await?;
    inventory::discover_child_kinds(&restarted.cluster, None).await?;
    // Objects that the custom resource does not list stay, even with its label.
    let listed = std::mem::take(&mut restarted.owner.listed_children);
    assert!(
        cleanup::clean_up(&restarted.cluster, &restarted.owner)
            .await?
            .is_empty()
    );
    let pruned = prune::prune(&restarted.cluster, &restarted.owner, &BTreeSet::new()).await;
    let names: Vec<_> = pruned.deleted.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["near"]);
    process.apply(&config("close", &json!({"a": "1"}))).await?;
    restarted.owner.listed_children = listed;
    eventually(SOON, "all is cleaned up", || async {
        let left = cleanup::clean_up(&restarted.cluster, &restarted.owner).await?;
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await?;
    let maps: Api<ConfigMap> = Api::namespaced(case.cluster.client.clone(), &other);
    assert!(maps.get_opt("far").await?.is_none());
    assert!(
        case.objects::<ConfigMap>()
            .get_opt("close")
            .await?
            .is_some()
    );
    let namespaces: Api<Namespace> = Api::all(case.cluster.client.clone());
    namespaces.delete(&other, &DeleteParams::default()).await?;
    Ok(())
}

async fn children_that_are_not_applied_are_pruned(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let mut kept = BTreeSet::new();
    for child in children() {
        kept.insert(process.apply(&child).await?.object.object_ref());
    }
    let writes = process.writes();
    assert!(
        prune::prune(&process.cluster, &process.owner, &kept)
            .await
            .deleted
            .is_empty()
    );
    assert_eq!(process.writes(), writes);
    // A kind that no role applies any more, after a restart.
    let restarted = Process::start(&case, &cr_of(&process).await?).await?;
    inventory::discover_child_kinds(&restarted.cluster, None).await?;
    kept.retain(|object| &*object.gvk.kind != "ConfigMap");
    let pruned = prune::prune(&restarted.cluster, &restarted.owner, &kept).await;
    assert!(pruned.failed.is_empty(), "{:?}", pruned.failed);
    let names: Vec<_> = pruned
        .deleted
        .iter()
        .map(|o| o.object_ref().to_string())
        .collect();
    assert_eq!(names, [format!("ConfigMap {}/c", case.namespace)]);
    assert!(case.objects::<ConfigMap>().get_opt("c").await?.is_none());
    Ok(())
}

/// Anyone who can patch an object can set its labels and the name of its field manager.
async fn a_forged_label_deletes_nothing(case: Case) -> anyhow::Result<()> {
    let other = format!("{}-other", case.namespace);
    case.create_namespace(&other).await?;
    let process = Process::start(&case, &cr(&case).await?).await?;
    process.apply(&config("own", &json!({"a": "1"}))).await?;
    let forge = |references: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "victim", "labels": {OWNER_LABEL: process.owner.uid},
                "annotations": {PRIMARY_RESOURCE: format!("{}/w", case.namespace)},
                "ownerReferences": references,
            },
            "data": {"b": "2"},
        })
    };
    // An owner that is no controller is not the one that made the object.
    let mere_owner = json!([{
        "apiVersion": process.owner.cr.gvk.api_version(), "kind": "Web", "name": "w",
        "uid": process.owner.uid,
    }]);
    let client = &case.cluster.client;
    for (namespace, references) in [(&case.namespace, mere_owner), (&other, json!([]))] {
        let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        let forged = PatchParams::apply(&process.owner.manager).force();
        maps.patch("victim", &forged, &Patch::Apply(forge(references)))
            .await?;
    }
    let restarted = Process::start(&case, &cr_of(&process).await?).await?;
    inventory::discover_child_kinds(&restarted.cluster, None).await?;
    assert_eq!(restarted.cluster.owned_by(&process.owner.uid).len(), 3);
    let pruned = prune::prune(&restarted.cluster, &restarted.owner, &BTreeSet::new()).await;
    let names: Vec<_> = pruned.deleted.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["own"]);
    assert!(
        cleanup::clean_up(&restarted.cluster, &restarted.owner)
            .await?
            .is_empty()
    );
    for namespace in [&case.namespace, &other] {
        let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        let victim = maps.get("victim").await?;
        assert!(victim.metadata.deletion_timestamp.is_none());
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete(&other, &DeleteParams::default()).await?;
    Ok(())
}

async fn copied_labels_make_no_child(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let service = process.apply(&service()).await?.object.object_ref();
    let slices = Gvk::new("discovery.k8s.io", "v1", "EndpointSlice");
    let watch = process.cluster.children(&slices, Some(&case.namespace));
    watch.synced().await?;
    eventually(SOON, "the controller copies the label", || async {
        let copied = watch.owned_by(&process.owner.uid).len();
        anyhow::ensure!(copied == 1, "{copied}");
        Ok(())
    })
    .await?;
    let pruned = prune::prune(&process.cluster, &process.owner, &[service].into()).await;
    assert!(pruned.deleted.is_empty(), "{:?}", pruned.deleted);
    assert!(case.objects::<Service>().get_opt("s").await?.is_some());
    Ok(())
}

async fn orphans_of_an_earlier_custom_resource_are_adopted(case: Case) -> anyhow::Result<()> {
    let resource = case.define(&Crd::new("Web")).await?;
    let first = Process::start(&case, &make_cr(&case, &resource).await?).await?;
    first.apply(&config("c", &json!({"a": "1"}))).await?;
    let orphan = DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    case.api(&resource).delete("w", &orphan).await?;
    eventually(SOON, "it is gone", || async {
        let cr = case.api(&resource).get_opt("w").await?;
        anyhow::ensure!(cr.is_none(), "not yet");
        Ok(())
    })
    .await?;
    let second = Process::start(&case, &make_cr(&case, &resource).await?).await?;
    let wanted = config("c", &json!({"a": "1"}));
    let refused = second.apply(&wanted).await;
    assert!(
        matches!(refused, Err(Error::NotOwned { .. })),
        "{refused:?}"
    );
    let child = second.apply_with(&wanted, ADOPT).await?;
    assert_eq!(child.object.owner_uid(), Some(&*second.owner.uid));
    let owners = child.object.details().owner_references;
    assert_eq!(
        owners.iter().map(|o| &*o.uid).collect::<Vec<_>>(),
        [&*second.owner.uid]
    );
    Ok(())
}

async fn a_child_that_vanishes_asks_for_its_owner(case: Case) -> anyhow::Result<()> {
    let resource = case.define(&Crd::new("Web")).await?;
    let process = Process::start(&case, &make_cr(&case, &resource).await?).await?;
    let wanted = config("c", &json!({"a": "1"}));
    process.apply(&wanted).await?;
    vanish(&case, &process).await?;
    assert_eq!(process.apply(&wanted).await?.action, Action::Created);
    // As the garbage collector does, when the owner is another by now, as only the server knows.
    case.api(&resource)
        .delete("w", &DeleteParams::default())
        .await?;
    make_cr(&case, &resource).await?;
    // For a recently created object, the operator reads the owner from the server.
    eventually(SOON, "its owner to be gone", || async {
        vanish(&case, &process).await?;
        match process.apply(&wanted).await {
            Err(Error::OwnerGone { .. }) => Ok(()),
            other => anyhow::bail!("{other:?}"),
        }
    })
    .await
}

/// Deletes the child by another hand, and waits until the process has seen it.
async fn vanish(case: &Case, process: &Process) -> anyhow::Result<()> {
    let maps = case.objects::<ConfigMap>();
    // The garbage collector may be quicker.
    match maps.delete("c", &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        deleted => drop(deleted?),
    }
    let gvk = Gvk::new("", "v1", "ConfigMap");
    let children = process.cluster.children(&gvk, Some(&case.namespace));
    eventually(SOON, "its end is seen", || async {
        let live = children.get(Some(&case.namespace), "c");
        anyhow::ensure!(live.is_none(), "not yet");
        Ok(())
    })
    .await
}

async fn a_field_without_schema_is_named(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let mut wrong = deployment(1);
    wrong["spec"]["replicsa"] = json!(1);
    let error = process.apply(&wrong).await.unwrap_err();
    let Error::Cluster(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.kind.as_str(), "invalid");
    assert!(
        error.message.contains("spec.replicsa") && !error.retryable,
        "{error}"
    );
    Ok(())
}

async fn an_object_created_once_is_not_changed(case: Case) -> anyhow::Result<()> {
    let process = Process::start(&case, &cr(&case).await?).await?;
    let once = |data: Value| DesiredObject::from_value(&config("c", &data));
    let make = async |desired: &DesiredObject| {
        create_once::create_once(
            &process.cluster,
            &process.apply_cache,
            &process.owner,
            desired,
        )
        .await
    };
    assert!(make(&once(json!({"a": "1"}))?).await?.is_new);
    let again = make(&once(json!({"a": "2"}))?).await?;
    assert!(!again.is_new);
    assert_eq!(again.object.value()["data"]["a"], "1");
    let mut generated = once(json!({}))?;
    generated.name = "".into();
    generated.json = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"},
    })
    .to_string()
    .into_bytes();
    let (one, two) = (make(&generated).await?, make(&generated).await?);
    assert_ne!(one.object.name, two.object.name);
    let pruned = prune::prune(&process.cluster, &process.owner, &BTreeSet::new()).await;
    assert!(pruned.deleted.is_empty(), "{:?}", pruned.deleted);
    assert_eq!(process.cluster.owned_by(&process.owner.uid).len(), 3);
    Ok(())
}

async fn a_plan_writes_nothing(case: Case) -> anyhow::Result<()> {
    let mut process = Process::start(&case, &cr(&case).await?).await?;
    process.apply(&config("c", &json!({"a": "1"}))).await?;
    process.apply(&config("same", &json!({"a": "1"}))).await?;
    let plan = Process {
        cluster: process.cluster.with_dry_run(),
        ..process
    };
    assert_eq!(
        plan.apply(&config("c", &json!({"a": "2"}))).await?.action,
        Action::Changed
    );
    assert_eq!(
        plan.apply(&config("new", &json!({"a": "2"}))).await?.action,
        Action::Created
    );
    assert_eq!(
        plan.apply(&config("same", &json!({"a": "1"})))
            .await?
            .action,
        Action::Skipped
    );
    let maps = case.objects::<ConfigMap>();
    assert!(maps.get_opt("new").await?.is_none());
    let data = maps.get("c").await?.data.unwrap_or_default();
    assert_eq!(data["a"], "1");
    process = plan;
    let polite = Options {
        force: Some(false),
        ..Options::default()
    };
    let same = config("c", &json!({"a": "1"}));
    assert_eq!(
        process.apply_with(&same, polite).await?.action,
        Action::Skipped
    );
    Ok(())
}
