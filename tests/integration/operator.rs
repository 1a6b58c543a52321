//! The operator as a process: from a project and a custom resource to children and a status, what
//! triggers a run, what does not, changes of the project, start and end.

use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::widgets::{MAKE_MAP, WATCHES, Widgets, comes_to_rest};
use test_harness::{
    Case, Crd, Mark, ObjectReference, Operator, Project, Requests, SOON, eventually, throughout,
    trials,
};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_widget_gets_its_map_and_status,
        drift_of_a_child_is_repaired,
        an_edit_of_our_status_is_repaired,
        a_steady_operator_asks_nothing_and_a_restart_writes_nothing,
        a_change_triggers_only_its_readers,
        a_new_value_of_reconcile_at_asks_for_a_run,
        a_paused_widget_is_left_alone,
        a_period_makes_runs,
        an_invalid_period_is_reported_and_ignored,
        a_fight_over_a_child_is_named_and_ends,
        a_project_with_errors_does_not_start,
        a_changed_role_runs_and_a_broken_one_does_not,
        a_watch_that_is_removed_gives_its_finalizers_back,
        a_widget_that_leaves_the_selector_gets_its_finalizer_back,
        a_kind_that_is_not_installed_is_waited_for,
        a_cluster_scoped_kind_that_appears_later_is_served_beside_namespaces,
        other_namespaces_are_none_of_our_business,
        a_newer_generation_cancels_a_run,
        a_spec_that_is_not_as_the_role_asks_is_refused_until_it_changes,
        a_shutdown_lets_runs_end,
        several_objects_are_deleted_by_one_call,
        metrics_have_the_names_that_dashboards_know,
    ]
}

async fn a_widget_gets_its_map_and_status(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator(MAKE_MAP).await?;
    // What comes in the moment when the operator becomes ready may count as there before.
    widgets.make("first", "zero").await?;
    widgets.is_done("first").await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    widgets.has_text("a", "one").await?;
    assert_eq!(
        widgets.api.get("a").await?.data["status"]["reason"],
        "created"
    );
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    widgets.has_text("a", "two").await?;
    widgets.is_done("a").await?;
    let map = widgets.maps().get("a").await?;
    let widget = widgets.api.get("a").await?;
    assert_eq!(
        Some(&map.owner_references()[0].uid),
        widget.metadata.uid.as_ref()
    );
    widgets.delete("a").await?;
    widgets.is_gone("a").await
}

async fn drift_of_a_child_is_repaired(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator(MAKE_MAP).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    let maps = widgets.maps();
    let edit = |patch: Value| {
        let maps = maps.clone();
        async move {
            maps.patch("a", &PatchParams::default(), &Patch::Merge(patch))
                .await
        }
    };
    edit(json!({"data": {"text": "edited", "theirs": "kept"}})).await?;
    widgets.has_text("a", "one").await?;
    assert_eq!(maps.get("a").await?.data.unwrap()["theirs"], "kept");
    edit(json!({"metadata": {"labels": {"rhai.operator/owner": null}}})).await?;
    eventually(SOON, "the owner label", || async {
        let labelled = maps
            .get("a")
            .await?
            .labels()
            .contains_key("rhai.operator/owner");
        anyhow::ensure!(labelled, "it is gone");
        Ok(())
    })
    .await?;
    maps.delete("a", &DeleteParams::default()).await?;
    widgets.has_text("a", "one").await
}

async fn an_edit_of_our_status_is_repaired(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator(MAKE_MAP).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    let edit = json!({"status": {"text": "edited", "theirs": "kept"}});
    let parameters = PatchParams::default();
    widgets
        .api
        .patch_status("a", &parameters, &Patch::Merge(edit))
        .await?;
    eventually(SOON, "the status to be ours again", || async {
        let status = widgets.api.get("a").await?.data["status"].clone();
        anyhow::ensure!(
            status["text"] == "one" && status["theirs"] == "kept",
            "{status}"
        );
        Ok(())
    })
    .await
}

