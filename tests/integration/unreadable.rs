//! Custom resources that the operator cannot read: nothing of theirs is lost, and others are served.

use anyhow::Context;
use k8s_openapi::api::core::v1::ConfigMap;
use libtest_mimic::Trial;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Operator, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        what_is_nested_too_deeply_keeps_its_children: real "the embedded API server reads 127 levels",
    ]
}

/// A patch of the spec that nests it, as text: no client writes it otherwise.
fn nested(levels: usize) -> String {
    let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
    format!(r#"{{"spec":{{"text":"one","deep":{open}1{close}}}}}"#)
}

struct Deep {
    widgets: Widgets,
    path: String,
}

impl Deep {
    async fn patch(&self, body: String) -> anyhow::Result<()> {
        let request = http::Request::patch(&self.path)
            .header("content-type", "application/merge-patch+json")
            .body(body.into_bytes())?;
        self.widgets
            .case
            .cluster
            .client
            .request_text(request)
            .await?;
        Ok(())
    }

    /// Waits until a condition of this generation says this.
    async fn says(&self, kind: &str, reason: &str, text: &str) -> anyhow::Result<()> {
        eventually(SOON, &format!("{kind} {reason}"), || async {
            let request = http::Request::get(&self.path).body(Vec::new())?;
            let whole = self
                .widgets
                .case
                .cluster
                .client
                .request_text(request)
                .await?;
            // The test reads what the operator may not.
            let status = whole.rfind(r#""status":{"#).context("no status")?;
            let status = whole[status..].trim_end().trim_end_matches('}');
            anyhow::ensure!(
                status.contains(&format!(r#""reason":"{reason}""#)),
                "{status}"
            );
            anyhow::ensure!(status.contains(&format!(r#""type":"{kind}""#)), "{status}");
            anyhow::ensure!(status.contains(text), "{status}");
            anyhow::Ok(())
        })
        .await
    }
}

async fn uid(widgets: &Widgets, name: &str) -> anyhow::Result<String> {
    let map: ConfigMap = widgets.maps().get(name).await?;
    map.metadata.uid.context("no uid")
}

async fn what_is_nested_too_deeply_keeps_its_children(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project).start().await?;
    operator.ready().await?;
    widgets.make("deep", "one").await?;
    widgets.is_done("deep").await?;
    let map = uid(&widgets, "deep").await?;
    let path = format!(
        "/apis/{}/v1/namespaces/{}/widgets/deep",
        case.group, case.namespace
    );
    let deep = Deep { widgets, path };
    for levels in [127, 300] {
        deep.patch(nested(levels)).await?;
        deep.says("Ready", "Reconciled", "\"text\":\"one\"").await?;
    }
    deep.patch(nested(2000)).await?;
    deep.says("Stalled", "Failed", "nested more than 400 levels deep")
        .await?;
    assert_eq!(uid(&deep.widgets, "deep").await?, map);
    let metrics = operator.metrics().await?;
    anyhow::ensure!(
        metrics.contains("rhai_operator_unreadable_runs_total"),
        "{metrics}"
    );
    // The watch goes on, and so does a list that has it.
    deep.widgets.make("other", "two").await?;
    deep.widgets.is_done("other").await?;
    drop(operator);
    let operator = Operator::builder(&case, &project).start().await?;
    operator.ready().await?;
    deep.widgets.make("third", "three").await?;
    deep.widgets.is_done("third").await?;
    assert_eq!(uid(&deep.widgets, "deep").await?, map);
    deep.patch(r#"{"spec":{"deep":null}}"#.to_owned()).await?;
    deep.widgets.is_done("deep").await?;
    assert_eq!(uid(&deep.widgets, "deep").await?, map);
    Ok(())
}
