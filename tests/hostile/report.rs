//! The report of a campaign.

use std::collections::{BTreeMap, BTreeSet};

/// The results of all campaigns.
#[derive(Default)]
pub(crate) struct Report {
    /// Violations by the case that they are of.
    violations: BTreeMap<String, BTreeSet<String>>,
    pub(crate) made: usize,
    pub(crate) refused: usize,
}

impl Report {
    pub(crate) fn violation(&mut self, case: &str, what: String) {
        let whats = self.violations.entry(case.to_owned()).or_default();
        whats.insert(what);
    }

    /// Returns whether nothing is violated.
    pub(crate) fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }

    pub(crate) fn add(&mut self, found: Vec<(String, String)>) {
        for (case, what) in found {
            self.violation(&case, what);
        }
    }

    /// The first violations, and how many there are.
    pub(crate) fn to_text(&self) -> String {
        const MAX_SHOWN: usize = 60;
        let mut lines = vec![format!("{} cases violate", self.violations.len())];
        for (case, whats) in self.violations.iter().take(MAX_SHOWN) {
            let whats: Vec<String> = whats
                .iter()
                .map(|what| what.chars().take(1_500).collect())
                .collect();
            lines.push(format!("{case}: {}", whats.join("; ")));
        }
        lines.join("\n")
    }
}

/// The beginning of a text.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(300).collect()
}
