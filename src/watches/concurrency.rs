//! Reads the limit of concurrent runs of a kind from `MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>`.

use std::num::NonZeroUsize;

use super::{Environment, Watch};
use crate::model::Gvk;
use crate::model::diagnostics::{Diagnostics, nearest};
use crate::model::yaml::Position;

pub(super) const PREFIX: &str = "MAX_CONCURRENT_RECONCILES_";
/// The deprecated prefix of the Ansible operator.
const OLD_PREFIX: &str = "WORKER_";

/// Returns the limit for a kind. `at` is the position of its entry.
pub(super) fn from_environment(
    gvk: &Gvk,
    environment: &Environment,
    at: Position,
    findings: &Diagnostics,
) -> Option<NonZeroUsize> {
    let suffix = suffix(gvk);
    let old = format!("{OLD_PREFIX}{suffix}");
    if environment.get(&old).is_some() {
        let message = format!("ignoring the environment variable {old}");
        findings.warning(at, message, format!("set {PREFIX}{suffix}"));
    }
    // The Ansible operator ends the name of a core kind with an underscore, because its group is empty.
    let names = [format!("{PREFIX}{suffix}"), format!("{PREFIX}{suffix}_")];
    let set = |name: &String| Some((name.clone(), environment.get(name)?));
    let (name, text) = names.iter().find_map(set)?;
    let count = text.trim().parse().ok();
    if count.is_none() {
        let message = format!("{name}: expected a whole number of at least 1, found {text:?}");
        findings.error(at, message, "correct the environment variable");
    }
    count
}

/// Warns of variables that name no kind of the file.
pub(super) fn warn_of_unused(watches: &[Watch], environment: &Environment, findings: &Diagnostics) {
    let names: Vec<String> = watches.iter().map(|watch| suffix(&watch.gvk)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in environment.names() {
        let Some(kind) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let kind = kind.trim_end_matches('_');
        if !names.contains(&kind) {
            let message =
                format!("ignoring the environment variable {name}: it names no watched kind");
            let hint = nearest(kind, &names).map(|near| format!("did you mean {PREFIX}{near}?"));
            findings.warning(Position::default(), message, hint.unwrap_or_default());
        }
    }
}

/// `MEMCACHED_CACHE_EXAMPLE_COM`
fn suffix(gvk: &Gvk) -> String {
    let name = if gvk.group.is_empty() {
        gvk.kind.to_string()
    } else {
        format!("{}_{}", gvk.kind, gvk.group)
    };
    name.to_uppercase().replace(['.', '-'], "_")
}
