//! The door to a cluster: calls, watches and cached reads on a real API server, with faults.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Config};
use libtest_mimic::Trial;
use parking_lot::Mutex;
use rhai_operator::cluster::connect::{Options, Source, connect};
use rhai_operator::cluster::layer::Fence;
use rhai_operator::cluster::request::{
    DeleteOptions, DeleteResult, Effect, ListQuery, PatchKind, WriteOptions,
};
use rhai_operator::cluster::watch::{
    Content, Listener, ObjectChange, Purpose, Watch, WatchSpec, WatchState,
};
use rhai_operator::cluster::{Cluster, ErrorKind, Settings, transport};
use rhai_operator::model::access::AccessScope;
use rhai_operator::model::annotations::OWNER_LABEL;
use rhai_operator::model::field_selector::FieldSelector;
use rhai_operator::model::selector::LabelSelector;
use rhai_operator::model::{Gvk, ObjectRef};
use serde_json::{Value, json};

use test_harness::{Case, Crd, Proxy, Rule, SOON, eventually, throughout, trials};

/// Long enough for an event that should not come.
const A_WHILE: Duration = Duration::from_millis(700);

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        own_writes_are_cached_and_not_heard,
        a_foreign_change_before_our_write_is_heard,
        own_deletions_are_not_heard,
        a_read_is_a_subscription,
        a_repeated_read_sends_no_request,
        a_list_is_a_subscription,
        kinds_without_watch_permission_are_read_live,
        a_kind_that_appears_is_watched,
        a_deleted_and_recreated_kind,
        a_deletion_during_a_lost_connection_is_heard,
        a_deletion_before_a_relist_is_heard,
        a_silent_watch_is_cut,
        refusals_that_pass_are_asked_again,
        a_create_whose_answer_is_lost_is_ours,
        dropped_fields_are_named,
        a_dry_run_writes_nothing,
        a_fence_holds_without_a_request,
        invalid_namespaces_are_not_sent,
        status_and_scale_are_written,
        an_absent_kind_differs_from_an_absent_object,
        the_api_server_restarts_under_watches: real "it stops the API server and starts it again",
    ]
}

/// Records the changes that a watch reports: `+name`, `~name`, `-name`.
#[derive(Default)]
struct RecordedChanges(Mutex<Vec<String>>);

impl RecordedChanges {
    fn by(cluster: &Cluster) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        cluster.listen(Arc::clone(&heard) as Arc<dyn Listener>);
        heard
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    fn clear(&self) {
        self.0.lock().clear();
    }

    async fn exactly(&self, expected: &[&str]) -> anyhow::Result<()> {
        eventually(SOON, "what is heard", || async {
            let all = self.all();
            anyhow::ensure!(all == expected, "{all:?}");
            Ok(())
        })
        .await
    }

    async fn nothing_more(&self, expected: &[&str]) -> anyhow::Result<()> {
        throughout(A_WHILE, "what is heard", || async {
            let all = self.all();
            anyhow::ensure!(all == expected, "{all:?}");
            Ok(())
        })
        .await
    }
}

impl Listener for RecordedChanges {
    fn changed(&self, watch: &Watch, change: &ObjectChange) {
        // The kinds of other tests come and go meanwhile.
        if &*watch.spec().gvk.kind == "CustomResourceDefinition" {
            return;
        }
        let (sign, object) = match (&change.old, &change.new) {
            (None, Some(new)) => ('+', new),
            (Some(_), Some(new)) => ('~', new),
            (Some(old), None) => ('-', old),
            (None, None) => return,
        };
        self.0.lock().push(format!("{sign}{}", object.name));
    }

    fn state_changed(&self, _watch: &Watch, _state: &WatchState) {}

    fn closed(&self, _watch: &Watch) {}
}

async fn door(case: &Case) -> anyhow::Result<Cluster> {
    let options = Options {
        source: Source::Configured {
            kubeconfig: Some(case.cluster.kubeconfig().to_owned()),
            context: None,
        },
        settings: settings(case),
        ..Options::default()
    };
    Ok(connect(options).await?.cluster)
}

/// Only this test's namespace, so that tests do not hear each other.
fn settings(case: &Case) -> Settings {
    Settings {
        namespaces: Some(BTreeSet::from([Arc::from(&*case.namespace)])),
        ..Settings::default()
    }
}

