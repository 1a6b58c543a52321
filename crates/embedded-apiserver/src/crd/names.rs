//! Accepts the names of a definition if no other definition of the API group has them.
//!
//! Names without conflicts are accepted even if other names of the definition have conflicts. Short names and
//! the singular must be unique among the plurals, singulars and short names of the group, and kinds must be
//! unique among kinds.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::approval;
use super::conditions::{self, Condition};
use super::structural::{list, text};

/// The accepted names of the other definitions of the group.
#[derive(Default)]
struct AcceptedNames {
    resources: HashSet<String>,
    kinds: HashSet<String>,
}

/// Returns the new status of a definition, or nothing if it does not change. `others` are the other
/// definitions. A definition whose names are accepted becomes established at once.
pub(crate) fn accept(crd: &Value, others: &[&Value], now: &str) -> Option<Value> {
    let old = crd.get("status")?;
    let mut status = old.clone();
    let accepted = &old["acceptedNames"];
    let requested = crd.pointer("/spec/names")?;
    if requested != accepted {
        let taken = AcceptedNames::collect(others, &crd["spec"]["group"]);
        let conflict = name(requested, accepted, &taken, &mut status["acceptedNames"]);
        let (value, reason, message) = match &conflict {
            None => ("True", "NoConflicts", "no conflicts found"),
            Some((reason, message)) => ("False", *reason, message.as_str()),
        };
        let condition = Condition {
            kind: "NamesAccepted",
            status: value,
            reason,
            message,
        };
        conditions::set(&mut status, condition, now);
    }
    establish(&mut status, now);
    if let Some((value, reason, message)) = approval::condition(crd) {
        let condition = Condition {
            kind: "KubernetesAPIApprovalPolicyConformant",
            status: value,
            reason,
            message: &message,
        };
        conditions::set(&mut status, condition, now);
    }
    (status != *old).then_some(status)
}

/// Sets the condition `Established`. It stays true even if names conflict later.
fn establish(status: &mut Value, now: &str) {
    let is = |kind| conditions::find(status, kind).is_some_and(|it| it["status"] == "True");
    if is("Established") {
        return;
    }
    let condition = if is("NamesAccepted") {
        Condition {
            kind: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
        }
    } else {
        Condition {
            kind: "Established",
            status: "False",
            reason: "NotAccepted",
            message: "not all names are accepted",
        }
    };
    conditions::set(status, condition, now);
}

/// Accepts the names that are free. Returns the last conflict, which the condition reports.
fn name(
    requested: &Value,
    accepted: &Value,
    taken: &AcceptedNames,
    new: &mut Value,
) -> Option<(&'static str, String)> {
    let mut conflict = None;
    if !new.is_object() {
        *new = Value::Object(Map::new());
    }
    for (key, reason, used) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
    ] {
        conflict = one(key, reason, requested, accepted, used, new).or(conflict);
    }
    conflict = short_names(requested, accepted, taken, new).or(conflict);
    for (key, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        conflict = one(key, reason, requested, accepted, &taken.kinds, new).or(conflict);
    }
    put(new, "categories", requested.get("categories"));
    conflict
}

fn one(
    key: &str,
    reason: &'static str,
    requested: &Value,
    accepted: &Value,
    used: &HashSet<String>,
    new: &mut Value,
) -> Option<(&'static str, String)> {
    let wanted = text(requested, key).unwrap_or_default();
    if text(accepted, key).unwrap_or_default() != wanted && used.contains(&wanted) {
        return Some((reason, in_use(&wanted)));
    }
    put(new, key, requested.get(key));
    None
}

fn short_names(
    requested: &Value,
    accepted: &Value,
    taken: &AcceptedNames,
    new: &mut Value,
) -> Option<(&'static str, String)> {
    let ours: Vec<&Value> = list(accepted, "shortNames").collect();
    let conflicts: Vec<String> = list(requested, "shortNames")
        .filter(|name| !ours.contains(name))
        .filter_map(Value::as_str)
        .filter(|name| taken.resources.contains(*name))
        .map(in_use)
        .collect();
    match conflicts.as_slice() {
        [] => {
            put(new, "shortNames", requested.get("shortNames"));
            None
        }
        [conflict] => Some(("ShortNamesConflict", conflict.clone())),
        several => Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
    }
}

fn put(names: &mut Value, key: &str, value: Option<&Value>) {
    if let Value::Object(names) = names {
        match value {
            Some(value) => names.insert(key.to_owned(), value.clone()),
            None => names.remove(key),
        };
    }
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

impl AcceptedNames {
    fn collect(others: &[&Value], group: &Value) -> Self {
        let mut taken = Self::default();
        for other in others
            .iter()
            .filter(|other| other["spec"]["group"] == *group)
        {
            let names = &other["status"]["acceptedNames"];
            taken.resources.extend(text(names, "plural"));
            taken.resources.extend(text(names, "singular"));
            taken.kinds.extend(text(names, "kind"));
            taken.kinds.extend(text(names, "listKind"));
            let short = list(names, "shortNames").filter_map(Value::as_str);
            taken.resources.extend(short.map(str::to_owned));
        }
        taken
    }
}
