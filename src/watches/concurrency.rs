//! `MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>`: the number of runs of a kind at one time.

use std::num::NonZeroUsize;

use super::{Environment, Watch};
use crate::model::Gvk;
use crate::model::diagnostics::{Diagnostics, nearest};
use crate::model::yaml::Position;

const PREFIX: &str = "MAX_CONCURRENT_RECONCILES_";
/// The Ansible operator's old name, long deprecated there.
const OLD_PREFIX: &str = "WORKER_";

/// The environment's number for a kind; `at` is where its entry begins.
pub(super) fn of(
    gvk: &Gvk,
    environment: &Environment,
    at: Position,
    findings: &Diagnostics,
) -> Option<NonZeroUsize> {
    let suffix = suffix(gvk);
    let old = format!("{OLD_PREFIX}{suffix}");
    if environment.get(&old).is_some() {
        let message = format!("the environment variable {old} is not read");
        findings.warning(at, message, format!("set {PREFIX}{suffix}"));
    }
    // The Ansible operator ends the name of a core kind with the underscore before its empty group.
    let names = [format!("{PREFIX}{suffix}"), format!("{PREFIX}{suffix}_")];
    let set = |name: &String| Some((name.clone(), environment.get(name)?));
    let (name, text) = names.iter().find_map(set)?;
    let count = text.trim().parse().ok();
    if count.is_none() {
        let message = format!("{name}: expected a whole number of at least 1, found {text:?}");
        findings.error(at, message, "mend the environment variable");
    }
    count
}

/// Tells of variables that name no kind of the file.
pub(super) fn unused(watches: &[Watch], environment: &Environment, findings: &Diagnostics) {
    let names: Vec<String> = watches.iter().map(|watch| suffix(&watch.gvk)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in environment.names() {
        let Some(kind) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let kind = kind.trim_end_matches('_');
        if !names.contains(&kind) {
            let message = format!("the environment variable {name} names no kind that is watched");
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