fn door_through(proxy: &Proxy, settings: Settings) -> anyhow::Result<Cluster> {
    let mut config = Config::new(proxy.server().parse()?);
    config.auth_info.token = Some("admin-token".to_owned().into());
    config.default_retry = false;
    let transport = transport::from_client(Client::try_from(config)?);
    Ok(Cluster::new(transport, settings))
}

fn config_map() -> Gvk {
    Gvk::new("", "v1", "ConfigMap")
}

fn object(case: &Case, gvk: Gvk, name: &str) -> ObjectRef {
    ObjectRef::new(gvk, Some(&case.namespace), name)
}

fn child(name: &str, data: &Value) -> bytes::Bytes {
    let metadata = json!({"name": name, "labels": {OWNER_LABEL: "uid-of-cr"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    map.to_string().into()
}

fn ours() -> WriteOptions {
    WriteOptions {
        manager: "rhai-operator/0123456789abcdef".to_owned(),
        force: true,
        ..WriteOptions::default()
    }
}

fn foreign() -> PatchParams {
    PatchParams::apply("somebody").force()
}

async fn synced_children(cluster: &Cluster, case: &Case) -> anyhow::Result<Arc<Watch>> {
    let watch = cluster.children(&config_map(), Some(&case.namespace));
    watch.synced().await?;
    Ok(watch)
}

async fn own_writes_are_cached_and_not_heard(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let heard = RecordedChanges::by(&cluster);
    let watch = synced_children(&cluster, &case).await?;
    let a = object(&case, config_map(), "a");
    for value in ["1", "2", "3"] {
        let written = cluster
            .apply(&a, child("a", &json!({"x": value})), &ours())
            .await?;
        let held = watch.get(Some(&case.namespace), "a").unwrap();
        assert_eq!(held.resource_version, written.object.resource_version);
    }
    let again = cluster
        .apply(&a, child("a", &json!({"x": "3"})), &ours())
        .await?;
    assert_eq!(again.effect, Effect::Unchanged);
    heard.nothing_more(&[]).await?;
    assert_eq!(watch.owned_by("uid-of-cr").len(), 1);

    let maps = case.objects::<ConfigMap>();
    maps.patch(
        "a",
        &PatchParams::default(),
        &Patch::Merge(json!({"data": {"y": "1"}})),
    )
    .await?;
    heard.exactly(&["~a"]).await?;
    maps.delete("a", &DeleteParams::default()).await?;
    heard.exactly(&["~a", "-a"]).await?;
    assert!(watch.is_empty());
    Ok(())
}

async fn a_foreign_change_before_our_write_is_heard(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let cluster = door_through(&proxy, settings(&case))?;
    let heard = RecordedChanges::by(&cluster);
    synced_children(&cluster, &case).await?;
    let a = object(&case, config_map(), "a");
    cluster
        .apply(&a, child("a", &json!({"x": "1"})), &ours())
        .await?;
    // The event is on its way while we write: neither the change nor our own write may be lost.
    let slow = proxy.inject(Rule::on(Method::PATCH, "configmaps").delay(A_WHILE));
    let options = ours();
    let write = cluster.apply(&a, child("a", &json!({"x": "2"})), &options);
    let maps = case.objects::<ConfigMap>();
    let change = async {
        let patch = Patch::Merge(json!({"data": {"y": "1"}}));
        maps.patch("a", &PatchParams::default(), &patch).await
    };
    let (written, changed) = tokio::join!(write, change);
    written?;
    changed?;
    slow.clear();
    heard.exactly(&["~a"]).await?;
    heard.nothing_more(&["~a"]).await
}

async fn own_deletions_are_not_heard(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let heard = RecordedChanges::by(&cluster);
    let watch = synced_children(&cluster, &case).await?;
    let a = object(&case, config_map(), "a");
    cluster.apply(&a, child("a", &json!({})), &ours()).await?;
    let deleted = cluster.delete(&a, &DeleteOptions::default()).await?;
    assert!(matches!(deleted, DeleteResult::Gone), "{deleted:?}");
    assert!(watch.is_empty());
    let deleted = cluster.delete(&a, &DeleteOptions::default()).await?;
    assert!(matches!(deleted, DeleteResult::Absent), "{deleted:?}");
    // A new object with the same name stays, even if late events of the old one arrive.
    cluster.apply(&a, child("a", &json!({})), &ours()).await?;
    heard.nothing_more(&[]).await?;
    assert_eq!(watch.len(), 1);
    Ok(())
}

async fn a_read_is_a_subscription(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let heard = RecordedChanges::by(&cluster);
    let s = object(&case, Gvk::new("", "v1", "Secret"), "s");
    assert!(cluster.cached(&s).is_none());
    let read = cluster.read(&s).await?;
    assert!(read.object.is_none() && read.subscription.is_watched());
    assert!(cluster.is_current(&s, None));
    heard.clear();

    let secrets = case.objects::<Secret>();
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "one"}});
    secrets
        .create(&PostParams::default(), &serde_json::from_value(secret)?)
        .await?;
    heard.exactly(&["+s"]).await?;
    assert!(!cluster.is_current(&s, None));
    let read = cluster.read(&s).await?.object.unwrap();
    assert_eq!(read.value()["data"]["password"], "b25l");

    let patch = Patch::Merge(json!({"stringData": {"password": "two"}}));
    secrets.patch("s", &PatchParams::default(), &patch).await?;
    heard.exactly(&["+s", "~s"]).await?;
    assert!(!cluster.is_current(&s, Some(&read.resource_version)));
    let read = cluster.read(&s).await?.object.unwrap();
    assert_eq!(read.value()["data"]["password"], "dHdv");

    secrets.delete("s", &DeleteParams::default()).await?;
    heard.exactly(&["+s", "~s", "-s"]).await?;
    assert!(matches!(cluster.cached(&s), Some(None)));
    Ok(())
}

