//! Known differences with their reasons, from `differences.yaml`.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use serde::Deserialize;

/// Known differences from the real server that have the same reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredDifference {
    /// Patterns of step identifiers. `*` matches any text.
    at: Vec<String>,
    reason: String,
    /// True if the difference depends on sequences that run at the same time.
    #[serde(default)]
    sometimes: bool,
}

static DECLARED: LazyLock<Vec<DeclaredDifference>> = LazyLock::new(|| {
    let declared: Vec<DeclaredDifference> =
        serde_yaml::from_str(include_str!("differences.yaml")).expect("differences.yaml");
    assert!(declared.iter().all(|declared| !declared.reason.is_empty()));
    declared
});

static OBSERVED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Returns whether the difference in a step is declared.
pub(crate) fn is_declared(place: &str) -> bool {
    let patterns = DECLARED.iter().flat_map(|declared| &declared.at);
    let found: Vec<&String> = patterns.filter(|pattern| matches(pattern, place)).collect();
    let mut seen = OBSERVED.lock().unwrap();
    seen.extend(found.iter().map(|pattern| (*pattern).clone()));
    !found.is_empty()
}

/// Returns the declared patterns that match no difference.
pub(crate) fn unneeded() -> Vec<String> {
    let seen = OBSERVED.lock().unwrap();
    let always = DECLARED.iter().filter(|declared| !declared.sometimes);
    always
        .flat_map(|declared| &declared.at)
        .filter(|pattern| !seen.contains(*pattern))
        .cloned()
        .collect()
}

/// Returns all reasons in order. The documentation must list them.
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    DECLARED.iter().map(|declared| declared.reason.as_str())
}

fn matches(pattern: &str, place: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = place.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut ends_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        ends_open = part.is_empty();
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
        || ends_open
        || (pattern.contains('*')
            && place.ends_with(pattern.rsplit('*').next().unwrap_or_default()))
}
