//! The runtime's own conditions at the end of a run, in both styles. Pure functions.
//!
//! `standard` follows kstatus: `Ready` always exists, `Reconciling` and `Stalled` only while they are
//! true. `ansible` follows the Ansible operator.

use serde_json::{Map, Value, json};

use crate::model::condition::{self, Condition, Status};
use crate::model::{Outcome, PublicText};
use crate::watches::Conditions;

/// Types of the `standard` style.
const STANDARD: [&str; 3] = ["Ready", "Reconciling", "Stalled"];
/// Types of the `ansible` style.
const ANSIBLE: [&str; 3] = ["Running", "Successful", "Failure"];

/// The result of a run, as conditions describe it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunSummary<'a> {
    /// The outcome of the run.
    pub(super) outcome: &'a Outcome,
    /// True for a deletion run.
    pub(super) finalizing: bool,
    /// The name of the role.
    pub(super) role: &'a PublicText,
    /// The counts of its work.
    pub(super) tally: &'a RunCounts,
}

/// The counts of `ansibleResult`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunCounts {
    /// Number of writes that were sent.
    pub(super) changed: usize,
    /// Number of writes that were not necessary.
    pub(super) ok: usize,
    /// Number of failed host calls.
    pub(super) failures: usize,
    /// Number of skipped steps; a script has none.
    pub(super) skipped: usize,
    /// The end of the run, in the time format of Python.
    pub(super) completion: String,
}

/// Returns the condition types that the runtime writes in a style.
pub(super) fn own_types(style: Conditions) -> [&'static str; 3] {
    match style {
        Conditions::Standard => STANDARD,
        Conditions::Ansible => ANSIBLE,
    }
}

/// Returns whether the runtime may write a condition of this type, in any style.
pub(super) fn is_own_type(kind: &str) -> bool {
    STANDARD.contains(&kind) || ANSIBLE.contains(&kind)
}

/// A change of one of the runtime's own conditions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConditionChange {
    /// The condition is set.
    Set(Condition),
    /// The condition is removed.
    Clear(&'static str),
}

/// Returns the changes of the conditions for the outcome of a run.
pub(super) fn for_outcome(style: Conditions, situation: &RunSummary<'_>) -> Vec<ConditionChange> {
    match style {
        Conditions::Standard => standard(situation),
        Conditions::Ansible => ansible(situation),
    }
}

/// Returns the changes of the conditions for a paused custom resource.
pub(super) fn for_paused(style: Conditions, list: &[Value]) -> Vec<ConditionChange> {
    const MESSAGE: &str = "paused by the annotation rhai.operator/paused";
    let (progress, summary) = match style {
        Conditions::Standard => ("Reconciling", "Ready"),
        Conditions::Ansible => ("Running", "Successful"),
    };
    let mut changes = vec![set(progress, Status::False, "Paused", MESSAGE)];
    if condition::find(list, summary).is_none() {
        changes.push(set(summary, Status::Unknown, "Paused", MESSAGE));
    }
    changes
}

/// Returns whether the conditions report that the last run failed.
pub(super) fn indicate_failure(style: Conditions, list: &[Value]) -> bool {
    match style {
        Conditions::Standard => condition::find(list, "Ready").is_some_and(|ready| {
            let reason = ready["reason"].as_str();
            ready["status"] == "False" && matches!(reason, Some("Failed" | "Fighting"))
        }),
        Conditions::Ansible => condition::is(list, "Failure", Status::True),
    }
}

fn standard(situation: &RunSummary<'_>) -> Vec<ConditionChange> {
    match situation.outcome {
        Outcome::Done => vec![
            set(
                "Ready",
                Status::True,
                "Reconciled",
                PublicText::concat(["role ".into(), situation.role.clone(), " completed".into()]),
            ),
            ConditionChange::Clear("Reconciling"),
            ConditionChange::Clear("Stalled"),
        ],
        Outcome::Waiting { on } => {
            let reason = if situation.finalizing {
                "Finalizing"
            } else {
                "Waiting"
            };
            vec![
                set("Ready", Status::False, reason, on.clone()),
                set("Reconciling", Status::True, reason, on.clone()),
                ConditionChange::Clear("Stalled"),
            ]
        }
        Outcome::Failed { message, .. } => vec![
            set("Ready", Status::False, "Failed", message.clone()),
            set("Reconciling", Status::True, "Retrying", message.clone()),
            ConditionChange::Clear("Stalled"),
        ],
        Outcome::Stalled { message } => stalled("Failed", message),
        Outcome::Conflict { message } => stalled("Fighting", message),
        Outcome::Cancelled => Vec::new(),
    }
}

fn stalled(reason: &'static str, message: &PublicText) -> Vec<ConditionChange> {
    vec![
        set("Ready", Status::False, reason, message.clone()),
        ConditionChange::Clear("Reconciling"),
        set("Stalled", Status::True, reason, message.clone()),
    ]
}

fn ansible(situation: &RunSummary<'_>) -> Vec<ConditionChange> {
    let result = ansible_result(situation.tally);
    match situation.outcome {
        Outcome::Done => vec![
            set(
                "Running",
                Status::True,
                "Successful",
                "Awaiting next reconciliation",
            )
            .detailed("ansibleResult", result),
            set(
                "Successful",
                Status::True,
                "Successful",
                "Last reconciliation succeeded",
            ),
            set("Failure", Status::False, "", ""),
        ],
        Outcome::Waiting { on } => vec![
            set(
                "Running",
                Status::True,
                "Running",
                PublicText::concat(["Running reconciliation: ".into(), on.clone()]),
            ),
            set("Successful", Status::False, "", ""),
            set("Failure", Status::False, "", ""),
        ],
        Outcome::Failed { message, .. }
        | Outcome::Stalled { message }
        | Outcome::Conflict { message } => vec![
            set(
                "Running",
                Status::False,
                "Running",
                "Running reconciliation",
            ),
            set("Successful", Status::False, "", ""),
            set("Failure", Status::True, "Failed", message.clone())
                .detailed("ansibleResult", result),
        ],
        Outcome::Cancelled => Vec::new(),
    }
}

