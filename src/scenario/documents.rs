//! Parses the YAML files of stages: manifests and expectations.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::compare::{PathSegment, is_query};
use crate::model::Gvk;
use crate::model::diagnostics::{Diagnostics, Item, Keys};
use crate::model::json_path;
use crate::model::yaml::{Content, Node, Position};

/// An object of a file.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    /// The file as the user names it.
    pub(super) file: PathBuf,
    pub(super) position: Position,
    pub(super) gvk: Gvk,
    pub(super) value: Value,
}

impl Manifest {
    /// Creates the manifest of a namespace.
    pub(super) fn namespace(name: &str) -> Self {
        Self {
            file: PathBuf::new(),
            position: Position::default(),
            gvk: Gvk::new("", "v1", "Namespace"),
            value: serde_json::json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
            }),
        }
    }
}

/// An expectation.
#[derive(Clone, Debug)]
pub(super) struct Expectation {
    pub(super) kind: ExpectationKind,
    pub(super) pattern: Pattern,
}

/// The kind of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpectationKind {
    /// At least one object matches.
    Present,
    /// No object matches.
    Absent,
    /// This number of objects matches.
    Count(usize),
    /// An Event matches.
    Event,
    /// There is one, and it is as in the golden snapshot of this name.
    Snapshot(String),
}

/// Part of an object, which fits all objects that hold it.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The file as the user names it.
    pub(super) file: PathBuf,
    pub(super) gvk: Gvk,
    /// The name, if one object is meant.
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    /// The expected part of the object.
    pub(super) value: Value,
    node: Node,
}

/// The keys of a document that is no object.
const CHECK: Keys = Keys {
    known: &[
        "absent",
        "apiVersion",
        "count",
        "event",
        "kind",
        "of",
        "snapshot",
    ],
    refused: &[
        (
            "assert",
            "assert is not supported",
            "write the object itself, with the fields to check",
        ),
        (
            "error",
            "write `absent` for objects that must not exist",
            "",
        ),
    ],
};

const EVENT: Keys = Keys {
    known: &["type", "reason", "note", "regarding"],
    refused: &[("message", "write `note` for the text of an Event", "")],
};

/// The manifests of a file.
pub(super) fn manifests(file: &Path, text: &str, diagnostics: &Diagnostics) -> Vec<Manifest> {
    let documents = diagnostics.parse_all(text);
    let manifests = documents.iter().filter_map(|node| {
        let item = Item::root(node, diagnostics);
        let gvk = gvk(&item)?;
        let value = node.to_value();
        let metadata = &value["metadata"];
        if !metadata["name"].is_string() && !metadata["generateName"].is_string() {
            item.error("metadata.name is missing", "");
            return None;
        }
        Some(Manifest {
            file: file.to_owned(),
            position: node.position,
            gvk,
            value,
        })
    });
    manifests.collect()
}

/// Parses the expectations of a file.
pub(super) fn expectations(file: &Path, text: &str, diagnostics: &Diagnostics) -> Vec<Expectation> {
    let documents = diagnostics.parse_all(text);
    let read = |node| expectation(file, &Item::root(node, diagnostics), diagnostics);
    documents.iter().filter_map(read).collect()
}

fn expectation(file: &Path, item: &Item<'_>, diagnostics: &Diagnostics) -> Option<Expectation> {
    let is_object = |key: &str| key == "apiVersion" || key == "kind";
    if item.entries()?.iter().any(|(key, _)| is_object(&key.name)) {
        let pattern = pattern(file, item, diagnostics)?;
        return Some(Expectation {
            kind: ExpectationKind::Present,
            pattern,
        });
    }
    let fields = item.fields(CHECK)?;
    let (kind, of) = if let Some(absent) = fields.get("absent") {
        (ExpectationKind::Absent, absent)
    } else if let Some(count) = fields.get("count") {
        let count = count.count(0).and_then(|count| usize::try_from(count).ok());
        (ExpectationKind::Count(count?), fields.required("of", None)?)
    } else if let Some(name) = fields.get("snapshot") {
        let name = name.text()?.to_owned();
        (
            ExpectationKind::Snapshot(name),
            fields.required("of", None)?,
        )
    } else if let Some(event) = fields.get("event") {
        let pattern = event_pattern(file, &event)?;
        return Some(Expectation {
            kind: ExpectationKind::Event,
            pattern,
        });
    } else {
        if !diagnostics.has_errors() {
            item.error(
                "expected an object (apiVersion, kind, …), absent, count and of, event, or snapshot and of",
                "",
            );
        }
        return None;
    };
    let pattern = pattern(file, &of, diagnostics)?;
    Some(Expectation { kind, pattern })
}

fn pattern(file: &Path, item: &Item<'_>, diagnostics: &Diagnostics) -> Option<Pattern> {
    let gvk = gvk(item)?;
    check_queries(item.node(), diagnostics);
    let value = item.value();
    let text = |key: &str| value["metadata"][key].as_str().map(str::to_owned);
    Some(Pattern {
        file: file.to_owned(),
        gvk,
        name: text("name"),
        namespace: text("namespace"),
        node: item.node().clone(),
        value,
    })
}

