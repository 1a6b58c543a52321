//! Custom resource definitions and their custom resources, as pure functions over JSON.
//!
//! A definition is [prepared](fn@prepare) and [validated](fn@validate), and then its [names are
//! accepted](names::accept). Each of its versions is compiled once to a [`Version`], which decodes, defaults
//! and validates custom resources, in this order. The messages and the order of checks are those of the real
//! server.
//!
//! Conversion by webhook and the complete type check of rules are not implemented: some type errors of a rule
//! are only found when it runs.

mod approval;
mod check;
mod column;
pub(crate) mod conditions;
mod correlation;
mod defaulting;
mod dns;
mod embedded;
mod format;
mod jsonpath;
mod lists;
mod metadata;
pub(crate) mod names;
mod pattern;
mod prepare;
mod priority;
mod prune;
mod rules;
mod scale;
mod structural;
mod text;
mod value;
mod verdict;
mod version;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use check::{validate, validate_status, warnings};
pub(crate) use column::Heading;
pub(crate) use format::has_text_format;
pub use pattern::{Pattern, SearchBudget};
pub(crate) use prepare::{default, prepare, storage_version};
pub(crate) use priority::compare as compare_versions;
pub(crate) use rules::Program;
pub(crate) use text::canonical_numbers;
pub(crate) use verdict::ValidationResult;
pub(crate) use version::Version;

/// The finalizer that delays the deletion of a definition until its custom resources are deleted.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Returns the names of the versions that a definition serves, the preferred one first.
pub(crate) fn versions(crd: &Value) -> Vec<&str> {
    crd.get("spec").map(priority::served).unwrap_or_default()
}
