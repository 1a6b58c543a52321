//! Custom resource definitions, and custom resources by them: pure functions over JSON.
//!
//! A definition is [prepared](prepare), [validated](validate), and gets its [names](names::accept).
//! Each of its versions is compiled once to a [`Version`], which decodes, defaults and validates
//! custom resources, in this order. Texts, and the order of checks, are the real server's.
//!
//! Not there: conversion by webhook, and the type check and cost estimate of rules: a rule that
//! names a field that is not there is found when it runs.

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
pub(crate) use pattern::compile as compile_pattern;
pub(crate) use prepare::{default, prepare, storage_version};
pub(crate) use priority::compare as compare_versions;
pub(crate) use text::canonical_numbers;
pub(crate) use verdict::Verdict;
pub(crate) use version::Version;

/// The finalizer that holds a definition until its resources are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The names of the versions that a definition serves, the preferred first.
pub(crate) fn versions(crd: &Value) -> Vec<&str> {
    crd.get("spec").map(priority::served).unwrap_or_default()
}
