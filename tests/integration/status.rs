//! The status that a run writes.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use test_harness::{Case, Crd, Operator, Project, SOON, eventually, throughout, trials};

/// Long enough for a run that should not happen to show itself.
const WHILE: Duration = Duration::from_secs(2);

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_role_sets_a_status_and_ready_follows,
        status_fields_that_a_role_stops_setting_are_removed,
        a_waiting_run_takes_nothing_away,
        a_failure_is_in_the_status_and_an_event_and_so_is_the_recovery,
        a_status_edited_by_someone_else_is_repaired,
        a_dropped_field_is_reported_once,
        a_status_without_room_for_conditions_costs_no_write_at_a_start,
        a_paused_resource_is_not_reconciled_and_has_a_condition,
        the_ansible_style_is_written,
    ]
}

/// A kind, a role for it, an operator, and one object.
struct StatusTest {
    case: Case,
    webs: Api<DynamicObject>,
    operator: Operator,
}

const WATCHES: &str = "- {group: '{group}', version: v1, kind: Web, role: web}";

impl StatusTest {
    async fn with(case: Case, crd: Crd, watches: &str, script: &str) -> anyhow::Result<Self> {
        let webs = case.api(&case.define(&crd).await?);
        let project = Project::new(&case, watches)?.with_role(&case, "web", script)?;
        let operator = Operator::builder(&case, &project).start().await?;
        Ok(Self {
            case,
            webs,
            operator,
        })
    }

    async fn start(case: Case, script: &str) -> anyhow::Result<Self> {
        Self::with(case, Crd::new("Web"), WATCHES, script).await
    }

    async fn create(&self, spec: Value) -> anyhow::Result<()> {
        let web = json!({
            "apiVersion": format!("{}/v1", self.case.group), "kind": "Web",
            "metadata": {"name": "a"}, "spec": spec,
        });
        self.webs
            .create(&PostParams::default(), &serde_json::from_value(web)?)
            .await?;
        Ok(())
    }

    async fn patch(&self, patch: Value) -> anyhow::Result<()> {
        self.webs
            .patch("a", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    async fn patch_status(&self, patch: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"status": patch}));
        self.webs
            .patch_status("a", &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    async fn status(&self) -> anyhow::Result<Value> {
        Ok(self.webs.get("a").await?.data["status"].clone())
    }

    /// Waits for a status that this says yes to.
    async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        eventually(SOON, what, || async {
            let status = self.status().await?;
            anyhow::ensure!(is(&status), "{status}");
            Ok(status)
        })
        .await
    }

    async fn events(&self, reason: &str) -> anyhow::Result<Vec<Event>> {
        let events = self
            .case
            .objects::<Event>()
            .list(&ListParams::default())
            .await?
            .items;
        Ok(events
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some(reason))
            .collect())
    }

    async fn until_event(&self, reason: &str) -> anyhow::Result<Event> {
        eventually(SOON, reason, || async {
            self.events(reason).await?.pop().context("no such event")
        })
        .await
    }
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let list = status["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    list.iter()
        .find(|entry| entry["type"] == kind)
        .unwrap_or(&Value::Null)
}

fn is_ready(status: &Value, generation: i64) -> bool {
    let ready = condition(status, "Ready");
    ready["status"] == "True" && ready["observedGeneration"] == generation
}

async fn a_role_sets_a_status_and_ready_follows(case: Case) -> anyhow::Result<()> {
    let test = StatusTest::start(case, "set_status(#{size: spec.size, deep: #{a: 1}});").await?;
    test.create(json!({"size": 3})).await?;
    let status = test.until("Ready", |status| is_ready(status, 1)).await?;
    assert_eq!(status["size"], 3);
    assert_eq!(status["observedGeneration"], 1);
    let wait = ["-n", &test.case.namespace, "wait", "--for=condition=Ready"];
    let object = format!("webs.{}/a", test.case.group);
    test.case
        .cluster
        .kubectl(wait.into_iter().chain([&*object]))
        .await?;
    let version = test.webs.get("a").await?.metadata.resource_version;
    throughout(WHILE, "no further write", || async {
        let now = test.webs.get("a").await?.metadata.resource_version;
        anyhow::ensure!(now == version, "{now:?}");
        Ok(())
    })
    .await
}