async fn a_repeated_read_sends_no_request(case: Case) -> anyhow::Result<()> {
    let user = case.user("reader").await?;
    user.bind("cluster-admin").await?;
    let options = Options {
        source: Source::Configured {
            kubeconfig: Some(user.kubeconfig().to_owned()),
            context: None,
        },
        settings: settings(&case),
        ..Options::default()
    };
    let cluster = connect(options).await?.cluster;
    case.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
        .await?;
    let a = object(&case, config_map(), "a");
    let absent = object(&case, config_map(), "absent");
    let _subscriptions = [
        eventually(SOON, "the permission", || cluster.read(&a)).await?,
        cluster.read(&absent).await?,
    ];
    let mark = case.cluster.audit.mark().await?;
    let reads = (0..50).map(|_| async {
        assert!(cluster.read(&a).await.unwrap().object.is_some());
        assert!(cluster.read(&absent).await.unwrap().object.is_none());
    });
    futures::future::join_all(reads).await;
    let requests = case.cluster.audit.since(mark).await?.by(&user.name);
    assert_eq!(requests.without_watches().counted(), [].into());
    Ok(())
}

async fn a_list_is_a_subscription(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let query = |labels: &str, fields: &str| ListQuery {
        gvk: config_map(),
        namespace: Some(Arc::from(&*case.namespace)),
        labels: labels.parse::<LabelSelector>().unwrap(),
        fields: fields.parse::<FieldSelector>().unwrap(),
    };
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db"), ("d", "web")] {
        case.apply(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{app: {app}}}}}, \
             data: {{x: z}}}}"
        ))
        .await?;
    }
    let web = query("app=web", "");
    let names = |list: &rhai_operator::cluster::read::ReadList| -> Vec<String> {
        list.objects
            .iter()
            .map(|object| object.name.to_string())
            .collect()
    };
    let list = cluster.read_list(&web).await?;
    assert_eq!(names(&list), ["a", "b", "d"]);
    assert_eq!(list.objects[0].value()["data"]["x"], "z");
    assert_eq!(cluster.list_version(&web), Some(list.version));
    let only = cluster
        .read_list(&query("app=web", "metadata.name=b"))
        .await?;
    assert_eq!(names(&only), ["b"]);
    let others = cluster.read_list(&query("app!=web,app", "")).await?;
    assert_eq!(names(&others), ["c"]);

    let maps = case.objects::<ConfigMap>();
    maps.delete("a", &DeleteParams::default()).await?;
    eventually(SOON, "the list without a", || async {
        let list = cluster.read_list(&web).await?;
        anyhow::ensure!(names(&list) == ["b", "d"], "{:?}", names(&list));
        Ok(())
    })
    .await?;
    assert_ne!(cluster.list_version(&web), Some(list.version));
    Ok(())
}

