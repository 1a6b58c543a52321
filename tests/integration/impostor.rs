//! An API server or a proxy that returns another object than the requested one: the operator detects that,
//! writes nothing, and continues when the responses are correct again.

use anyhow::ensure;
use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use libtest_mimic::Trial;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Operator, Proxy, Rule, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_write_that_is_answered_with_another_object_has_failed,
        a_read_that_is_answered_with_another_object_has_failed,
        an_answer_with_another_uid_has_failed,
    ]
}

/// The message of the condition for such an answer.
const NOTICED: &str = "the server answered with";

/// Copies a ConfigMap that is not its own.
const COPY: &str = r#"
    let settings = k8s_get("v1", "ConfigMap", "settings");
    k8s_apply(#{
        apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name},
        data: #{text: settings.data.text},
    });
"#;

async fn start(case: &Case, role: &str) -> anyhow::Result<(Widgets, Proxy, Operator)> {
    let widgets = Widgets::define(case).await?;
    let proxy = Proxy::start(case).await?;
    let project = widgets.project(role)?;
    let operator = Operator::builder(case, &project)
        .through(&proxy)
        .start()
        .await?;
    operator.ready().await?;
    Ok((widgets, proxy, operator))
}

async fn has_noticed(widgets: &Widgets, name: &str) -> anyhow::Result<()> {
    eventually(SOON, "a condition that says so", || async {
        let condition = widgets.condition(name, "Ready").await?;
        let message = condition["message"].as_str().unwrap_or_default();
        ensure!(message.contains(NOTICED), "{condition}");
        Ok(())
    })
    .await
}

async fn a_write_that_is_answered_with_another_object_has_failed(case: Case) -> anyhow::Result<()> {
    let (widgets, proxy, _operator) = start(&case, MAKE_MAP).await?;
    for (name, from, to) in [
        ("kind", r#""kind":"ConfigMap""#, r#""kind":"Secret""#),
        ("name", r#""name":"name""#, r#""name":"other""#),
    ] {
        let rule = Rule::write(&format!("/configmaps/{name}"));
        let fault = proxy.inject(rule.rewrite(from, to));
        widgets.make(name, "one").await?;
        has_noticed(&widgets, name).await?;
        fault.clear();
        widgets.is_done(name).await?;
        widgets.has_text(name, "one").await?;
    }
    Ok(())
}

async fn a_read_that_is_answered_with_another_object_has_failed(case: Case) -> anyhow::Result<()> {
    let settings = ConfigMap {
        metadata: ObjectMeta {
            name: Some("settings".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), "right".to_owned())].into()),
        ..ConfigMap::default()
    };
    let maps: Api<ConfigMap> = case.objects();
    maps.create(&PostParams::default(), &settings).await?;
    let (widgets, proxy, _operator) = start(&case, COPY).await?;
    let rule = Rule::on(Method::GET, "/configmaps/settings");
    let elsewhere = format!(r#""namespace":"{}""#, case.namespace);
    let fault = proxy.inject(rule.rewrite(&elsewhere, r#""namespace":"kube-system""#));
    widgets.make("a", "one").await?;
    has_noticed(&widgets, "a").await?;
    ensure!(maps.get_opt("a").await?.is_none(), "it acts on the answer");
    fault.clear();
    widgets.is_done("a").await?;
    widgets.has_text("a", "right").await
}

async fn an_answer_with_another_uid_has_failed(case: Case) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = case.objects();
    let settings: ConfigMap = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "settings"}, "data": {"text": "right"},
    }))?;
    maps.create(&PostParams::default(), &settings).await?;
    let (widgets, proxy, _operator) = start(&case, COPY).await?;
    for (name, path, rule) in [
        (
            "read",
            "settings",
            Rule::on(Method::GET, "/configmaps/settings"),
        ),
        ("written", "written", Rule::write("/configmaps/written")),
    ] {
        if name == "written" {
            widgets.make(name, "one").await?;
            widgets.is_done(name).await?;
            // The first write made the map; the next one has a known object to compare with.
            let data = serde_json::json!({"data": {"text": "edited"}});
            let map = maps.get(path).await?;
            let uid = map.metadata.uid.unwrap_or_default();
            let fault = proxy.inject(rule.rewrite(&uid, "00000000-0000-0000-0000-000000000000"));
            let patch = kube::api::Patch::Merge(data);
            maps.patch(path, &kube::api::PatchParams::default(), &patch)
                .await?;
            has_noticed(&widgets, name).await?;
            fault.clear();
        } else {
            let uid = maps.get(path).await?.metadata.uid.unwrap_or_default();
            let fault = proxy.inject(rule.rewrite(&uid, "00000000-0000-0000-0000-000000000000"));
            widgets.make(name, "one").await?;
            has_noticed(&widgets, name).await?;
            ensure!(maps.get_opt(name).await?.is_none(), "it acts on the answer");
            fault.clear();
        }
        widgets.is_done(name).await?;
        widgets.has_text(name, "right").await?;
    }
    Ok(())
}
