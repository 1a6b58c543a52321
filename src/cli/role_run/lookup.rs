//! The selection of a custom resource by flags.

use std::sync::Arc;

use super::field_override::FieldOverride;
use crate::watches::Watch;

/// The options for finding a custom resource and changing it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    /// The namespace of `--namespace`.
    pub(super) namespace: Option<&'a str>,
    /// The namespace without `--namespace`.
    pub(super) default_namespace: &'a str,
    /// The fields of `--set`.
    pub(super) set: &'a [FieldOverride],
    /// True if the command creates a custom resource that the target does not have.
    pub(super) creates_missing: bool,
    /// The name of the target in messages.
    pub(super) target: &'a str,
    /// The watches, whose kinds take precedence over other kinds of the same name.
    pub(super) watches: &'a [Arc<Watch>],
    /// The hint for a missing kind.
    pub(super) missing_kind_hint: &'a str,
}