async fn a_steady_operator_asks_nothing_and_a_restart_writes_nothing(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(
        r#"
        for part in ["a", "b", "c"] {
            k8s_apply(#{
                apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `${meta.name}-${part}`},
                data: #{text: spec.text},
            });
        }
        set_status(#{text: spec.text});
        "#,
    )?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    let mark = case.cluster.audit.mark().await?;
    let names: Vec<String> = (0..20).map(|index| format!("w{index}")).collect();
    for name in &names {
        widgets.make(name, "x").await?;
    }
    for name in &names {
        widgets.is_done(name).await?;
    }
    let writes = case
        .cluster
        .audit
        .since(mark)
        .await?
        .by(&operator.user.name)
        .writes();
    assert_eq!(writes.0.len(), names.len() * 4, "{:?}", writes.counted());
    comes_to_rest(&case, &operator, Duration::from_secs(5)).await?;
    assert!(operator.terminate().await?.success());
    let mark = case.cluster.audit.mark().await?;
    let operator = Operator::builder(&case, &project).start().await?;
    operator.ready().await?;
    eventually(SOON, "each to be run once", || async {
        let metrics = operator.metrics().await?;
        let line = r#"reconcile_total{controller="widget-controller",result="success"} 20"#;
        anyhow::ensure!(metrics.contains(line), "{metrics}");
        Ok(())
    })
    .await?;
    let writes = case
        .cluster
        .audit
        .since(mark)
        .await?
        .by(&operator.user.name)
        .writes();
    assert!(writes.0.is_empty(), "{:?}", writes.counted());
    Ok(())
}

async fn a_change_triggers_only_its_readers(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets
        .operator(
            r#"
            let secret = k8s_get("v1", "Secret", spec.text);
            let version = if secret == () { "none" } else { secret.metadata.resourceVersion };
            set_status(#{version: version, reason: reason});
            "#,
        )
        .await?;
    for name in ["a", "b"] {
        widgets.make(name, name).await?;
        widgets.is_done(name).await?;
    }
    let secrets = case.objects::<Secret>();
    let status = |name: &'static str| {
        let api = widgets.api.clone();
        async move { anyhow::Ok(api.get(name).await?.data["status"].clone()) }
    };
    let neighbour = status("b").await?;
    let follows = async |mark: Mark, version: Option<String>| {
        eventually(SOON, "the run", || async {
            let seen = status("a").await?;
            ensure!(seen["version"].as_str() == version.as_deref(), "{seen}");
            ensure!(seen["reason"] == "read", "{seen}");
            Ok(())
        })
        .await?;
        let took = between(&case, mark, "secrets", "widgets").await?;
        ensure!(
            took <= Duration::from_secs(10),
            "a run within some seconds, not {took:?}"
        );
        anyhow::Ok(())
    };
    let mark = case.cluster.audit.mark().await?;
    let made: Secret = serde_json::from_value(json!({"metadata": {"name": "a"}}))?;
    let made = secrets.create(&PostParams::default(), &made).await?;
    follows(mark, made.resource_version()).await?;
    let mark = case.cluster.audit.mark().await?;
    let change = json!({"stringData": {"key": "value"}});
    let changed = secrets
        .patch("a", &PatchParams::default(), &Patch::Merge(change))
        .await?;
    follows(mark, changed.resource_version()).await?;
    let mark = case.cluster.audit.mark().await?;
    secrets.delete("a", &DeleteParams::default()).await?;
    follows(mark, Some("none".to_owned())).await?;
    assert_eq!(status("b").await?, neighbour);
    Ok(())
}

/// The time from the API server's answer to the writer of one object `a` to the operator's write to
/// another, by the server's clock: however late this test looks.
async fn between(case: &Case, mark: Mark, cause: &str, effect: &str) -> anyhow::Result<Duration> {
    let requests = case.cluster.audit.since(mark).await?;
    let of = |plural: &str| {
        let Requests(requests) = requests.clone().writes().filter(|request| {
            let ObjectReference {
                resource,
                name,
                namespace,
                ..
            } = &request.object_ref;
            resource == plural && name == "a" && *namespace == case.namespace
        });
        let first = requests.into_iter().next();
        first.with_context(|| format!("no write to {plural}"))
    };
    of(effect)?.received_after(&of(cause)?)
}

