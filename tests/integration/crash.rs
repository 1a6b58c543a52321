//! The operator is killed at each request of a run in turn, before the server receives the request or after
//! it executed it. After a restart, the result is the same as without a crash.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::widgets::Widgets;
use test_harness::{Case, Fault, Operator, Project, Proxy, Rule, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_kill_before_any_request_of_a_run_changes_nothing,
        a_kill_after_any_request_of_a_run_changes_nothing,
        a_kill_at_any_request_of_a_deletion_leaves_nothing,
    ]
}

/// A name that is generated, behind a guard; a child here and one elsewhere; reads and a status.
const ROLE: &str = r#"
    let settings = k8s_get("v1", "ConfigMap", "settings");
    let labels = #{"for": meta.name};
    k8s_apply(#{
        apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `${meta.name}-near`, labels: labels},
        data: #{text: spec.text, settings: settings.data.text},
    });
    let accounts = k8s_list("v1", "ServiceAccount", #{labels: labels});
    if accounts.is_empty() {
        k8s_create(#{
            apiVersion: "v1", kind: "ServiceAccount",
            metadata: #{generateName: `${meta.name}-`, labels: labels},
        });
    }
    let login = ensure_secret(`${meta.name}-login`, || #{password: random_password(24)});
    k8s_apply(#{
        apiVersion: "v1", kind: "ConfigMap",
        metadata: #{name: `${meta.name}-far`, namespace: "{namespace}-other", labels: labels},
        data: #{text: spec.text},
    });
    set_status(#{text: spec.text, password: login.password.len()});
"#;

/// Near and far, an account, a Secret.
const CHILDREN: usize = 4;
/// Writes of a run: a child, an account, a Secret, a finalizer, a child elsewhere, a status.
const WRITES: usize = 6;

/// The garbage collector may take half a minute to hear of a new kind.
const GARBAGE_COLLECTED: Duration = Duration::from_mins(2);

fn name(number: usize) -> String {
    format!("widget-{number}")
}

/// An operator behind a proxy, with two namespaces.
struct CrashTest {
    case: Case,
    widgets: Widgets,
    project: Project,
    proxy: Proxy,
}

async fn a_kill_before_any_request_of_a_run_changes_nothing(case: Case) -> anyhow::Result<()> {
    kill_at_each(case, Rule::hold).await
}

async fn a_kill_after_any_request_of_a_run_changes_nothing(case: Case) -> anyhow::Result<()> {
    kill_at_each(case, Rule::hold_answer).await
}

async fn kill_at_each(case: Case, keep: fn(Rule) -> Rule) -> anyhow::Result<()> {
    let test = CrashTest::start(case).await?;
    let mut operator = test.start_operator().await?;
    test.make("whole").await?;
    test.widgets.is_done("whole").await?;
    let expected = test.outcome("whole").await?;
    let children = expected["children"].as_array().map(Vec::len);
    ensure!(children == Some(CHILDREN), "{expected:#}");
    let mut kills = Vec::new();
    loop {
        let name = name(kills.len());
        let fault = test.proxy.inject(keep(test.request(kills.len())));
        test.make(&name).await?;
        let done = || test.is_ready(&name);
        let Some(request) = held_request(&operator, &fault, done).await? else {
            fault.clear();
            break;
        };
        operator.kill().await?;
        operator = test.start_operator().await?;
        let same = test.is_as_if_nothing_had_happened(&name, &expected).await;
        same.with_context(|| format!("killed at {request}"))?;
        kills.push(request);
    }
    for number in 0..kills.len() {
        test.widgets.delete(&name(number)).await?;
    }
    for (number, request) in kills.iter().enumerate() {
        let gone = test.is_gone(&name(number)).await;
        gone.with_context(|| format!("killed at {request}"))?;
    }
    let writes = kills.iter().filter(|request| !request.starts_with("GET"));
    ensure!(writes.count() >= WRITES, "killed at {kills:#?}");
    Ok(())
}

/// Kills the operator before and after each request of the run that a deletion triggers.
async fn a_kill_at_any_request_of_a_deletion_leaves_nothing(case: Case) -> anyhow::Result<()> {
    let test = CrashTest::start(case).await?;
    let mut operator = test.start_operator().await?;
    let mut kills = Vec::new();
    for keep in [Rule::hold, Rule::hold_answer] {
        let before = kills.len();
        loop {
            let name = format!("widget-{}-{}", before, kills.len());
            test.make(&name).await?;
            test.widgets.is_done(&name).await?;
            let rule = test.request(kills.len() - before);
            let fault = test.proxy.inject(keep(rule));
            test.widgets.delete(&name).await?;
            let gone = || test.is_absent(&name);
            let Some(request) = held_request(&operator, &fault, gone).await? else {
                fault.clear();
                break;
            };
            operator.kill().await?;
            operator = test.start_operator().await?;
            let gone = test.is_gone(&name).await;
            gone.with_context(|| format!("killed at {request}"))?;
            kills.push(request);
        }
    }
    for write in ["DELETE", "PATCH"] {
        let count = kills.iter().filter(|kill| kill.starts_with(write)).count();
        ensure!(count >= 2, "killed at {kills:#?}");
    }
    Ok(())
}

impl CrashTest {
    async fn start(case: Case) -> anyhow::Result<Self> {
        let widgets = Widgets::define(&case).await?;
        case.create_namespace(&format!("{}-other", case.namespace))
            .await?;
        case.apply(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {text: x}}",
        )
        .await?;
        Ok(Self {
            project: widgets.project(ROLE)?,
            proxy: Proxy::start(&case).await?,
            widgets,
            case,
        })
    }

    async fn start_operator(&self) -> anyhow::Result<Operator> {
        let operator = Operator::builder(&self.case, &self.project).through(&self.proxy);
        let operator = operator.start().await?;
        operator.ready().await?;
        Ok(operator)
    }

    /// A request by its place in a run. Caches are for the whole cluster, Events come when they like:
    /// both are left alone.
    fn request(&self, number: usize) -> Rule {
        let kinds = "(configmaps|secrets|serviceaccounts|widgets)";
        let uri = format!("/namespaces/{}(-other)?/{kinds}", self.case.namespace);
        Rule::any(&uri).after(number).times(1)
    }

    async fn make(&self, name: &str) -> anyhow::Result<()> {
        self.widgets.make(name, "text").await.map(drop)
    }

    async fn is_ready(&self, name: &str) -> anyhow::Result<()> {
        let ready = self.widgets.condition(name, "Ready").await?;
        ensure!(ready["status"] == "True", "{ready}");
        Ok(())
    }

    async fn is_absent(&self, name: &str) -> anyhow::Result<()> {
        let left = self.widgets.api.get_opt(name).await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    }

    async fn is_as_if_nothing_had_happened(
        &self,
        name: &str,
        expected: &Value,
    ) -> anyhow::Result<()> {
        self.widgets.is_done(name).await?;
        eventually(SOON, "the same outcome", || async {
            let outcome = self.outcome(name).await?;
            ensure!(outcome == *expected, "{outcome:#}\ninstead of {expected:#}");
            Ok(())
        })
        .await
    }

    /// Returns the state of a widget and its children, without the widget's name.
    async fn outcome(&self, name: &str) -> anyhow::Result<Value> {
        let widget = self.widgets.api.get(name).await?;
        let uid = widget.uid().context("no uid")?;
        let mut status = widget.data["status"].clone();
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            condition["lastTransitionTime"].take();
        }
        let outcome = json!({
            "finalizers": widget.finalizers(),
            "status": status,
            "children": self.children(name).await?,
            "warnings": self.warnings(name).await?,
        });
        let text = outcome.to_string().replace(&uid, "UID");
        Ok(serde_json::from_str(&text.replace(name, "NAME"))?)
    }

    /// All objects that a widget's name begins the name of.
    async fn children(&self, name: &str) -> anyhow::Result<Vec<Value>> {
        let other = format!("{}-other", self.case.namespace);
        let far = Api::<ConfigMap>::namespaced(self.case.cluster.client.clone(), &other);
        let prefix = format!("{name}-");
        let mut all = comparable(&self.widgets.maps(), &prefix).await?;
        all.extend(comparable(&far, &prefix).await?);
        all.extend(comparable(&self.case.objects::<Secret>(), &prefix).await?);
        all.extend(comparable(&self.case.objects::<ServiceAccount>(), &prefix).await?);
        Ok(all)
    }

    async fn warnings(&self, name: &str) -> anyhow::Result<Vec<Event>> {
        let events = self.case.objects::<Event>();
        let mut warnings = events.list(&ListParams::default()).await?.items;
        warnings.retain(|event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|it| it.name.as_deref()) == Some(name)
                && event.type_.as_deref() == Some("Warning")
        });
        Ok(warnings)
    }

    /// A deleted widget is gone, and all that it had.
    async fn is_gone(&self, name: &str) -> anyhow::Result<()> {
        self.widgets.is_gone(name).await?;
        eventually(GARBAGE_COLLECTED, "the children to be gone", || async {
            let children = self.children(name).await?;
            ensure!(children.is_empty(), "{children:#?}");
            Ok(())
        })
        .await
    }
}