async fn kinds_without_watch_permission_are_read_live(case: Case) -> anyhow::Result<()> {
    let user = case.user("getter").await?;
    user.allow(json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]))
        .await?;
    let options = Options {
        source: Source::Configured {
            kubeconfig: Some(user.kubeconfig().to_owned()),
            context: None,
        },
        settings: settings(&case),
        ..Options::default()
    };
    let cluster = connect(options).await?.cluster;
    let s = object(&case, Gvk::new("", "v1", "Secret"), "s");
    let read = eventually(SOON, "the permission", || cluster.read(&s)).await?;
    assert!(read.object.is_none() && !read.subscription.is_watched());
    let refused = cluster
        .read(&object(&case, config_map(), "a"))
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Forbidden);
    assert!(
        refused
            .to_string()
            .contains("cannot get resource \"configmaps\""),
        "{refused}"
    );
    Ok(())
}

fn primary(case: &Case, kind: &str) -> WatchSpec {
    WatchSpec {
        gvk: Gvk::new(&case.group, "v1", kind),
        namespace: Some(Arc::from(&*case.namespace)),
        labels: LabelSelector::default(),
        content: Content::Full,
        purpose: Purpose::Primary,
    }
}

async fn state(watch: &Watch, wanted: fn(&WatchState) -> bool) -> anyhow::Result<()> {
    eventually(SOON, "the state", || async {
        let state = watch.state();
        anyhow::ensure!(wanted(&state), "{state:?}");
        Ok(())
    })
    .await
}

async fn make(case: &Case, kind: &str, name: &str) -> anyhow::Result<Api<DynamicObject>> {
    let resource = kube::api::ApiResource {
        group: case.group.clone(),
        version: "v1".to_owned(),
        api_version: format!("{}/v1", case.group),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    let api = case.api(&resource);
    let object = json!({
        "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name}, "spec": {},
    });
    let object: DynamicObject = serde_json::from_value(object)?;
    // A kind that has just been made answers 429 for about a second.
    eventually(SOON, "a new object", || async {
        api.create(&PostParams::default(), &object).await
    })
    .await?;
    Ok(api)
}

async fn a_kind_that_appears_is_watched(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let heard = RecordedChanges::by(&cluster);
    let spec = primary(&case, "Widget");
    let watch = cluster.watch(spec.clone());
    state(&watch, |state| matches!(state, WatchState::KindAbsent)).await?;
    let error = watch.synced().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::KindAbsent);
    assert!(cluster.kind(&spec.gvk).await?.is_none());
    case.define(&Crd::new("Widget")).await?;
    state(&watch, |state| matches!(state, WatchState::Synced)).await?;
    heard.clear();
    make(&case, "Widget", "w").await?;
    heard.exactly(&["+w"]).await?;
    let kind = cluster.kind(&spec.gvk).await?.unwrap();
    assert!(kind.namespaced && kind.has_status && !kind.has_scale);
    Ok(())
}

async fn a_deleted_and_recreated_kind(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    case.define(&Crd::new("Widget")).await?;
    make(&case, "Widget", "w").await?;
    let watch = cluster.watch(primary(&case, "Widget"));
    watch.synced().await?;
    assert_eq!(watch.len(), 1);
    let heard = RecordedChanges::by(&cluster);
    let crd = format!("widgets.{}", case.group);
    case.cluster.kubectl(["delete", "crd", &crd]).await?;
    state(&watch, |state| matches!(state, WatchState::KindAbsent)).await?;
    eventually(SOON, "the object's end to be told", || async {
        let heard = heard.all();
        anyhow::ensure!(heard.contains(&"-w".to_owned()), "{heard:?}");
        Ok(())
    })
    .await?;
    assert!(watch.is_empty());
    case.define(&Crd::new("Widget")).await?;
    make(&case, "Widget", "v").await?;
    eventually(SOON, "the new object", || async {
        anyhow::ensure!(
            watch.get(Some(&case.namespace), "v").is_some(),
            "{:?}",
            watch.state()
        );
        Ok(())
    })
    .await
}

/// A watch through a proxy over one object `a` of the API.
async fn behind(case: &Case, proxy: &Proxy, timeout: u64) -> anyhow::Result<(Cluster, Arc<Watch>)> {
    let settings = Settings {
        watch_timeout: Duration::from_secs(timeout),
        ..settings(case)
    };
    let cluster = door_through(proxy, settings)?;
    let watch = synced_children(&cluster, case).await?;
    let a = object(case, config_map(), "a");
    cluster.apply(&a, child("a", &json!({})), &ours()).await?;
    Ok((cluster, watch))
}