fn ansible_result(tally: &RunCounts) -> Value {
    let RunCounts {
        changed,
        ok,
        failures,
        skipped,
        completion,
    } = tally;
    json!({
        "changed": changed, "ok": ok, "failures": failures, "skipped": skipped,
        "completion": completion,
    })
}

/// Maximum length of a condition's message in bytes. `metav1.Condition` allows 32 KiB; a reader needs
/// less.
const MAX_MESSAGE: usize = 2048;

fn set(
    kind: &str,
    status: Status,
    reason: &'static str,
    message: impl Into<PublicText>,
) -> ConditionChange {
    let message = message.into().shorten(MAX_MESSAGE);
    ConditionChange::Set(Condition::new(kind, status, reason, message))
}

impl ConditionChange {
    /// Returns the type of the condition.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Set(condition) => &condition.kind,
            Self::Clear(kind) => kind,
        }
    }

    fn detailed(mut self, key: &str, value: Value) -> Self {
        if let Self::Set(condition) = &mut self {
            condition.details = Map::from_iter([(key.to_owned(), value)]);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Outcome {
        Outcome::Failed {
            message: "web/tasks/main.rhai:3:1: no".into(),
            after: None,
        }
    }

    fn waiting() -> Outcome {
        Outcome::Waiting {
            on: "Deployment.apps n/x is not ready".into(),
        }
    }

    /// Formats the changes as lines: `Ready=True Reconciled`, `-Stalled`.
    fn table(style: Conditions, outcome: &Outcome, finalizing: bool) -> Vec<String> {
        let tally = RunCounts::default();
        let situation = RunSummary {
            outcome,
            finalizing,
            role: &"web".into(),
            tally: &tally,
        };
        lines(&for_outcome(style, &situation))
    }

    fn lines(changes: &[ConditionChange]) -> Vec<String> {
        let line = |change: &ConditionChange| match change {
            ConditionChange::Set(c) => format!("{}={} {}", c.kind, c.status, c.reason),
            ConditionChange::Clear(kind) => format!("-{kind}"),
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn standard_is_what_kstatus_reads() {
        let no = || PublicText::from("no");
        let stalled = Outcome::Stalled { message: no() };
        let fighting = Outcome::Conflict { message: no() };
        let waits = "Ready=False Waiting, Reconciling=True Waiting, -Stalled";
        let fails = "Ready=False Failed, Reconciling=True Retrying, -Stalled";
        let ends = "Ready=False Finalizing, Reconciling=True Finalizing, -Stalled";
        let gives_up = "Ready=False Failed, -Reconciling, Stalled=True Failed";
        let fights = "Ready=False Fighting, -Reconciling, Stalled=True Fighting";
        let done = "Ready=True Reconciled, -Reconciling, -Stalled";
        for (outcome, finalizing, expected) in [
            (Outcome::Done, false, done),
            (waiting(), false, waits),
            (failed(), false, fails),
            (stalled, false, gives_up),
            (fighting, false, fights),
            (waiting(), true, ends),
            (failed(), true, fails),
            (Outcome::Cancelled, false, ""),
        ] {
            let row = table(Conditions::Standard, &outcome, finalizing).join(", ");
            assert_eq!(row, expected, "{outcome:?}");
        }
    }

    #[test]
    fn the_conditions_of_the_ansible_operator_are_written() {
        assert_eq!(
            table(Conditions::Ansible, &Outcome::Done, false),
            [
                "Running=True Successful",
                "Successful=True Successful",
                "Failure=False "
            ]
        );
        assert_eq!(
            table(Conditions::Ansible, &failed(), false),
            [
                "Running=False Running",
                "Successful=False ",
                "Failure=True Failed"
            ]
        );
    }

    #[test]
    fn paused_leaves_ready_as_it_was() {
        let held = for_paused(Conditions::Standard, &[]);
        assert_eq!(
            lines(&held),
            ["Reconciling=False Paused", "Ready=Unknown Paused"]
        );
        let was = json!({"type": "Ready", "status": "True", "reason": "Reconciled"});
        let held = for_paused(Conditions::Standard, &[was]);
        assert_eq!(lines(&held), ["Reconciling=False Paused"]);
    }

    #[test]
    fn a_failure_is_read_back_from_the_conditions() {
        for (style, outcome, failure) in [
            (Conditions::Standard, failed(), true),
            (Conditions::Standard, waiting(), false),
            (Conditions::Standard, Outcome::Done, false),
            (Conditions::Ansible, failed(), true),
            (Conditions::Ansible, Outcome::Done, false),
        ] {
            let tally = RunCounts::default();
            let situation = RunSummary {
                outcome: &outcome,
                finalizing: false,
                role: &"web".into(),
                tally: &tally,
            };
            let mut list = Vec::new();
            let stamp = condition::ConditionStamp {
                now: "",
                generation: None,
            };
            for change in for_outcome(style, &situation) {
                if let ConditionChange::Set(condition) = change {
                    condition::merge(&mut list, &condition, &stamp);
                }
            }
            assert_eq!(
                indicate_failure(style, &list),
                failure,
                "{style:?} {outcome:?}"
            );
        }
    }
}
