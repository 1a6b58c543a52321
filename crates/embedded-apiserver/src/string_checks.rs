//! Checks strings like schemas of custom resources: regular expressions in the syntax of Go, and formats.

use crate::crd;
pub use crate::crd::{Pattern, SearchBudget};

/// Returns whether a string has a format. Every string has a format that the API server does not know.
pub fn has_format(text: &str, format: &str) -> bool {
    crd::has_text_format(text, format)
}
