//! Computation of a status, without a server.

use serde_json::json;

use super::*;
use crate::model::{Gvk, ObjectRef};
use crate::reconcile::conditions::RunCounts;

const NOW: &str = "2026-01-02T00:00:00Z";
const THEN: &str = "2026-01-01T00:00:00Z";

/// A run's end as tests write it down.
struct End {
    outcome: Outcome,
    role: Map<String, Value>,
    conditions: Vec<Condition>,
    manage: bool,
    dropped: BTreeSet<String>,
}

impl Default for End {
    fn default() -> Self {
        Self {
            outcome: Outcome::Done,
            role: Map::new(),
            conditions: Vec::new(),
            manage: true,
            dropped: BTreeSet::new(),
        }
    }
}

impl End {
    /// The patch that it makes of a status of which our manager owns `fields`.
    fn patch(&self, status: &Value, fields: &Value) -> Option<Value> {
        let cr = cr(status, fields);
        let manager = field_manager(&cr.object_ref());
        let tally = RunCounts::default();
        let situation = RunSummary {
            outcome: &self.outcome,
            finalizing: false,
            role: &"web".into(),
            tally: &tally,
        };
        let own = if self.manage {
            RuntimeStatus::Finished(&situation)
        } else {
            RuntimeStatus::Unmanaged {
                complete: self.outcome == Outcome::Done,
            }
        };
        let wanted = DesiredStatus {
            role: &self.role,
            conditions: &self.conditions,
            style: Conditions::Standard,
            own,
            stamp: ConditionStamp {
                now: NOW,
                generation: Some(2),
            },
            dropped: &self.dropped,
        };
        patch(&ParsedObject::new(cr.into()), &manager, &wanted)
    }
}

/// A custom resource with a status of which our manager owns `fields`.
fn cr(status: &Value, fields: &Value) -> Object {
    let gvk = Gvk::new("g", "v1", "K");
    let manager = field_manager(&ObjectRef::new(gvk.clone(), None, "x"));
    let whole = json!({
        "metadata": {"name": "x", "generation": 2, "managedFields": [{
            "manager": manager, "operation": "Update", "subresource": "status",
            "fieldsV1": {"f:status": fields},
        }]},
        "status": status,
    });
    Object::from_value(&gvk, &whole).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}

fn ready() -> Value {
    json!({"type": "Ready", "status": "True", "reason": "Reconciled",
           "message": "role web completed", "lastTransitionTime": THEN,
           "observedGeneration": 2})
}

fn waiting() -> Outcome {
    Outcome::Waiting {
        on: "Pod n/x".into(),
    }
}

#[test]
fn a_first_run_writes_what_the_role_set_and_ready() {
    let end = End {
        role: map(json!({"nodes": ["a"]})),
        ..End::default()
    };
    let patch = end.patch(&Value::Null, &json!({})).unwrap();
    assert_eq!(patch["nodes"], json!(["a"]));
    assert_eq!(patch["observedGeneration"], 2);
    assert_eq!(patch["conditions"][0]["type"], "Ready");
    assert_eq!(patch["conditions"][0]["lastTransitionTime"], NOW);
}

#[test]
fn a_second_run_writes_nothing() {
    let end = End {
        role: map(json!({"nodes": ["a"]})),
        ..End::default()
    };
    let status = json!({"nodes": ["a"], "observedGeneration": 2, "conditions": [ready()]});
    let fields = json!({"f:nodes": {}, "f:observedGeneration": {}, "f:conditions": {}});
    assert_eq!(end.patch(&status, &fields), None);
}

#[test]
fn a_crd_without_observed_generation_is_not_written_to_again() {
    let mut entry = ready();
    entry.as_object_mut().unwrap().remove("observedGeneration");
    let status = json!({"conditions": [entry]});
    assert_eq!(
        End::default().patch(&status, &json!({"f:conditions": {}})),
        None
    );
}

