//! Faults between the operator and the API server, or at the server: after a fault the state converges, no
//! change is lost, and the number of requests stays small.

use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use libtest_mimic::Trial;
use serde_json::json;

use crate::widgets::{MAKE_MAP, WATCHES, Widgets, comes_to_rest};
use test_harness::{Case, Operator, Project, Proxy, Rule, SOON, eventually, throughout, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_conflict_is_resolved,
        a_stale_watch_and_conflicts_make_few_requests,
        a_busy_server_is_given_the_time_that_it_asks_for,
        errors_of_the_server_are_retried,
        a_lost_answer_is_found_out,
        watches_that_are_cut_lose_nothing,
        a_watch_that_falls_silent_is_noticed,
        an_expired_watch_is_listed_again,
        an_operator_is_not_ready_before_discovery_answers,
        a_restarted_server_is_found_again: real "it stops the API server and starts it again",
        a_recreated_kind_is_served_again,
        a_namespace_may_go_under_our_feet,
        a_right_that_is_taken_away_is_named,
        killed_at_any_write_the_next_life_finishes,
    ]
}

/// An operator behind a proxy.
struct FaultTest {
    widgets: Widgets,
    proxy: Proxy,
    operator: Operator,
}

impl FaultTest {
    async fn start(case: &Case, role: &str) -> anyhow::Result<Self> {
        let widgets = Widgets::define(case).await?;
        let proxy = Proxy::start(case).await?;
        let project = widgets.project(role)?;
        let operator = Operator::builder(case, &project)
            .through(&proxy)
            .start()
            .await?;
        operator.ready().await?;
        // One run without faults, so that all watches are there.
        widgets.make("first", "one").await?;
        widgets.is_done("first").await?;
        Ok(Self {
            widgets,
            proxy,
            operator,
        })
    }

    /// A new widget and a changed one come out right, and then there is silence.
    async fn converges(&self) -> anyhow::Result<()> {
        self.widgets.make("second", "two").await?;
        self.widgets
            .merge("first", json!({"spec": {"text": "changed"}}))
            .await?;
        self.widgets.is_done("second").await?;
        self.widgets.is_done("first").await?;
        self.widgets.has_text("first", "changed").await?;
        self.widgets.has_text("second", "two").await?;
        comes_to_rest(&self.widgets.case, &self.operator, Duration::from_secs(1)).await
    }

    /// Checks that the state converges while `/readyz` reports a working operator: single errors of a
    /// running server are not an outage.
    async fn converges_in_service(&self) -> anyhow::Result<()> {
        let in_service = throughout(30 * SOON, "a ready operator", || async {
            let (status, body) = self.operator.readiness().await?;
            anyhow::ensure!(status == 200, "{status} {body}");
            Ok(())
        });
        tokio::select! {
            done = self.converges() => done,
            not_ready = in_service => not_ready,
        }
    }

    /// Waits until `/readyz` has a status and contains a text.
    async fn readiness(&self, wanted: u16, text: &str) -> anyhow::Result<()> {
        eventually(SOON, &format!("{wanted} and {text:?}"), || async {
            let (status, body) = self.operator.readiness().await?;
            anyhow::ensure!(status == wanted && body.contains(text), "{status} {body}");
            Ok(())
        })
        .await
    }
}

async fn a_conflict_is_resolved(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let fault = test
        .proxy
        .inject(Rule::on(Method::PATCH, "/status").times(3).answer(409));
    test.converges_in_service().await?;
    assert_eq!(fault.hits(), 3);
    Ok(())
}

/// The cache does not know that a widget is being deleted, so that each run meets a conflict.
async fn a_stale_watch_and_conflicts_make_few_requests(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let proxy = Proxy::start(&case).await?;
    let watches = "- {group: '{group}', version: v1, kind: Widget, role: widget, \
                   finalizer: {name: 'example.com/ours'}}\n";
    let project = Project::new(&case, watches)?.with_role(&case, "widget", MAKE_MAP)?;
    let operator = Operator::builder(&case, &project)
        .through(&proxy)
        .start()
        .await?;
    operator.ready().await?;
    let refused = proxy.inject(Rule::on(Method::PATCH, "/widgets/stale[?]").answer(409));
    let theirs = json!({"metadata": {"finalizers": ["example.com/theirs"]}, "spec": {"text": "x"}});
    widgets.make_with("stale", theirs).await?;
    eventually(SOON, "an attempt to put the finalizer", || async {
        anyhow::ensure!(refused.hits() > 0, "none yet");
        Ok(())
    })
    .await?;
    proxy.silence_watches("/widgets");
    widgets.delete("stale").await?;
    refused.clear();
    let sent = proxy.inject(Rule::on(Method::PATCH, "/widgets/stale[?]").delay(Duration::ZERO));
    // The watch is back when another widget is seen; a silent one is given up after a minute.
    widgets.make("seen", "x").await?;
    widgets.is_done("seen").await?;
    // How many of them the silent watch delays depends on when the retry reads the object.
    let attempts = refused.hits() + sent.hits();
    anyhow::ensure!(attempts <= 14, "{attempts} attempts");
    widgets
        .merge("stale", json!({"metadata": {"finalizers": null}}))
        .await?;
    Ok(())
}

