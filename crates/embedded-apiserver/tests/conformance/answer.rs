//! The normalized answer of a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer to one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The status code; 0 when there was no answer.
    pub(crate) code: u16,
    /// The headers that a client acts on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    /// JSON as such, other text as a string, the events of a stream as a list.
    pub(crate) body: Value,
    /// The end of a stream, or the reason for no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<String>,
}

impl Answer {
    /// No answer, and why.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self {
            end: Some(why.into()),
            ..Self::default()
        }
    }

    /// As lines, for people and for diffs.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("an answer is JSON")
    }

    /// Returns whether the server says that it cannot do this.
    pub(crate) fn is_not_implemented(&self) -> bool {
        self.code == 501
    }
}
