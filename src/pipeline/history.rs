//! The state of steps that one run stores for the next: waiting times and failure counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is remembered of the steps of a custom resource from run to run, by their paths: kept in the
/// cluster, as the annotation [`crate::model::annotations::STEPS`]. It is of one generation: for
/// another spec all begins anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepHistory {
    /// The generation that the steps were seen with.
    pub generation: i64,
    /// What is remembered, by the step's path: `install/primary`.
    pub steps: BTreeMap<String, StepRecord>,
}

/// What is remembered of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRecord {
    /// Since when it waits, if it may not for ever: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// In how many runs on end it failed, if that is bounded.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl StepHistory {
    /// What an annotation says; nothing where it is of another generation, or not ours.
    pub fn read(annotation: &str, generation: i64) -> Self {
        let marks: Self = serde_json::from_str(annotation).unwrap_or_default();
        if marks.generation == generation {
            marks
        } else {
            Self::none(generation)
        }
    }

    /// Nothing to remember.
    pub fn none(generation: i64) -> Self {
        Self {
            generation,
            steps: BTreeMap::new(),
        }
    }

    /// The annotation's value; none where nothing is to be remembered.
    pub fn write(&self) -> Option<String> {
        if self.steps.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_of_one_generation() {
        let since = "2026-01-01T00:00:00Z".to_owned();
        let mark = StepRecord {
            since: Some(since),
            failures: 0,
        };
        let marks = StepHistory {
            generation: 2,
            steps: BTreeMap::from([("install/primary".to_owned(), mark)]),
        };
        let text = marks.write().unwrap();
        assert_eq!(
            text,
            r#"{"generation":2,"steps":{"install/primary":{"since":"2026-01-01T00:00:00Z"}}}"#
        );
        assert_eq!(StepHistory::read(&text, 2), marks);
        assert_eq!(StepHistory::read(&text, 3), StepHistory::none(3));
        assert_eq!(
            StepHistory::read("someone wrote this", 3),
            StepHistory::none(3)
        );
        assert_eq!(StepHistory::none(3).write(), None);
    }
}