async fn a_busy_server_is_given_the_time_that_it_asks_for(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let rule = Rule::write("/configmaps/second").times(1);
    let fault = test
        .proxy
        .inject(rule.answer_with(429, &[("retry-after", "2")]));
    let mark = case.cluster.audit.mark().await?;
    let begun = rhai_operator::clock::now();
    test.converges_in_service().await?;
    assert_eq!(fault.hits(), 1);
    assert!(
        begun.elapsed() >= Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    let requests = case
        .cluster
        .audit
        .since(mark)
        .await?
        .by(&test.operator.user.name);
    let maps = requests
        .writes()
        .filter(|request| request.object_ref.resource == "configmaps");
    assert_eq!(maps.0.len(), 2, "{:?}", maps.counted());
    Ok(())
}

async fn errors_of_the_server_are_retried(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    for status in [500, 503, 504] {
        test.proxy
            .inject(Rule::write("/configmaps/").times(2).answer(status));
    }
    test.proxy
        .inject(Rule::on(Method::PATCH, "/status").times(1).cut());
    test.converges_in_service().await
}

async fn a_lost_answer_is_found_out(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    test.proxy
        .inject(Rule::write("/configmaps/").times(2).lose_answer());
    test.proxy
        .inject(Rule::on(Method::PATCH, "/status").times(2).lose_answer());
    test.converges_in_service().await
}

async fn watches_that_are_cut_lose_nothing(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let down = test.proxy.inject(Rule::any("watch=true").cut());
    assert!(test.proxy.cut_watches("") > 0);
    test.readiness(503, "not ready").await?;
    let maps = case.objects::<ConfigMap>();
    maps.delete("first", &DeleteParams::default()).await?;
    test.widgets.make("meanwhile", "three").await?;
    down.clear();
    test.widgets.has_text("first", "one").await?;
    test.widgets.is_done("meanwhile").await?;
    test.readiness(200, "passed").await?;
    test.converges().await
}

async fn a_watch_that_falls_silent_is_noticed(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    test.proxy.silence_watches("");
    test.widgets.make("meanwhile", "three").await?;
    // The server ends a watch after a minute; ours is given up a little later.
    eventually(SOON, "the silence to be noticed", || async {
        test.widgets.text("meanwhile").await
    })
    .await?;
    test.converges().await
}

async fn an_expired_watch_is_listed_again(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let expired = test.proxy.inject(Rule::any("watch=true").times(4).expire());
    test.proxy.cut_watches("");
    let maps = case.objects::<ConfigMap>();
    maps.delete("first", &DeleteParams::default()).await?;
    test.widgets.has_text("first", "one").await?;
    test.converges_in_service().await?;
    assert!(expired.hits() >= 2);
    Ok(())
}

async fn an_operator_is_not_ready_before_discovery_answers(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let proxy = Proxy::start(&case).await?;
    let discovery = proxy.inject(Rule::on(Method::GET, "^/apis?($|[?]|/[^/]+/v1($|[?]))").hold());
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project)
        .through(&proxy)
        .start()
        .await?;
    eventually(SOON, "a discovery request", || async {
        anyhow::ensure!(discovery.hits() > 0, "no discovery request");
        Ok(())
    })
    .await?;
    let (status, body) = operator.readiness().await?;
    assert_eq!(status, 503, "{body}");
    let (status, body) = operator.health().await?;
    assert_eq!(status, 200, "{body}");
    discovery.clear();
    operator.ready().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await
}

async fn a_restarted_server_is_found_again(case: Case) -> anyhow::Result<()> {
    let case = case.on_own_cluster().await?;
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    case.cluster.stop_process("kube-apiserver").await?;
    test.readiness(503, "not ready").await?;
    let (status, body) = test
        .operator
        .get(test.operator.health_address()?, "/healthz")
        .await?;
    assert_eq!(status, 200, "{body}");
    case.cluster.start_process("kube-apiserver").await?;
    test.readiness(200, "passed").await?;
    test.converges().await
}

