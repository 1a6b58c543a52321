//! Where an entry means something else than it does to the Ansible operator: notes for `check`.

use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::{Content, Node};

/// A difference: the key it is about, whether an entry relies on it, what to say.
struct Difference {
    applies: fn(&Content) -> bool,
    message: &'static str,
    hint: &'static str,
}

const DIFFERENCES: [Difference; 5] = [
    Difference {
        applies: |entry| get(entry, "snakeCaseParameters").is_none(),
        message: "spec keys reach the role as they are; the Ansible operator turns them into snake_case",
        hint: "say which you mean: snakeCaseParameters: true or false",
    },
    Difference {
        applies: |entry| get(entry, "watchClusterScopedResources").is_none(),
        message: "cluster-scoped children are watched; the Ansible operator does so only if told to",
        hint: "say which you mean: watchClusterScopedResources: true or false",
    },
    Difference {
        applies: |entry| {
            let period = get(entry, "reconcilePeriod");
            period.is_some_and(|period| matches!(period, Content::String(text) if is_zero(text)))
        },
        message: "reconcilePeriod 0s switches periodic runs off; to the Ansible operator it means its default",
        hint: "",
    },
    Difference {
        applies: |entry| {
            get(entry, "watchAnnotationsChanges").is_some_and(|flag| *flag == Content::Bool(true))
        },
        message: "watchAnnotationsChanges covers labels too",
        hint: "",
    },
    Difference {
        applies: |entry| get(entry, "vars").is_some_and(has_template),
        message: "values of vars are plain data; the Ansible operator reads {{ }} in them as a template",
        hint: "compute the value in the role",
    },
];

/// Notes each difference once, at the first entry that it concerns.
pub(super) fn note(entries: &[Node], findings: &Diagnostics) {
    for difference in &DIFFERENCES {
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