async fn a_new_value_of_reconcile_at_asks_for_a_run(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator("set_status(#{reason: reason});").await?;
    widgets.make("a", "").await?;
    widgets.is_done("a").await?;
    let annotations = json!({"rhai.operator/reconcile-at": "now", "other": "none of our business"});
    widgets
        .merge("a", json!({"metadata": {"annotations": annotations}}))
        .await?;
    eventually(SOON, "the run", || async {
        let status = widgets.api.get("a").await?.data["status"].clone();
        anyhow::ensure!(status["reason"] == "requested", "{status}");
        Ok(())
    })
    .await
}

async fn a_paused_widget_is_left_alone(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator(MAKE_MAP).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    let pause =
        |value: Value| json!({"metadata": {"annotations": {"rhai.operator/paused": value}}});
    widgets.merge("a", pause(json!("true"))).await?;
    widgets.has_condition("a", "Reconciling", "Paused").await?;
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    throughout(Duration::from_secs(2), "the map to stay", || async {
        let text = widgets.text("a").await?;
        anyhow::ensure!(text == "one", "{text}");
        Ok(())
    })
    .await?;
    widgets.merge("a", pause(Value::Null)).await?;
    widgets.has_text("a", "two").await?;
    widgets.is_done("a").await
}

async fn a_period_makes_runs(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator("set_status(#{reason: reason});").await?;
    let often = json!({"rhai.operator/reconcile-period": "200ms"});
    widgets
        .make_with("a", json!({"metadata": {"annotations": often}}))
        .await?;
    eventually(SOON, "a periodic run", || async {
        let status = widgets.api.get("a").await?.data["status"].clone();
        anyhow::ensure!(status["reason"] == "period", "{status}");
        Ok(())
    })
    .await
}

async fn an_invalid_period_is_reported_and_ignored(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets.operator(MAKE_MAP).await?;
    let wrong = json!({"rhai.operator/reconcile-period": "soon"});
    let widget = json!({"metadata": {"annotations": wrong}, "spec": {"text": "one"}});
    widgets.make_with("a", widget).await?;
    widgets.is_done("a").await?;
    eventually(SOON, "the Event", || async {
        let events = case
            .cluster
            .kubectl(["-n", &case.namespace, "get", "events"])
            .await?;
        anyhow::ensure!(
            events.contains("ignoring invalid duration \"soon\""),
            "{events}"
        );
        Ok(())
    })
    .await
}

async fn a_fight_over_a_child_is_named_and_ends(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(MAKE_MAP).await?;
    widgets.make("a", "ours").await?;
    widgets.is_done("a").await?;
    let maps = widgets.maps();
    let rival = PatchParams {
        field_manager: Some("rival".to_owned()),
        ..PatchParams::default()
    };
    let stalled = eventually(SOON, "the verdict", || async {
        let theirs = json!({"data": {"text": "theirs"}});
        maps.patch("a", &rival, &Patch::Merge(theirs)).await?;
        let condition = widgets.condition("a", "Stalled").await?;
        anyhow::ensure!(condition["reason"] == "Fighting", "{condition}");
        Ok(condition)
    })
    .await?;
    let message = stalled["message"].as_str().unwrap_or_default();
    for part in ["ConfigMap", "data.text", "rival"] {
        assert!(message.contains(part), "{message}");
    }
    comes_to_rest(&case, &operator, Duration::from_secs(2)).await?;
    widgets.merge("a", json!({"spec": {"text": "new"}})).await?;
    widgets.has_text("a", "new").await?;
    widgets.is_done("a").await
}