async fn a_recreated_kind_is_served_again(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let definitions = Api::<CustomResourceDefinition>::all(case.cluster.client.clone());
    let name = format!("widgets.{}", case.group);
    definitions.delete(&name, &DeleteParams::default()).await?;
    test.readiness(200, "not installed").await?;
    let widgets = Widgets::define(&case).await?;
    widgets.make("again", "four").await?;
    widgets.is_done("again").await?;
    widgets.has_text("again", "four").await
}

async fn a_namespace_may_go_under_our_feet(case: Case) -> anyhow::Result<()> {
    let test = FaultTest::start(&case, MAKE_MAP).await?;
    let name = format!("{}-doomed", case.namespace);
    case.create_namespace(&name).await?;
    let widgets = Api::namespaced_with(
        case.cluster.client.clone(),
        &name,
        &test_harness::Crd::new("Widget").resource(&case.group),
    );
    let widget = json!({
        "apiVersion": format!("{}/v1", case.group), "kind": "Widget",
        "metadata": {"name": "doomed"}, "spec": {"text": "x"},
    });
    let widget: kube::api::DynamicObject = serde_json::from_value(widget)?;
    widgets
        .create(&kube::api::PostParams::default(), &widget)
        .await?;
    let namespaces = Api::<Namespace>::all(case.cluster.client.clone());
    namespaces.delete(&name, &DeleteParams::default()).await?;
    eventually(SOON, "the namespace to be gone", || async {
        let left = namespaces.get_opt(&name).await?;
        anyhow::ensure!(left.is_none(), "{:?}", left.and_then(|left| left.status));
        Ok(())
    })
    .await?;
    test.converges().await
}

async fn a_right_that_is_taken_away_is_named(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let user = case.user("limited").await?;
    let rule = |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": ["*"]});
    let all = json!([
        rule("", &["configmaps"]),
        rule("events.k8s.io", &["events"]),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"]),
        rule(&case.group, &["*"]),
    ]);
    let role = user.allow(all).await?;
    let edit = async |operation: serde_json::Value| {
        let patch = json!([operation]).to_string();
        let arguments = ["patch", "clusterrole", &role, "--type=json", "-p", &patch];
        case.cluster.kubectl(arguments).await
    };
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    operator.ready().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    edit(json!({"op": "remove", "path": "/rules/3"})).await?;
    // A running watch continues until the server ends it after a minute.
    let blamed = eventually(SOON, "the missing right", || async {
        let (status, body) = operator.readiness().await?;
        anyhow::ensure!(status == 503, "{body}");
        Ok(body)
    })
    .await?;
    assert!(
        blamed.contains("widgets") && blamed.contains(&case.group),
        "{blamed}"
    );
    edit(json!({"op": "add", "path": "/rules/-", "value": rule(&case.group, &["*"])})).await?;
    widgets.make("b", "two").await?;
    eventually(SOON, "the right to be noticed", || widgets.text("b")).await?;
    operator.ready().await
}

async fn killed_at_any_write_the_next_life_finishes(case: Case) -> anyhow::Result<()> {
    const FIVE_CALLS: &str = r#"
        for part in ["a", "b", "c", "d", "e"] {
            k8s_apply(#{
                apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `${meta.name}-${part}`},
                data: #{text: spec.text},
            });
        }
        set_status(#{text: spec.text});
    "#;
    let widgets = Widgets::define(&case).await?;
    let proxy = Proxy::start(&case).await?;
    let project =
        test_harness::Project::new(&case, WATCHES)?.with_role(&case, "widget", FIVE_CALLS)?;
    for (index, uri) in ["-a", "-b", "-c", "-d", "-e", "/status"]
        .into_iter()
        .enumerate()
    {
        let name = format!("w{index}");
        let held = proxy.inject(
            Rule::write(&format!("{name}{uri}"))
                .times(1)
                .delay(Duration::from_mins(1)),
        );
        let mut doomed = Operator::builder(&case, &project)
            .through(&proxy)
            .start()
            .await?;
        widgets.make(&name, "x").await?;
        eventually(SOON, "the write", || async {
            anyhow::ensure!(held.hits() == 1, "not yet");
            Ok(())
        })
        .await?;
        doomed.kill().await?;
        held.clear();
        let mut next = Operator::builder(&case, &project)
            .through(&proxy)
            .start()
            .await?;
        widgets.is_done(&name).await?;
        let maps = case
            .objects::<ConfigMap>()
            .list(&ListParams::default())
            .await?;
        let ours = maps.items.iter().filter(|map| {
            map.metadata
                .name
                .as_ref()
                .is_some_and(|map| map.starts_with(&name))
        });
        assert_eq!(ours.count(), 5, "{uri}");
        next.kill().await?;
    }
    Ok(())
}