async fn status_fields_that_a_role_stops_setting_are_removed(case: Case) -> anyhow::Result<()> {
    let script = r#"
        if spec.more == true { set_status(#{extra: 1}); set_condition("Extra", true, "Is", "") }
        set_status(#{kept: 1});
    "#;
    let crd = Crd::new("Web").status(conditions_as_map());
    let test = StatusTest::with(case, crd, WATCHES, script).await?;
    test.create(json!({"more": true})).await?;
    test.until("the extra field", |status| status["extra"] == 1)
        .await?;
    let list = test.status().await?["conditions"].clone();
    let mut list = list.as_array().cloned().unwrap_or_default();
    list.push(json!({"type": "Theirs", "status": "True"}));
    test.patch_status(json!({"theirs": 1, "conditions": list}))
        .await?;
    test.patch(json!({"spec": {"more": false}})).await?;
    let status = test
        .until("generation 2", |status| is_ready(status, 2))
        .await?;
    assert_eq!(status.get("extra"), None, "{status}");
    assert_eq!(condition(&status, "Extra"), &Value::Null, "{status}");
    assert_eq!(status["kept"], 1);
    assert_eq!(status["theirs"], 1);
    assert_eq!(condition(&status, "Theirs")["status"], "True");
    Ok(())
}

fn conditions_as_map() -> Value {
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"conditions": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object", "required": ["type"], "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"type": {"type": "string"}},
            },
        }},
    })
}

