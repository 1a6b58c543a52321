//! The harness itself: what other tests rely on.

use std::time::Duration;

use anyhow::Context;
use futures::TryStreamExt;
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, Config};
use libtest_mimic::Trial;
use serde_json::json;

use test_harness::{Case, Crd, Proxy, Rule, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        pods_become_ready,
        a_custom_kind_is_served,
        pod_security_is_enforced: real "the embedded API does not enforce Pod Security",
        a_user_may_do_what_it_is_allowed,
        the_audit_log_counts_requests_by_user,
        the_proxy_answers_and_then_passes_on,
        the_proxy_loses_an_answer_after_the_write,
        the_proxy_cuts_a_running_watch,
        the_proxy_expires_and_silences_watches,
        the_api_server_restarts: real "it stops the API server and starts it again",
    ]
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Returns an API that connects through a proxy.
fn through(proxy: &Proxy, case: &Case) -> Api<ConfigMap> {
    let mut config = Config::new(proxy.server().parse().unwrap());
    config.auth_info.token = Some("admin-token".to_owned().into());
    config.default_retry = false;
    Api::namespaced(Client::try_from(config).unwrap(), &case.namespace)
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: a},
    spec: {containers: [{name: main, image: nothing}]}}";

async fn pods_become_ready(case: Case) -> anyhow::Result<()> {
    // Its service account may come after the namespace.
    eventually(SOON, "a Pod that is admitted", || case.apply(POD)).await?;
    let pods = case.objects::<Pod>();
    eventually(SOON, "a running Pod", || async {
        let phase = pods.get("a").await?.status.and_then(|status| status.phase);
        anyhow::ensure!(phase.as_deref() == Some("Running"), "{phase:?}");
        Ok(())
    })
    .await
}

async fn a_custom_kind_is_served(case: Case) -> anyhow::Result<()> {
    let widgets = case.api(&case.define(&Crd::new("Widget")).await?);
    let widget = json!({
        "apiVersion": format!("{}/v1", case.group), "kind": "Widget",
        "metadata": {"name": "a"}, "spec": {"size": 3},
    });
    widgets
        .create(&PostParams::default(), &serde_json::from_value(widget)?)
        .await?;
    let read = widgets.get("a").await?;
    assert_eq!(read.data["spec"]["size"], 3);
    Ok(())
}

async fn pod_security_is_enforced(case: Case) -> anyhow::Result<()> {
    let label = "pod-security.kubernetes.io/enforce=restricted";
    case.cluster
        .kubectl(["label", "namespace", &case.namespace, label])
        .await?;
    let pod = serde_yaml::from_str(POD)?;
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    // Admission sees labels by a watch of its own.
    eventually(SOON, "the refusal", || async {
        let created = case.objects::<Pod>().create(&dry_run, &pod).await;
        let refused = created.err().context("it is admitted")?.to_string();
        anyhow::ensure!(refused.contains("violates PodSecurity"), "{refused}");
        Ok(())
    })
    .await
}

async fn a_user_may_do_what_it_is_allowed(case: Case) -> anyhow::Result<()> {
    let user = case.user("reader").await?;
    let maps = Api::<ConfigMap>::namespaced(user.client.clone(), &case.namespace);
    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("forbidden"), "{refused}");
    user.allow(json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]))
        .await?;
    // The authorizer receives a new rule through its own watch.
    let all = ListParams::default();
    eventually(SOON, "the rule", || maps.list(&all))
        .await
        .map(drop)
}

async fn the_audit_log_counts_requests_by_user(case: Case) -> anyhow::Result<()> {
    let user = case.user("counted").await?;
    user.bind("cluster-admin").await?;
    let maps = Api::<ConfigMap>::namespaced(user.client.clone(), &case.namespace);
    let all = ListParams::default();
    eventually(SOON, "the rule", || maps.list(&all)).await?;
    let mark = case.cluster.audit.mark().await?;
    maps.create(&PostParams::default(), &config_map("a"))
        .await?;
    maps.get("a").await?;
    maps.get_opt("absent").await?;
    drop(maps.watch(&WatchParams::default(), "0").await?);
    let requests = case.cluster.audit.since(mark).await?.by(&user.name);
    let counted = requests.clone().without_watches().counted();
    let expected = [("create configmaps", 1), ("get configmaps", 2)];
    assert_eq!(
        counted,
        expected.map(|(what, n)| (what.to_owned(), n)).into()
    );
    assert_eq!(requests.writes().0[0].code(), 201);
    Ok(())
}

async fn the_proxy_answers_and_then_passes_on(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let maps = through(&proxy, &case);
    let rule = Rule::on(Method::POST, "/configmaps").times(1);
    let fault = proxy.inject(rule.answer_with(429, &[("retry-after", "1")]));
    let refused = maps
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("injected 429"), "{refused}");
    maps.create(&PostParams::default(), &config_map("a"))
        .await?;
    assert_eq!(fault.hits(), 1);
    let cut = proxy.inject(Rule::any("/configmaps/a").cut());
    maps.get("a").await.unwrap_err();
    cut.clear();
    maps.get("a").await?;
    Ok(())
}

async fn the_proxy_loses_an_answer_after_the_write(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let maps = through(&proxy, &case);
    proxy.inject(Rule::on(Method::POST, "/configmaps").times(1).lose_answer());
    maps.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap_err();
    maps.get("a").await?;
    Ok(())
}

async fn the_proxy_cuts_a_running_watch(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let maps = through(&proxy, &case);
    let watch = WatchParams::default()
        .fields("metadata.name=a")
        .disable_bookmarks();
    let mut events = Box::pin(maps.watch(&watch, "0").await?);
    maps.create(&PostParams::default(), &config_map("a"))
        .await?;
    let event = events.try_next().await?.context("no event")?;
    assert!(matches!(event, WatchEvent::Added(_)), "{event:?}");
    assert_eq!(proxy.cut_watches("/configmaps"), 1);
    // kube-rs calls a connection that was cut the end of the watch.
    let event = events.try_next().await;
    assert!(!matches!(event, Ok(Some(_))), "{event:?}");
    Ok(())
}

async fn the_proxy_expires_and_silences_watches(case: Case) -> anyhow::Result<()> {
    let proxy = Proxy::start(&case).await?;
    let maps = through(&proxy, &case);
    maps.create(&PostParams::default(), &config_map("a"))
        .await?;
    proxy.inject(Rule::on(Method::GET, "watch=true").times(1).expire());
    let mut events = Box::pin(maps.watch(&WatchParams::default(), "0").await?);
    match events.try_next().await?.context("no event")? {
        WatchEvent::Error(status) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
    proxy.inject(Rule::on(Method::GET, "watch=true").times(1).silence());
    let mut events = Box::pin(maps.watch(&WatchParams::default(), "0").await?);
    let silent = tokio::time::timeout(Duration::from_millis(300), events.try_next()).await;
    assert!(silent.is_err(), "{silent:?}");
    assert_eq!(proxy.cut_watches("/configmaps"), 1);
    Ok(())
}

async fn the_api_server_restarts(case: Case) -> anyhow::Result<()> {
    let case = case.on_own_cluster().await?;
    let maps = case.objects::<ConfigMap>();
    maps.create(&PostParams::default(), &config_map("a"))
        .await?;
    case.cluster.stop_process("kube-apiserver").await?;
    maps.get("a").await.unwrap_err();
    case.cluster.start_process("kube-apiserver").await?;
    eventually(SOON, "the API server", || maps.get("a"))
        .await
        .map(drop)
}
