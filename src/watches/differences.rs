//! Notes the differences in meaning between an entry here and in the Ansible operator.

use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::{Content, Node};

/// A difference: the entries that it concerns, and the note.
struct Difference {
    applies: fn(&Content) -> bool,
    message: &'static str,
    hint: &'static str,
}

/// Differences in the defaults. They matter to users who know the Ansible operator.
const DEFAULTS: [Difference; 2] = [
    Difference {
        applies: |entry| get(entry, "snakeCaseParameters").is_none(),
        message: "vars contains the spec keys unchanged; the Ansible operator converts them to snake_case",
        hint: "set snakeCaseParameters to true or false",
    },
    Difference {
        applies: |entry| get(entry, "watchClusterScopedResources").is_none(),
        message: "the operator watches cluster-scoped children; the Ansible operator does not by default",
        hint: "set watchClusterScopedResources to true or false",
    },
];

/// Differences in the meaning of keys that an entry uses.
const KEYS: [Difference; 3] = [
    Difference {
        applies: |entry| {
            let period = get(entry, "reconcilePeriod");
            period.is_some_and(|period| matches!(period, Content::String(text) if is_zero(text)))
        },
        message: "reconcilePeriod 0s disables periodic runs; the Ansible operator uses its default",
        hint: "",
    },
    Difference {
        applies: |entry| {
            get(entry, "watchAnnotationsChanges").is_some_and(|flag| *flag == Content::Bool(true))
        },
        message: "watchAnnotationsChanges includes changes of labels",
        hint: "",
    },
    Difference {
        applies: |entry| get(entry, "vars").is_some_and(has_template),
        message: "{{ }} in vars is plain text; the Ansible operator reads it as a template",
        hint: "compute the value in the role",
    },
];

/// Adds a note for each key whose meaning differs.
pub(super) fn add_key_notes(entries: &[Node], findings: &Diagnostics) {
    add_notes(&KEYS, entries, findings);
}

/// Adds a note for each default that differs.
pub(super) fn add_default_notes(entries: &[Node], findings: &Diagnostics) {
    add_notes(&DEFAULTS, entries, findings);
}

/// Adds a note for each difference, at the first entry that it concerns.
fn add_notes(differences: &[Difference], entries: &[Node], findings: &Diagnostics) {
    for difference in differences {
        let first = entries
            .iter()
            .find(|entry| (difference.applies)(&entry.content));
        if let Some(entry) = first {
            findings.note(entry.position, difference.message, difference.hint);
        }
    }
}

fn get<'e>(entry: &'e Content, key: &str) -> Option<&'e Content> {
    let Content::Map(entries) = entry else {
        return None;
    };
    let found = entries.iter().find(|(name, _)| name.name == key);
    found.map(|(_, value)| &value.content)
}

fn is_zero(text: &str) -> bool {
    crate::model::duration::parse(text).is_ok_and(|period| period.is_zero())
}

fn has_template(content: &Content) -> bool {
    match content {
        Content::String(text) => text.contains("{{"),
        Content::List(items) => items.iter().any(|item| has_template(&item.content)),
        Content::Map(entries) => entries
            .iter()
            .any(|(_, value)| has_template(&value.content)),
        _ => false,
    }
}