async fn a_project_with_errors_does_not_start(case: Case) -> anyhow::Result<()> {
    let project = Project::new(
        &case,
        "- {group: g, version: v1, kind: A, role: one, vras: {}}\n",
    )?
    .with_role(&case, "one", "let x = ;")?;
    let mut operator = Operator::builder(&case, &project).spawn().await?;
    assert_eq!(operator.exited().await?.code(), Some(1));
    let log = operator.log()?;
    assert!(log.contains("watches.yaml:1:47: error"), "{log}");
    assert!(log.contains("tasks/main.rhai:1:9: error"), "{log}");
    assert!(!log.contains("listening"), "{log}");
    Ok(())
}

async fn a_changed_role_runs_and_a_broken_one_does_not(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project).start().await?;
    widgets.make("a", "one").await?;
    widgets.has_text("a", "one").await?;
    let script = "roles/widget/tasks/main.rhai";
    project.write(
        script,
        &MAKE_MAP.replace("text: spec.text}", "text: spec.text + `!`}"),
    )?;
    widgets.has_text("a", "one!").await?;
    project.write(script, "let x = ;")?;
    eventually(SOON, "the errors in the log", || async {
        let log = operator.log()?;
        anyhow::ensure!(log.contains("cannot reload the project"), "{log}");
        anyhow::ensure!(log.contains("main.rhai:1:9"), "{log}");
        Ok(())
    })
    .await?;
    widgets.make("b", "two").await?;
    widgets.has_text("b", "two!").await
}

const FINALIZED: &str = "
- group: '{group}'
  version: v1
  kind: Widget
  role: widget
  finalizer: {name: '{group}/finalizer', role: widget}
";

async fn a_watch_that_is_removed_gives_its_finalizers_back(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = Project::new(&case, FINALIZED)?.with_role(&case, "widget", MAKE_MAP)?;
    let operator = Operator::builder(&case, &project).start().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    assert_eq!(widgets.api.get("a").await?.finalizers().len(), 1);
    let other = WATCHES
        .replace("{group}", &case.group)
        .replace("Widget", "Gadget");
    project.write("watches.yaml", &other)?;
    eventually(SOON, "the finalizer to be gone", || async {
        let finalizers = widgets.api.get("a").await?.finalizers().to_vec();
        anyhow::ensure!(finalizers.is_empty(), "{finalizers:?}");
        Ok(())
    })
    .await?;
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    eventually(SOON, "the other kind to be served", || async {
        let (_, readiness) = operator.readiness().await?;
        anyhow::ensure!(!readiness.contains("Widget"), "{readiness}");
        anyhow::ensure!(readiness.contains("Gadget"), "{readiness}");
        Ok(())
    })
    .await?;
    throughout(Duration::from_secs(1), "the map to stay", || async {
        let text = widgets.text("a").await?;
        anyhow::ensure!(text == "one", "{text}");
        Ok(())
    })
    .await
}

async fn a_widget_that_leaves_the_selector_gets_its_finalizer_back(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let watches = format!("{FINALIZED}  selector: {{matchLabels: {{ours: 'yes'}}}}\n");
    let project = Project::new(&case, &watches)?.with_role(&case, "widget", MAKE_MAP)?;
    let _operator = Operator::builder(&case, &project).start().await?;
    let labelled = json!({"metadata": {"labels": {"ours": "yes"}}, "spec": {"text": "one"}});
    widgets.make_with("a", labelled).await?;
    widgets.is_done("a").await?;
    assert_eq!(widgets.api.get("a").await?.finalizers().len(), 1);
    widgets
        .merge("a", json!({"metadata": {"labels": {"ours": "no"}}}))
        .await?;
    eventually(SOON, "the finalizer to be gone", || async {
        let finalizers = widgets.api.get("a").await?.finalizers().to_vec();
        anyhow::ensure!(finalizers.is_empty(), "{finalizers:?}");
        Ok(())
    })
    .await?;
    widgets.text("a").await.map(drop)
}

