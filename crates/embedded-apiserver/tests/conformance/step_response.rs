//! The normalized response of a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The response to one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepResponse {
    /// The status code, or 0 if there was no response.
    pub(crate) code: u16,
    /// The headers that a client acts on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    /// A JSON body, a text as a string, or the events of a stream as a list.
    pub(crate) body: Value,
    /// The way in which a stream ended, or the reason that there is no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<String>,
}

impl StepResponse {
    /// Returns a missing response with its reason.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self {
            end: Some(why.into()),
            ..Self::default()
        }
    }

    /// Formats the response as lines, for people and for diffs.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("an answer is JSON")
    }

    /// Returns whether the server responds that it does not implement the operation.
    pub(crate) fn is_not_implemented(&self) -> bool {
        self.code == 501
    }
}