fn event_pattern(file: &Path, item: &Item<'_>) -> Option<Pattern> {
    let fields = item.fields(EVENT)?;
    let texts = ["type", "reason", "note"].map(|key| fields.get(key));
    for text in texts.into_iter().flatten() {
        text.text()?;
    }
    Some(Pattern {
        file: file.to_owned(),
        gvk: Gvk::new("events.k8s.io", "v1", "Event"),
        name: None,
        namespace: None,
        value: item.value(),
        node: item.node().clone(),
    })
}

fn gvk(item: &Item<'_>) -> Option<Gvk> {
    let entries = item.entries()?;
    let text = |key: &str| {
        let found = entries.iter().find(|(name, _)| name.name == key);
        if found.is_none() {
            item.error(&format!("{key} is missing"), "");
        }
        found?.1.text()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Some(Gvk::from_api_version(api_version?, kind?))
}

/// Reports invalid JSONPath queries.
fn check_queries(node: &Node, diagnostics: &Diagnostics) {
    match &node.content {
        Content::List(items) => items
            .iter()
            .for_each(|item| check_queries(item, diagnostics)),
        Content::Map(entries) => {
            for (key, value) in entries {
                if is_query(&key.name)
                    && let Err(error) = json_path::parse(&key.name)
                {
                    let message = format!("invalid JSONPath: {error}");
                    diagnostics.error(key.position, message, "");
                }
                check_queries(value, diagnostics);
            }
        }
        _ => {}
    }
}

impl Pattern {
    /// Returns the position of a path in the file, or of its nearest parent.
    pub(super) fn position_of(&self, path: &[PathSegment]) -> Position {
        let mut node = &self.node;
        for step in path {
            let next = match (&node.content, step) {
                (Content::Map(entries), PathSegment::Key(name)) => {
                    let entry = entries.iter().find(|(key, _)| key.name == *name);
                    entry.map(|(_, value)| value)
                }
                (Content::List(items), PathSegment::Index(index)) => items.get(*index),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Expectation>, Vec<String>) {
        let file = Path::new("verify.yaml");
        let diagnostics = Diagnostics::new(file);
        let read = expectations(file, text, &diagnostics);
        let diagnostics = diagnostics.into_vec();
        (read, diagnostics.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_kinds_of_expectations_are_recognized() {
        let text = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: '1'}
---
absent: {apiVersion: v1, kind: Secret}
---
count: 2
of: {apiVersion: v1, kind: Pod, metadata: {labels: {app: a}}}
---
event: {reason: Ready, note: done}
---
snapshot: whole
of: {apiVersion: v1, kind: ConfigMap}
";
        let (read, diagnostics) = read(text);
        assert_eq!(diagnostics, [""; 0]);
        let kinds: Vec<_> = read.iter().map(|one| one.kind.clone()).collect();
        assert_eq!(
            kinds,
            [
                ExpectationKind::Present,
                ExpectationKind::Absent,
                ExpectationKind::Count(2),
                ExpectationKind::Event,
                ExpectationKind::Snapshot("whole".to_owned())
            ]
        );
        assert_eq!(read[0].pattern.name.as_deref(), Some("a"));
        let path = [
            PathSegment::Key("data".into()),
            PathSegment::Key("x".into()),
        ];
        let place = read[0].pattern.position_of(&path);
        assert_eq!((place.line, place.column), (4, 11));
    }

    #[test]
    fn invalid_documents_are_reported_with_their_position() {
        let text = "\
absnt: {apiVersion: v1, kind: Secret}
---
count: -1
of: {apiVersion: v1, kind: Pod}
---
count: 1
---
apiVersion: v1
metadata: {name: a}
---
event: {message: x}
---
apiVersion: v1
kind: Pod
status: {'$.conditions[': []}
";
        let (read, diagnostics) = read(text);
        assert_eq!(read.len(), 2, "{read:?}");
        let diagnostics: Vec<_> = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.lines().next().unwrap_or_default())
            .collect();
        assert_eq!(
            diagnostics[..5],
            [
                r#"verify.yaml:1:1: error: unknown key "absnt""#,
                "verify.yaml:3:8: error: count: expected a whole number of at least 0, found -1",
                "verify.yaml:6:1: error: of is missing",
                "verify.yaml:8:1: error: kind is missing",
                "verify.yaml:11:9: error: write `note` for the text of an Event",
            ]
        );
        assert!(diagnostics[5].starts_with("verify.yaml:15:10: error: invalid JSONPath"));
    }

    #[test]
    fn a_manifest_needs_a_kind_and_a_name() {
        let file = Path::new("converge.yaml");
        let diagnostics = Diagnostics::new(file);
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\nkind: Pod\n---\n{apiVersion: v1, kind: Pod}\n";
        assert_eq!(manifests(file, text, &diagnostics).len(), 1);
        let diagnostics = diagnostics.into_vec();
        let diagnostics: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            diagnostics,
            [
                "converge.yaml:3:1: error: apiVersion is missing",
                "converge.yaml:5:1: error: metadata.name is missing",
            ]
        );
    }
}
