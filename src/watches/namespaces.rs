//! `WATCH_NAMESPACE` and what it leaves of an entry's `namespaces`.

use std::collections::BTreeSet;

use super::{Environment, Namespaces};
use crate::model::diagnostics::{Diagnostics, Item, list_of};
use crate::model::syntax::is_dns_label;
use crate::model::yaml::Position;

const VARIABLE: &str = "WATCH_NAMESPACE";

/// The namespaces of the environment: none named are all.
pub(super) fn of(environment: &Environment, findings: &Diagnostics) -> Namespaces {
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
            "mend the environment variable",
        );
    }
    if names.is_empty() {
        Namespaces::All
    } else {
        Namespaces::Only(names)
    }
}

/// What the operator's namespaces leave of an entry's own, typed at `at`.
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
        let message = format!("none of them is in {VARIABLE}, which is {}", list(watched));
        at.error(&message, "");
    }
    Namespaces::Only(both)
}
