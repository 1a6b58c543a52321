//! Finalizers after changes while no operator ran: a starting operator removes its finalizers from custom
//! resources that it no longer serves, and only from those.

use anyhow::ensure;
use kube::ResourceExt;
use libtest_mimic::Trial;
use serde_json::json;

use crate::widgets::{MAKE_MAP, WATCHES, Widgets};
use test_harness::{
    Case, Crd, Mark, Operator, Project, Request, Requests, SOON, eventually, trials,
};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        unselected_objects_lose_their_finalizer,
        objects_of_removed_watches_lose_their_finalizer,
        finalizers_of_another_operator_stay,
    ]
}

const FINALIZED: &str = "
- group: '{group}'
  version: v1
  kind: Widget
  role: widget
  finalizer: {name: '{group}/finalizer'}
";
const HELD_BY: &str = "rhai.operator/held-by";

/// A map here, and one that garbage collection cannot reach.
const NEAR_AND_FAR: &str = r#"
    for namespace in [meta.namespace, `${meta.namespace}-other`] {
        k8s_apply(#{
            apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name, namespace: namespace},
            data: #{text: spec.text},
        });
    }
"#;

async fn holds(widgets: &Widgets, name: &str, count: usize) -> anyhow::Result<()> {
    eventually(SOON, &format!("{count} finalizers of {name}"), || async {
        let widget = widgets.api.get(name).await?;
        let finalizers = widget.finalizers();
        ensure!(finalizers.len() == count, "{finalizers:?}");
        let label = widget.labels().get(HELD_BY);
        ensure!(label.is_some() == (count > 0), "{label:?}");
        Ok(())
    })
    .await
}

/// Returns the list requests by which an operator searches for objects with its finalizer.
async fn searches(case: &Case, operator: &Operator, mark: Mark) -> anyhow::Result<Requests> {
    let requests = case.cluster.audit.since(mark).await?;
    let requests = requests.by(&operator.user.name);
    Ok(requests.filter(|request| request.verb == "list" && request.uri.contains("held-by")))
}

/// Waits until an operator has looked at a kind.
async fn has_searched(
    case: &Case,
    operator: &Operator,
    mark: Mark,
    plural: &str,
) -> anyhow::Result<()> {
    eventually(SOON, &format!("a look at {plural}"), || async {
        let seen = searches(case, operator, mark).await?;
        let of_kind = |request: &Request| {
            request.object_ref.resource == plural && request.uri.contains(&case.group)
        };
        ensure!(seen.0.iter().any(of_kind), "{:?}", seen.counted());
        Ok(())
    })
    .await
}

async fn unselected_objects_lose_their_finalizer(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let watches = format!("{FINALIZED}  selector: {{matchLabels: {{ours: 'yes'}}}}\n");
    // The reason of a run is another at a start.
    let script = MAKE_MAP.replace(", reason: reason", "");
    let project = Project::new(&case, &watches)?.with_role(&case, "widget", &script)?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    let labelled = json!({"metadata": {"labels": {"ours": "yes"}}, "spec": {"text": "one"}});
    for name in ["leaves", "stays"] {
        widgets.make_with(name, labelled.clone()).await?;
        widgets.is_done(name).await?;
        holds(&widgets, name, 1).await?;
    }
    assert!(operator.terminate().await?.success());
    let other = json!({"metadata": {"labels": {"ours": "no"}}});
    widgets.merge("leaves", other).await?;
    let mark = case.cluster.audit.mark().await?;
    let operator = Operator::builder(&case, &project).start().await?;
    holds(&widgets, "leaves", 0).await?;
    widgets.is_done("stays").await?;
    holds(&widgets, "stays", 1).await?;
    widgets.text("leaves").await?;
    let requests = case.cluster.audit.since(mark).await?;
    let writes = requests.by(&operator.user.name).writes().counted();
    assert_eq!(writes, [("patch widgets".to_owned(), 1)].into());
    Ok(())
}

async fn objects_of_removed_watches_lose_their_finalizer(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let gadgets = case.define(&Crd::new("Gadget")).await?;
    case.create_namespace(&format!("{}-other", case.namespace))
        .await?;
    let project = Project::new(&case, FINALIZED)?.with_role(&case, "widget", NEAR_AND_FAR)?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    holds(&widgets, "a", 2).await?;
    let theirs = json!({"metadata": {"finalizers": ["example.com/theirs"]}, "spec": {"text": "x"}});
    widgets.make_with("b", theirs).await?;
    widgets.is_done("b").await?;
    holds(&widgets, "b", 3).await?;
    assert!(operator.terminate().await?.success());
    let watches = WATCHES
        .replace("{group}", &case.group)
        .replace("Widget", "Gadget");
    project.write("watches.yaml", &watches)?;
    let mark = case.cluster.audit.mark().await?;
    let operator = Operator::builder(&case, &project).start().await?;
    holds(&widgets, "a", 0).await?;
    eventually(SOON, "the finalizer of others to be left", || async {
        let widget = widgets.api.get("b").await?;
        ensure!(
            widget.finalizers() == ["example.com/theirs"],
            "{:?}",
            widget.metadata
        );
        ensure!(
            !widget.labels().contains_key(HELD_BY),
            "{:?}",
            widget.metadata
        );
        Ok(())
    })
    .await?;
    widgets.text("a").await?;
    // A kind that is watched and has no selector is not looked at.
    let seen = searches(&case, &operator, mark).await?;
    let path = format!("/apis/{}/v1/{}?", case.group, gadgets.plural);
    let served = seen.filter(|request| request.uri.starts_with(&path));
    assert_eq!(served.counted(), [].into());
    widgets
        .merge("b", json!({"metadata": {"finalizers": null}}))
        .await
}

async fn finalizers_of_another_operator_stay(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    case.define(&Crd::new("Gadget")).await?;
    let project = Project::new(&case, FINALIZED)?.with_role(&case, "widget", MAKE_MAP)?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    operator.terminate().await?;
    let project = Project::new(&case, &WATCHES.replace("Widget", "Gadget"))?
        .with_role(&case, "widget", MAKE_MAP)?;
    let mark = case.cluster.audit.mark().await?;
    let mut other = Operator::builder(&case, &project).start().await?;
    has_searched(&case, &other, mark, "widgets").await?;
    assert!(other.terminate().await?.success());
    holds(&widgets, "a", 1).await?;
    // The operator that serves the kind now sets its own finalizer and label.
    let before = widgets.api.get("a").await?.labels()[HELD_BY].clone();
    let project = Project::new(&case, FINALIZED)?.with_role(&case, "widget", MAKE_MAP)?;
    let _third = Operator::builder(&case, &project).start().await?;
    eventually(SOON, "another holder", || async {
        let now = widgets.api.get("a").await?.labels()[HELD_BY].clone();
        ensure!(now != before, "{now}");
        Ok(())
    })
    .await
}