async fn a_waiting_run_takes_nothing_away(case: Case) -> anyhow::Result<()> {
    let script = r#"
        if spec.wait == true {
            set_status(#{added: 1});
            wait_for(#{apiVersion: "v1", kind: "ConfigMap", name: "go"}, "$.data.go", "yes");
        }
        set_status(#{early: 1});
    "#;
    let test = StatusTest::start(case, script).await?;
    test.create(json!({})).await?;
    test.until("Ready", |status| is_ready(status, 1)).await?;
    test.patch(json!({"spec": {"wait": true}})).await?;
    let waits = |status: &Value| condition(status, "Reconciling")["reason"] == "Waiting";
    let status = test.until("waiting", waits).await?;
    assert_eq!(status["early"], 1, "{status}");
    assert_eq!(status["added"], 1, "{status}");
    assert_eq!(condition(&status, "Ready")["status"], "False");
    test.case
        .apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: go}, data: {go: 'yes'}}")
        .await?;
    let status = test.until("resumed", |status| is_ready(status, 2)).await?;
    assert_eq!(condition(&status, "Reconciling"), &Value::Null);
    Ok(())
}

async fn a_failure_is_in_the_status_and_an_event_and_so_is_the_recovery(
    case: Case,
) -> anyhow::Result<()> {
    let test = StatusTest::start(case, "if spec.bad == true {\n  throw \"oh no\";\n}").await?;
    test.create(json!({"bad": true})).await?;
    let fails = |status: &Value| condition(status, "Ready")["reason"] == "Failed";
    let status = test.until("failed", fails).await?;
    let message = condition(&status, "Ready")["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains("web/tasks/main.rhai:2:3"), "{message}");
    assert!(message.contains("oh no"), "{message}");
    assert_eq!(condition(&status, "Reconciling")["reason"], "Retrying");
    let event = test.until_event("Failed").await?;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert!(event.note.unwrap_or_default().contains("oh no"));
    test.patch(json!({"spec": {"bad": false}})).await?;
    test.until("Ready", |status| is_ready(status, 2)).await?;
    let event = test.until_event("Recovered").await?;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(test.events("Failed").await?.len(), 1, "one event per text");
    Ok(())
}

async fn a_status_edited_by_someone_else_is_repaired(case: Case) -> anyhow::Result<()> {
    let test = StatusTest::start(case, "set_status(#{size: 3});").await?;
    test.create(json!({})).await?;
    test.until("Ready", |status| is_ready(status, 1)).await?;
    test.patch_status(json!({"size": 7, "conditions": null, "theirs": 1}))
        .await?;
    let status = test
        .until("repair", |status| {
            status["size"] == 3 && is_ready(status, 1)
        })
        .await?;
    assert_eq!(status["theirs"], 1);
    Ok(())
}

async fn a_dropped_field_is_reported_once(case: Case) -> anyhow::Result<()> {
    let crd = Crd::new("Web").status(json!({
        "type": "object", "properties": {
            "size": {"type": "integer"},
            "conditions": {"type": "array", "items": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }},
        },
    }));
    let script = "set_status(#{size: 1, consumers: #{a: spec.n}});";
    let test = StatusTest::with(case, crd, WATCHES, script).await?;
    test.create(json!({"n": 1})).await?;
    let event = test.until_event("FieldDropped").await?;
    let note = event.note.unwrap_or_default();
    assert!(note.contains("status.consumers"), "{note}");
    assert!(!note.contains("observedGeneration"), "{note}");
    test.patch(json!({"spec": {"n": 2}})).await?;
    let sees = |status: &Value| is_ready(status, 2);
    test.until("generation 2", sees).await?;
    assert_eq!(test.events("FieldDropped").await?.len(), 1);
    assert!(test.operator.log()?.contains("status.consumers"));
    Ok(())
}

async fn a_status_without_room_for_conditions_costs_no_write_at_a_start(
    case: Case,
) -> anyhow::Result<()> {
    let crd = Crd::new("Web").status(json!({
        "type": "object", "properties": {"ready": {"type": "integer"}},
    }));
    let webs = case.api(&case.define(&crd).await?);
    let project =
        Project::new(&case, WATCHES)?.with_role(&case, "web", "set_status(#{ready: 1});")?;
    let operator = Operator::builder(&case, &project).start().await?;
    let mut test = StatusTest {
        case,
        webs,
        operator,
    };
    test.create(json!({})).await?;
    test.until("the status", |status| status["ready"] == 1)
        .await?;
    assert!(test.operator.terminate().await?.success());
    let audit = &test.case.cluster.audit;
    let mark = audit.mark().await?;
    test.operator = Operator::builder(&test.case, &project).start().await?;
    eventually(SOON, "a run", || async {
        let metrics = test.operator.metrics().await?;
        let run = r#"reconcile_total{controller="web-controller",result="success"} 1"#;
        anyhow::ensure!(metrics.contains(run), "{metrics}");
        Ok(())
    })
    .await?;
    let requests = audit.since(mark).await?.by(&test.operator.user.name);
    let writes = requests.writes().counted();
    assert_eq!(writes, [].into());
    Ok(())
}

async fn a_paused_resource_is_not_reconciled_and_has_a_condition(case: Case) -> anyhow::Result<()> {
    let test = StatusTest::start(case, "set_status(#{size: spec.size});").await?;
    test.create(json!({"size": 1})).await?;
    test.until("Ready", |status| is_ready(status, 1)).await?;
    let paused = json!({"metadata": {"annotations": {"rhai.operator/paused": "true"}}});
    test.patch(paused).await?;
    test.patch(json!({"spec": {"size": 2}})).await?;
    let held = |status: &Value| condition(status, "Reconciling")["reason"] == "Paused";
    let status = test.until("paused", held).await?;
    assert_eq!(condition(&status, "Ready")["status"], "True");
    assert_eq!(status["size"], 1);
    let on = json!({"metadata": {"annotations": {"rhai.operator/paused": null}}});
    test.patch(on).await?;
    let status = test.until("resumed", |status| is_ready(status, 2)).await?;
    assert_eq!(status["size"], 2);
    assert_eq!(condition(&status, "Reconciling"), &Value::Null);
    Ok(())
}

async fn the_ansible_style_is_written(case: Case) -> anyhow::Result<()> {
    let watches = "- {group: '{group}', version: v1, kind: Web, role: web, conditions: ansible}";
    let test = StatusTest::with(case, Crd::new("Web"), watches, "fail(\"never\")").await?;
    test.create(json!({})).await?;
    let fails = |status: &Value| condition(status, "Failure")["status"] == "True";
    let status = test.until("failure", fails).await?;
    assert_eq!(condition(&status, "Failure")["reason"], "Failed");
    assert_eq!(
        condition(&status, "Failure")["ansibleResult"]["failures"],
        1
    );
    assert_eq!(condition(&status, "Running")["status"], "False");
    assert_eq!(condition(&status, "Ready"), &Value::Null);
    Ok(())
}