/// Waits until the watch is open: events come through it.
async fn opened(case: &Case, watch: &Watch) -> anyhow::Result<()> {
    let maps = case.objects::<ConfigMap>();
    let sign: ConfigMap = serde_json::from_slice(&child("sign", &json!({})))?;
    maps.create(&PostParams::default(), &sign).await?;
    eventually(SOON, "an event", || async {
        anyhow::ensure!(watch.get(Some(&case.namespace), "sign").is_some(), "none");
        Ok(())
    })
    .await
}

async fn a_deletion_during_a_lost_connection_is_heard(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let (cluster, watch) = behind(&case, &proxy, 60).await?;
    opened(&case, &watch).await?;
    let heard = RecordedChanges::by(&cluster);
    let away = proxy.inject(Rule::any("configmaps.*watch").answer(503));
    assert_eq!(proxy.cut_watches("configmaps"), 1);
    state(&watch, |state| matches!(state, WatchState::Failing { .. })).await?;
    case.objects::<ConfigMap>()
        .delete("a", &DeleteParams::default())
        .await?;
    away.clear();
    heard.exactly(&["-a"]).await?;
    state(&watch, |state| matches!(state, WatchState::Synced)).await
}

async fn a_deletion_before_a_relist_is_heard(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let (cluster, watch) = behind(&case, &proxy, 60).await?;
    let b = object(&case, config_map(), "b");
    cluster.apply(&b, child("b", &json!({})), &ours()).await?;
    // The watch has shown it then: else a change of it would be heard as its coming.
    opened(&case, &watch).await?;
    let heard = RecordedChanges::by(&cluster);
    let away = proxy.inject(Rule::any("configmaps.*watch").answer(503));
    assert_eq!(proxy.cut_watches("configmaps"), 1);
    let maps = case.objects::<ConfigMap>();
    maps.delete("a", &DeleteParams::default()).await?;
    maps.patch(
        "b",
        &PatchParams::default(),
        &Patch::Merge(json!({"data": {"y": "1"}})),
    )
    .await?;
    proxy.inject(Rule::any("configmaps.*watch").times(1).expire());
    away.clear();
    eventually(SOON, "both changes", || async {
        let all: BTreeSet<_> = heard.all().into_iter().collect();
        let expected = BTreeSet::from(["-a".to_owned(), "~b".to_owned()]);
        anyhow::ensure!(all == expected, "{all:?}");
        Ok(())
    })
    .await
}

async fn a_silent_watch_is_cut(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let (cluster, _watch) = behind(&case, &proxy, 1).await?;
    let heard = RecordedChanges::by(&cluster);
    let silent = proxy.inject(Rule::any("configmaps.*watch").times(1).silence());
    eventually(SOON, "the silent watch", || async {
        anyhow::ensure!(silent.hits() == 1, "not yet");
        Ok(())
    })
    .await?;
    case.objects::<ConfigMap>()
        .delete("a", &DeleteParams::default())
        .await?;
    heard.exactly(&["-a"]).await
}

async fn refusals_that_pass_are_asked_again(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let cluster = door_through(&proxy, settings(&case))?;
    let a = object(&case, config_map(), "a");
    for status in [429, 500, 503, 504] {
        let rule = Rule::on(Method::PATCH, "configmaps/a").times(2);
        let fault = proxy.inject(rule.answer(status));
        cluster
            .apply(&a, child("a", &json!({"x": status.to_string()})), &ours())
            .await?;
        assert_eq!(fault.hits(), 2, "{status}");
    }
    let cut = proxy.inject(Rule::any("configmaps/a").times(2).cut());
    assert!(cluster.get(&a).await?.is_some());
    assert_eq!(cut.hits(), 2);
    // The client waits for the time in `Retry-After`.
    let rule = Rule::on(Method::GET, "configmaps/a").times(1);
    proxy.inject(rule.answer_with(429, &[("retry-after", "1")]));
    let started = rhai_operator::clock::now();
    cluster.get(&a).await?;
    assert!(started.elapsed() >= Duration::from_secs(1));
    // What stands, stands.
    proxy.inject(Rule::on(Method::GET, "configmaps/a").times(1).answer(403));
    assert_eq!(
        cluster.get(&a).await.unwrap_err().kind,
        ErrorKind::Forbidden
    );
    Ok(())
}

