//! Subscriptions: a role that reads an object runs again when it changes, and the watch that reports this
//! is open as long as a custom resource depends on it.

use anyhow::ensure;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use libtest_mimic::Trial;
use serde_json::json;

use crate::widgets::Widgets;
use test_harness::{Case, Crd, Operator, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_watch_closes_with_its_last_subscriber_and_opens_again,
        a_kind_that_is_read_before_it_is_installed_is_waited_for,
        a_kind_that_may_not_be_listed_is_warned_of_once,
    ]
}

/// Reads a Secret if the spec names one.
const READ_ONE: &str = r#"
    let secret = if spec.text == "" { () } else { k8s_get("v1", "Secret", spec.text) };
    set_status(#{text: spec.text, version: if secret == () { "none" } else { secret.metadata.resourceVersion }});
"#;

/// Waits until the operator has, or has not, a watch on the Secrets that roles read.
async fn watches_secrets(operator: &Operator, expected: bool) -> anyhow::Result<()> {
    eventually(SOON, "the watch on Secrets", || async {
        let metrics = operator.metrics().await?;
        let watch =
            r#"rhai_operator_watch_state{kind="Secret",purpose="reference",state="synced"}"#;
        ensure!(metrics.contains(watch) == expected, "{metrics}");
        Ok(())
    })
    .await
}

async fn a_watch_closes_with_its_last_subscriber_and_opens_again(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(READ_ONE).await?;
    for name in ["a", "b"] {
        widgets.make(name, "shared").await?;
        widgets.is_done(name).await?;
    }
    watches_secrets(&operator, true).await?;
    widgets.merge("a", json!({"spec": {"text": ""}})).await?;
    widgets.is_done("a").await?;
    watches_secrets(&operator, true).await?;
    widgets.delete("b").await?;
    widgets.is_gone("b").await?;
    watches_secrets(&operator, false).await?;
    let (_, parts) = operator
        .get(operator.health_address()?, "/readyz?verbose")
        .await?;
    ensure!(!parts.contains("reference watch of Secret"), "{parts}");

    widgets
        .merge("a", json!({"spec": {"text": "shared"}}))
        .await?;
    widgets.is_done("a").await?;
    watches_secrets(&operator, true).await?;
    let secret: Secret = serde_json::from_value(json!({"metadata": {"name": "shared"}}))?;
    let secrets = case.objects::<Secret>();
    let made = secrets.create(&PostParams::default(), &secret).await?;
    eventually(SOON, "a run that sees the Secret", || async {
        let version = widgets.api.get("a").await?.data["status"]["version"].clone();
        ensure!(
            version.as_str() == made.metadata.resource_version.as_deref(),
            "{version}"
        );
        Ok(())
    })
    .await
}

async fn a_kind_that_is_read_before_it_is_installed_is_waited_for(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let role = r#"
        let one = k8s_get("{group}/v1", "Gadget", "one");
        let all = k8s_list("{group}/v1", "Gadget");
        set_status(#{
            text: if has_api("{group}/v1", "Gadget") { "installed" } else { "absent" },
            one: one != (), count: all.len(),
        });
    "#;
    let _operator = widgets
        .operator(&role.replace("{group}", &case.group))
        .await?;
    widgets.make("a", "").await?;
    widgets.is_done("a").await?;
    let has_status = async |text: &str, count: i64| {
        eventually(2 * SOON, text, || async {
            let status = widgets.api.get("a").await?.data["status"].clone();
            ensure!(status["text"] == text, "{status}");
            ensure!(status["one"] == (count > 0), "{status}");
            ensure!(status["count"] == count, "{status}");
            Ok(())
        })
        .await
    };
    has_status("absent", 0).await?;
    let gadgets = case.define(&Crd::new("Gadget")).await?;
    has_status("installed", 0).await?;
    let gadget = json!({
        "apiVersion": gadgets.api_version, "kind": gadgets.kind, "metadata": {"name": "one"},
    });
    let gadget = serde_json::from_value(gadget)?;
    case.api(&gadgets)
        .create(&PostParams::default(), &gadget)
        .await?;
    has_status("installed", 1).await
}

async fn a_kind_that_may_not_be_listed_is_warned_of_once(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let user = case.user("limited").await?;
    user.allow(json!([
        {"apiGroups": [case.group], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["configmaps"],
         "verbs": ["get", "create", "update", "patch", "delete"]},
    ]))
    .await?;
    let role = r#"
        let secret = k8s_get("v1", "Secret", "absent");
        k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name},
                    data: #{text: spec.text}});
    "#;
    let project = widgets.project(role)?;
    let operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    operator.ready().await?;
    for name in ["a", "b"] {
        widgets.make(name, "one").await?;
        widgets.is_done(name).await?;
        widgets.has_text(name, "one").await?;
    }
    let (status, parts) = operator.readiness().await?;
    ensure!(status == 200, "{parts}");
    let log = operator.log()?;
    let warnings = |kind: &str| {
        let lines = log.lines();
        lines
            .filter(|line| line.contains(r#""level":"WARN""#) && line.contains(kind))
            .count()
    };
    ensure!(warnings("Secret") == 1, "{log}");
    ensure!(warnings("ConfigMap") == 0, "{log}");
    Ok(())
}
