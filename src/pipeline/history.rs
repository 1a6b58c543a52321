//! The state of steps that one run stores for the next: waiting times and failure counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The records of the steps of a custom resource, by path. The annotation
/// [`crate::model::annotations::STEPS`] stores them in the cluster. They are valid for one generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepHistory {
    /// The generation of the custom resource that the records belong to.
    pub generation: i64,
    /// The records, by the path of the step: `install/primary`.
    pub steps: BTreeMap<String, StepRecord>,
}

/// The record of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRecord {
    /// The time since which it waits, if it has a timeout: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The number of consecutive runs in which it failed, if its retries are limited.
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
    /// Parses an annotation. The history of another generation is empty.
    pub fn read(annotation: &str, generation: i64) -> Result<Self, serde_json::Error> {
        let history: Self = serde_json::from_str(annotation)?;
        if history.generation == generation {
            Ok(history)
        } else {
            Ok(Self::none(generation))
        }
    }

    /// Returns an empty history.
    pub fn none(generation: i64) -> Self {
        Self {
            generation,
            steps: BTreeMap::new(),
        }
    }

    /// Returns the value of the annotation; none for an empty history.
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
    fn the_history_of_another_generation_is_empty() {
        let since = "2026-01-01T00:00:00Z".to_owned();
        let record = StepRecord {
            since: Some(since),
            failures: 0,
        };
        let history = StepHistory {
            generation: 2,
            steps: BTreeMap::from([("install/primary".to_owned(), record)]),
        };
        let text = history.write().unwrap();
        assert_eq!(
            text,
            r#"{"generation":2,"steps":{"install/primary":{"since":"2026-01-01T00:00:00Z"}}}"#
        );
        assert_eq!(StepHistory::read(&text, 2).unwrap(), history);
        assert_eq!(StepHistory::read(&text, 3).unwrap(), StepHistory::none(3));
        assert!(StepHistory::read("not JSON", 3).is_err());
        assert_eq!(StepHistory::none(3).write(), None);
    }
}