async fn a_create_whose_answer_is_lost_is_ours(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let cluster = door_through(&proxy, settings(&case))?;
    proxy.inject(Rule::on(Method::POST, "configmaps").times(1).lose_answer());
    let gvk = config_map();
    let create = |options: WriteOptions| {
        let (cluster, gvk, namespace) = (&cluster, &gvk, &case.namespace);
        async move {
            let body = child("a", &json!({}));
            cluster.create(gvk, Some(namespace), body, &options).await
        }
    };
    let written = create(ours()).await?;
    assert_eq!(written.effect, Effect::Created);
    let refused = create(ours()).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::AlreadyExists);
    Ok(())
}

async fn dropped_fields_are_named(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    case.define(&Crd::new("Widget").spec(schema)).await?;
    let gvk = Gvk::new(&case.group, "v1", "Widget");
    let body = |spec: Value| -> bytes::Bytes {
        let widget = json!({
            "apiVersion": gvk.api_version(), "kind": "Widget", "metadata": {"name": "w"},
            "spec": spec,
        });
        widget.to_string().into()
    };
    let written = cluster
        .create(
            &gvk,
            Some(&case.namespace),
            body(json!({"sise": 3})),
            &ours(),
        )
        .await?;
    assert_eq!(written.warnings, ["unknown field \"spec.sise\""]);
    let w = object(&case, gvk.clone(), "w");
    let refused = cluster
        .apply(&w, body(json!({"sise": 3})), &ours())
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
    assert_eq!(refused.causes[0].field, ".spec.sise");
    let refused = cluster
        .apply(&w, body(json!({"size": "x"})), &ours())
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
    Ok(())
}

async fn a_dry_run_writes_nothing(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let watch = synced_children(&cluster, &case).await?;
    let plan = cluster.with_dry_run();
    let a = object(&case, config_map(), "a");
    let written = plan
        .apply(&a, child("a", &json!({"x": "1"})), &ours())
        .await?;
    assert_eq!(written.object.value()["data"]["x"], "1");
    assert!(watch.is_empty());
    assert!(cluster.get(&a).await?.is_none());
    cluster.apply(&a, child("a", &json!({})), &ours()).await?;
    plan.delete(&a, &DeleteOptions::default()).await?;
    assert!(cluster.get(&a).await?.is_some());
    Ok(())
}

async fn a_fence_holds_without_a_request(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let a = object(&case, config_map(), "a");
    cluster.read(&a).await?;
    let own = case.namespace.clone();
    let fence = Fence::new(move |access| {
        let allowed = (access.group, access.resource, access.verb) == ("", "configmaps", "patch")
            && access.scope == AccessScope::Namespace(&own)
            && access.name == "a";
        (!allowed).then(|| format!("cannot {access}"))
    });
    let fenced = cluster.with_fence(Arc::new(fence));
    fenced.apply(&a, child("a", &json!({})), &ours()).await?;
    let refused = fenced.read(&a).await.unwrap_err();
    let words = format!("cannot get configmaps {}/a", case.namespace);
    assert!(refused.to_string().contains(&words), "{refused}");
    let everywhere = ListQuery {
        gvk: config_map(),
        namespace: None,
        labels: LabelSelector::default(),
        fields: FieldSelector::default(),
    };
    // The same words from a cache and from the layer.
    for refused in [
        fenced.read_list(&everywhere).await.err(),
        fenced.list(&everywhere).await.err(),
    ] {
        let refused = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(
            refused.contains("cannot list configmaps in all namespaces"),
            "{refused}"
        );
    }
    // A second fence adds to the first.
    let inner = fenced.with_fence(Arc::new(Fence::new(|_| None)));
    assert!(inner.read(&a).await.is_err() && inner.get(&a).await.is_err());
    assert!(fenced.cached(&a).is_none());
    let refused = fenced
        .delete(&a, &DeleteOptions::default())
        .await
        .unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Forbidden);
    assert!(refused.to_string().contains("cannot delete"), "{refused}");
    assert!(cluster.read(&a).await?.object.is_some());
    Ok(())
}

