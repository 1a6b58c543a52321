//! Custom resources that the operator cannot read: their children stay, and other objects are reconciled.

use anyhow::Context;
use k8s_openapi::api::core::v1::ConfigMap;
use libtest_mimic::Trial;
use serde_json::json;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Crd, Operator, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_too_deeply_nested_object_keeps_its_children: real "the embedded API server refuses such objects",
        a_spec_that_is_not_a_map_keeps_its_children,
        yaml_texts_have_the_maximum_nesting_of_objects,
    ]
}

/// A patch of the spec that nests it, as text: no client writes it otherwise.
fn nested(levels: usize) -> String {
    let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
    format!(r#"{{"spec":{{"text":"one","deep":{open}1{close}}}}}"#)
}

struct DeepObject {
    widgets: Widgets,
    path: String,
}

impl DeepObject {
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
            // The test reads the object with its own, larger limits.
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

async fn a_too_deeply_nested_object_keeps_its_children(case: Case) -> anyhow::Result<()> {
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
    let deep = DeepObject { widgets, path };
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
    // Neither a watch event nor a list with the unreadable object stops the watch.
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

async fn a_spec_that_is_not_a_map_keeps_its_children(case: Case) -> anyhow::Result<()> {
    let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
    let resource = case.define(&Crd::new("Widget").spec(anything)).await?;
    let widgets = Widgets::existing(&case, resource);
    // An empty spec would make no map, and the operator would delete the earlier one.
    let role = format!("if \"text\" in spec {{ {MAKE_MAP} }}");
    let _operator = widgets.operator(&role).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    let map = uid(&widgets, "a").await?;
    for (spec, found) in [(json!([1]), "a list"), (json!("text"), "a string")] {
        widgets.merge("a", json!({"spec": spec})).await?;
        eventually(SOON, found, || async {
            let condition = widgets.condition("a", "Stalled").await?;
            let message = condition["message"].as_str().unwrap_or_default();
            let expected = format!("spec: expected a map, found {found}");
            anyhow::ensure!(message.contains(&expected), "{condition}");
            Ok(())
        })
        .await?;
        assert_eq!(uid(&widgets, "a").await?, map);
    }
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    widgets.is_done("a").await?;
    assert_eq!(uid(&widgets, "a").await?, map);
    Ok(())
}

/// Applies a child from YAML, reads it, and converts it to YAML and JSON and back.
const APPLY_NESTED: &str = r#"
    if "levels" in spec {
        let head = `{apiVersion: API_VERSION, kind: Widget, metadata: {name: child}, spec: {deep: `;
        k8s_apply(head + nested(spec.levels - 2) + "}}");
        let child = k8s_get("API_VERSION", "Widget", "child");
        let copy = from_json(to_json(from_yaml(to_yaml(child.spec))));
        set_status(#{isSame: copy == child.spec});
    }

    fn nested(levels) {
        let open = "";
        let close = "";
        for level in 0..levels {
            open += "{a: ";
            close += "}";
        }
        open + "1" + close
    }
"#;

async fn yaml_texts_have_the_maximum_nesting_of_objects(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let role = APPLY_NESTED.replace("API_VERSION", &format!("{}/v1", case.group));
    let _operator = widgets.operator(&role).await?;
    let spec = |levels: usize| json!({"spec": {"levels": levels}});
    widgets.make_with("parent", spec(400)).await?;
    widgets.is_done("parent").await?;
    let parent = widgets.api.get("parent").await?;
    assert_eq!(parent.data["status"]["isSame"], true);
    widgets.merge("parent", spec(401)).await?;
    let condition = widgets.has_condition("parent", "Ready", "Failed").await?;
    let message = condition["message"].as_str().unwrap_or_default();
    anyhow::ensure!(
        message.contains("nested more than 400 levels deep"),
        "{message}"
    );
    Ok(())
}