async fn a_kind_that_is_not_installed_is_waited_for(case: Case) -> anyhow::Result<()> {
    let project = Project::new(&case, WATCHES)?.with_role(&case, "widget", MAKE_MAP)?;
    let operator = Operator::builder(&case, &project).start().await?;
    let named_and_ready = async || {
        eventually(SOON, "the kind to be named", || async {
            let (status, body) = operator.readiness().await?;
            anyhow::ensure!(body.contains("the kind is not installed"), "{body}");
            anyhow::ensure!(status == 200, "{body}");
            Ok(())
        })
        .await
    };
    named_and_ready().await?;
    let widgets = Widgets::define(&case).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    let definitions = Api::<CustomResourceDefinition>::all(case.cluster.client.clone());
    let name = format!("widgets.{}", case.group);
    definitions.delete(&name, &DeleteParams::default()).await?;
    eventually(SOON, "the kind to be gone", || async {
        anyhow::ensure!(definitions.get_opt(&name).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    named_and_ready().await?;
    let widgets = Widgets::define(&case).await?;
    widgets.make("b", "two").await?;
    widgets.is_done("b").await?;
    widgets.has_text("b", "two").await
}

async fn a_cluster_scoped_kind_that_appears_later_is_served_beside_namespaces(
    case: Case,
) -> anyhow::Result<()> {
    let role = "set_status(#{text: spec.text});";
    let project = Project::new(&case, WATCHES)?.with_role(&case, "widget", role)?;
    let operator = Operator::builder(&case, &project).variable("WATCH_NAMESPACE", &case.namespace);
    let operator = operator.start().await?;
    eventually(SOON, "the kind to be named", || async {
        let (_, body) = operator.readiness().await?;
        anyhow::ensure!(body.contains("the kind is not installed"), "{body}");
        Ok(())
    })
    .await?;
    let resource = case.define(&Crd::new("Widget").cluster_scoped()).await?;
    let widgets = Api::<DynamicObject>::all_with(case.cluster.client.clone(), &resource);
    let name = format!("{}-a", case.namespace);
    let widget = DynamicObject::new(&name, &resource).data(json!({"spec": {"text": "one"}}));
    widgets.create(&PostParams::default(), &widget).await?;
    eventually(2 * SOON, "a run", || async {
        let status = widgets.get(&name).await?.data["status"].clone();
        anyhow::ensure!(status["text"] == "one", "{status}");
        Ok(())
    })
    .await
}

async fn other_namespaces_are_none_of_our_business(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let elsewhere = format!("{}-other", case.namespace);
    case.create_namespace(&elsewhere).await?;
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project).variable("WATCH_NAMESPACE", &case.namespace);
    let operator = operator.start().await?;
    let foreign = Api::namespaced_with(
        case.cluster.client.clone(),
        &elsewhere,
        &Crd::new("Widget").resource(&case.group),
    );
    let widget = widgets.make("a", "one").await?;
    let mut copy = widget.clone();
    copy.metadata = kube::api::ObjectMeta {
        name: Some("a".to_owned()),
        ..Default::default()
    };
    foreign.create(&PostParams::default(), &copy).await?;
    widgets.is_done("a").await?;
    throughout(
        Duration::from_secs(1),
        "the other to be left alone",
        || async {
            let status = foreign.get("a").await?.data["status"].clone();
            anyhow::ensure!(status.is_null(), "{status}");
            Ok(())
        },
    )
    .await?;
    let (_, readiness) = operator.readiness().await?;
    assert!(
        readiness.contains(&format!("in {}", case.namespace)),
        "{readiness}"
    );
    Ok(())
}

async fn a_newer_generation_cancels_a_run(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets
        .operator(
            r#"
            set_status(#{started: spec.text});
            if spec.text == "slow" { loop { k8s_get("v1", "ConfigMap", "none"); } }
            "#,
        )
        .await?;
    widgets.make("a", "slow").await?;
    widgets
        .merge("a", json!({"spec": {"text": "quick"}}))
        .await?;
    widgets.is_done("a").await?;
    assert_eq!(
        widgets.api.get("a").await?.data["status"]["started"],
        "quick"
    );
    Ok(())
}

async fn a_spec_that_is_not_as_the_role_asks_is_refused_until_it_changes(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let inputs = "
inputs:
  text: {type: string, enum: [one, two], required: true}
  size: {type: integer, minimum: 1, default: 3}
";
    let script = MAKE_MAP.replace("spec.text}", "`${vars.text} ${vars.size}`}");
    let project = widgets.project(&script)?;
    let project = project.with(&case, "roles/widget/meta/main.yaml", inputs)?;
    let operator = Operator::builder(&case, &project).start().await?;
    let wrong = json!({"spec": {"size": "many"}});
    widgets.make_with("a", wrong).await?;
    let ready = widgets.has_condition("a", "Ready", "Failed").await?;
    let stalled = widgets.has_condition("a", "Stalled", "Failed").await?;
    assert_eq!(stalled["status"], "True");
    assert_eq!(ready["message"], stalled["message"]);
    assert_eq!(
        stalled["message"],
        "spec.size: expected an integer of at least 1, found \"many\"; \
         spec.text: expected one of \"one\", \"two\", found nothing (inputs of role widget)"
    );
    comes_to_rest(&case, &operator, Duration::from_secs(3)).await?;
    let failures = r#"terminal_reconcile_errors_total{controller="widget-controller"} 1"#;
    let metrics = operator.metrics().await?;
    assert!(metrics.contains(failures), "{metrics}");
    assert!(widgets.maps().get_opt("a").await?.is_none());
    widgets
        .merge("a", json!({"spec": {"text": "two", "size": null}}))
        .await?;
    widgets.is_done("a").await?;
    widgets.has_text("a", "two 3").await
}

async fn a_shutdown_lets_runs_end(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(
        r#"
        for index in 0..20 {
            k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `m${index}`}});
        }
        "#,
    )?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    operator.ready().await?;
    widgets.make("a", "one").await?;
    eventually(SOON, "the run to have begun", || async {
        widgets.maps().get("m0").await.map(drop)
    })
    .await?;
    assert!(operator.terminate().await?.success());
    widgets.maps().get("m19").await?;
    widgets.is_done("a").await
}

