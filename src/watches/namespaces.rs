//! Combines `WATCH_NAMESPACE` with the `namespaces` of an entry.

use std::collections::BTreeSet;

use super::{Environment, Namespaces};
use crate::model::diagnostics::{Diagnostics, Item, list_of};
use crate::model::syntax::is_dns_label;
use crate::model::yaml::Position;

pub(super) const VARIABLE: &str = "WATCH_NAMESPACE";

/// Returns the namespaces of the environment; all if it names none.
pub(super) fn from_environment(environment: &Environment, findings: &Diagnostics) -> Namespaces {
    let text = environment.get(VARIABLE).unwrap_or_default();
    let names = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let names: BTreeSet<_> = names.map(str::to_owned).collect();
    for name in names.iter().filter(|name| !is_dns_label(name)) {
        let message = format!("{VARIABLE}: expected the name of a namespace, found {name:?}");
        findings.error(
            Position::default(),
            message,
            "correct the environment variable",
        );
    }
    if names.is_empty() {
        Namespaces::All
    } else {
        Namespaces::Only(names)
    }
}

/// Returns the namespaces of an entry that the operator watches. `at` is the item of the entry's list.
pub(super) fn intersect(own: BTreeSet<String>, at: &Item<'_>, operator: &Namespaces) -> Namespaces {
    let Namespaces::Only(watched) = operator else {
        return Namespaces::Only(own);
    };
    let both: BTreeSet<_> = own.intersection(watched).cloned().collect();
    if both.is_empty() && !own.is_empty() {
        let list = |names: &BTreeSet<String>| {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            list_of(&names, "and")
        };
        let message = format!(
            "the operator watches none of them: {VARIABLE} contains {}",
            list(watched)
        );
        at.error(&message, "");
    }
    Namespaces::Only(both)
}
