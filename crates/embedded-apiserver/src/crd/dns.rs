//! Checks DNS names. Joins several errors of one name with commas.

use crate::names;

/// Returns the error for an invalid DNS-1035 label.
pub(super) fn label_1035(text: &str) -> Option<String> {
    joined(&names::label_1035(text))
}

/// Returns the error for an invalid DNS-1123 subdomain.
pub(super) fn subdomain(text: &str) -> Option<String> {
    joined(&names::subdomain(text))
}

fn joined(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.join(","))
}