#[test]
fn a_complete_run_removes_what_ours_set_earlier_and_nothing_of_others() {
    let status = json!({"old": 1, "theirs": 1, "observedGeneration": 2, "conditions": [
        ready(),
        {"type": "Ours", "status": "True"},
        {"type": "Theirs", "status": "True"},
    ]});
    let fields = json!({"f:old": {}, "f:observedGeneration": {}, "f:conditions": {
        "k:{\"type\":\"Ready\"}": {".": {}}, "k:{\"type\":\"Ours\"}": {".": {}},
    }});
    let patch = End::default().patch(&status, &fields).unwrap();
    let expected = json!({
        "old": null,
        "conditions": [ready(), {"type": "Theirs", "status": "True"}],
    });
    assert_eq!(patch, expected);
}

#[test]
fn an_early_end_only_adds() {
    let status = json!({"old": 1, "observedGeneration": 1, "conditions": [ready()]});
    let fields = json!({"f:old": {}, "f:observedGeneration": {}, "f:conditions": {}});
    let end = End {
        outcome: waiting(),
        role: map(json!({"new": 1})),
        ..End::default()
    };
    let patch = end.patch(&status, &fields).unwrap();
    assert!(patch.get("old").is_none());
    assert_eq!(patch["new"], 1);
    assert_eq!(patch["conditions"][0]["reason"], "Waiting");
    assert_eq!(patch["conditions"][1]["type"], "Reconciling");
}

#[test]
fn a_cancelled_run_writes_no_condition() {
    let end = End {
        outcome: Outcome::Cancelled,
        ..End::default()
    };
    assert_eq!(
        end.patch(&json!({"observedGeneration": 1}), &json!({})),
        None
    );
}

#[test]
fn the_role_has_the_last_word_on_ready_only_when_the_run_completes() {
    let condition = Condition::new("Ready", condition::Status::False, "NotYet", "");
    let mut end = End {
        conditions: vec![condition],
        ..End::default()
    };
    let patch = end.patch(&Value::Null, &json!({})).unwrap();
    assert_eq!(patch["conditions"][0]["reason"], "NotYet");
    end.outcome = waiting();
    let patch = end.patch(&Value::Null, &json!({})).unwrap();
    assert_eq!(patch["conditions"][0]["reason"], "Waiting");
}

#[test]
fn progress_that_is_over_is_taken_away_in_atomic_lists_too() {
    let progress = json!({"type": "Reconciling", "status": "True", "reason": "Waiting"});
    let status = json!({"observedGeneration": 2, "conditions": [ready(), progress]});
    let patch = End::default()
        .patch(&status, &json!({"f:conditions": {}}))
        .unwrap();
    assert_eq!(patch, json!({"conditions": [ready()]}));
}

#[test]
fn without_managed_status_only_the_roles_words_are_written() {
    let end = End {
        manage: false,
        role: map(json!({"phase": "up", "gone": null})),
        ..End::default()
    };
    let status = json!({"gone": 1});
    assert_eq!(
        end.patch(&status, &json!({})).unwrap(),
        json!({"phase": "up", "gone": null})
    );
    let status = json!({"phase": "up", "observedGeneration": 1, "conditions": [ready()]});
    let fields = json!({"f:phase": {}, "f:observedGeneration": {}, "f:conditions": {
        "k:{\"type\":\"Ready\"}": {".": {}},
    }});
    let patch = end.patch(&status, &fields).unwrap();
    assert_eq!(
        patch,
        json!({"observedGeneration": null, "conditions": null})
    );
}

#[test]
fn a_field_that_the_server_drops_is_not_sent_for_its_own_sake() {
    let mut end = End {
        role: map(json!({"consumers": 1})),
        ..End::default()
    };
    let status = json!({"observedGeneration": 2, "conditions": [ready()]});
    let fields = json!({"f:observedGeneration": {}, "f:conditions": {}});
    assert!(end.patch(&status, &fields).is_some());
    end.dropped = BTreeSet::from(["status.consumers".to_owned()]);
    assert_eq!(end.patch(&status, &fields), None);
}