/// The request that is kept; none if all had ended before that.
async fn held_request<F>(
    operator: &Operator,
    fault: &Fault,
    has_ended: impl Fn() -> F,
) -> anyhow::Result<Option<String>>
where
    F: Future<Output = anyhow::Result<()>>,
{
    eventually(SOON, "a request to be held", || async {
        if let Some(request) = fault.held_requests().pop() {
            return Ok(Some(request));
        }
        has_ended().await?;
        is_idle(operator).await?;
        anyhow::Ok(None)
    })
    .await
}

/// Fails while a run is active. The effect of a run's last request is visible before its response, and the
/// run continues while the proxy delays that response.
async fn is_idle(operator: &Operator) -> anyhow::Result<()> {
    let metrics = operator.metrics().await?;
    let idle = r#"active_workers{controller="widget-controller"} 0"#;
    ensure!(metrics.contains(idle), "{metrics}");
    Ok(())
}

/// Returns the objects whose names have a prefix, without versions and random values.
async fn comparable<K>(api: &Api<K>, prefix: &str) -> anyhow::Result<Vec<Value>>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Serialize,
{
    let mut objects = api.list(&ListParams::default()).await?.items;
    objects.retain(|object| object.name_any().starts_with(prefix));
    objects.iter().map(essence).collect()
}

fn essence<K: kube::Resource + Serialize>(object: &K) -> anyhow::Result<Value> {
    let meta = object.meta();
    let generated = meta.generate_name.clone();
    let content = serde_json::to_value(object)?;
    let is_secret = content["kind"] == "Secret" || content["type"] == "Opaque";
    Ok(json!({
        "name": generated.or_else(|| meta.name.clone()),
        "namespace": meta.namespace,
        "labels": meta.labels,
        "owners": meta.owner_references,
        "finalizers": meta.finalizers,
        "data": if is_secret { Value::Null } else { content["data"].clone() },
    }))
}