async fn invalid_namespaces_are_not_sent(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let maps = Gvk::new("", "v1", "ConfigMap");
    for namespace in ["a b", "../x", "a/b", "Team", "."] {
        let a = ObjectRef::new(maps.clone(), Some(namespace), "a");
        let query = ListQuery {
            gvk: maps.clone(),
            namespace: Some(namespace.into()),
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
        };
        let body = child("a", &json!({}));
        for refused in [
            cluster.read(&a).await.err(),
            cluster.get(&a).await.err(),
            cluster.read_list(&query).await.err(),
            cluster.list(&query).await.err(),
            cluster.apply(&a, body.clone(), &ours()).await.err(),
            cluster
                .create(&maps, Some(namespace), body, &ours())
                .await
                .err(),
            cluster.delete(&a, &DeleteOptions::default()).await.err(),
        ] {
            let refused = refused.context("it was answered")?;
            assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
            assert!(refused.message.contains("invalid namespace"), "{refused}");
        }
    }
    // With the server's own path before it, the last one is longer than any that can be sent.
    let (long, longest) = ("a".repeat(1025), "a".repeat(65_480));
    for name in [".", "..", "a/b", "%2e%2e", &long, &longest] {
        let refused = cluster.get(&object(&case, maps.clone(), name)).await;
        let refused = refused.err().context("it was answered")?;
        assert_eq!(refused.kind, ErrorKind::Invalid, "{refused}");
        assert!(refused.to_string().len() < 1000, "{refused}");
    }
    Ok(())
}

async fn status_and_scale_are_written(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    case.define(&Crd::new("Widget")).await?;
    make(&case, "Widget", "w").await?;
    let watch = cluster.watch(primary(&case, "Widget"));
    watch.synced().await?;
    let heard = RecordedChanges::by(&cluster);
    let w = object(&case, Gvk::new(&case.group, "v1", "Widget"), "w");
    let body = json!({"status": {"phase": "Done"}}).to_string();
    let written = cluster.patch_status(&w, body.into(), &ours()).await?;
    assert_eq!(written.object.value()["status"]["phase"], "Done");
    let held = watch.get(Some(&case.namespace), "w").unwrap();
    assert_eq!(held.value()["status"]["phase"], "Done");
    heard.nothing_more(&[]).await?;

    case.apply(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 0, \
         selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, \
         spec: {containers: [{name: main, image: nothing}]}}}}",
    )
    .await?;
    let d = object(&case, Gvk::new("apps", "v1", "Deployment"), "d");
    let scaled = cluster.scale(&d, 1, &ours()).await?;
    assert_eq!(scaled.object.value()["spec"]["replicas"], 1);
    assert_eq!(
        cluster.get(&d).await?.unwrap().value()["spec"]["replicas"],
        1
    );
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": 0}]).to_string();
    let patched = cluster
        .patch(&d, PatchKind::Json, patch.into(), &ours())
        .await?;
    assert_eq!(patched.object.value()["spec"]["replicas"], 0);
    Ok(())
}

async fn an_absent_kind_differs_from_an_absent_object(case: Case) -> anyhow::Result<()> {
    let cluster = door(&case).await?;
    let error = cluster
        .get(&object(&case, Gvk::new("no.such", "v1", "Thing"), "a"))
        .await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::KindAbsent);
    assert!(
        cluster
            .get(&object(&case, config_map(), "a"))
            .await?
            .is_none()
    );
    let nowhere = ObjectRef::new(config_map(), Some("no-such-namespace"), "a");
    let error = cluster
        .apply(&nowhere, child("a", &json!({})), &ours())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(cluster.k8s_version().await?.starts_with("v1."));
    let groups = cluster.api_groups().await?;
    assert!(groups.iter().any(|group| group.name == "apps"));
    assert!(cluster.kinds().await?.len() > 30);
    Ok(())
}

async fn the_api_server_restarts_under_watches(case: Case) -> anyhow::Result<()> {
    let case = case.on_own_cluster().await?;
    let cluster = door(&case).await?;
    let watch = synced_children(&cluster, &case).await?;
    let heard = RecordedChanges::by(&cluster);
    case.cluster.stop_process("kube-apiserver").await?;
    state(&watch, |state| matches!(state, WatchState::Failing { .. })).await?;
    case.cluster.start_process("kube-apiserver").await?;
    state(&watch, |state| matches!(state, WatchState::Synced)).await?;
    let maps = case.objects::<ConfigMap>();
    let map: ConfigMap = serde_json::from_slice(&child("a", &json!({})))?;
    eventually(SOON, "a new object", || async {
        maps.patch("a", &foreign(), &Patch::Apply(&map)).await
    })
    .await?;
    heard.exactly(&["+a"]).await
}