async fn several_objects_are_deleted_by_one_call(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let _operator = widgets
        .operator(
            r#"
            let labels = #{"of": meta.name};
            if spec.text == "make" {
                for name in ["x", "y"] {
                    let metadata = #{name: name, labels: labels};
                    k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: metadata}, #{owner: false});
                }
            } else {
                let absent = #{apiVersion: "v1", kind: "ConfigMap", name: "absent"};
                k8s_delete(k8s_list("v1", "ConfigMap", #{labels: labels}) + [absent]);
                k8s_delete([], #{propagation: "orphan"});
            }
            "#,
        )
        .await?;
    widgets.make("a", "make").await?;
    widgets.is_done("a").await?;
    widgets.maps().get("y").await?;
    widgets
        .merge("a", json!({"spec": {"text": "clean"}}))
        .await?;
    widgets.is_done("a").await?;
    for name in ["x", "y"] {
        assert!(widgets.maps().get_opt(name).await?.is_none(), "{name}");
    }
    Ok(())
}

async fn metrics_have_the_names_that_dashboards_know(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(MAKE_MAP).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    widgets.is_done("a").await?;
    let metrics = operator.metrics().await?;
    for part in [
        r#"controller_runtime_reconcile_total{controller="widget-controller",result="success"} "#,
        r#"workqueue_adds_total{name="widget-controller",controller="widget-controller"} "#,
        r#"rest_client_requests_total{code="201",method="#,
        r#"rhai_operator_applies_total{action="created"} 1"#,
        r#"rhai_operator_applies_total{action="changed"} 1"#,
        r#"rhai_operator_host_calls_total{function="k8s_apply"} 2"#,
        r#"rhai_operator_cache_objects{kind="ConfigMap"} "#,
        r#"state="synced""#,
        "process_resident_memory_bytes ",
    ] {
        assert!(metrics.contains(part), "{part}\n{metrics}");
    }
    Ok(())
}
