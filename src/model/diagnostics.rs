//! Converts a positioned YAML tree to values, and reports all errors at once, each with its position.
//!
//! [`Diagnostics`] collects the diagnostics of one file. [`Item`] is a value with its path, and has a method
//! per expected type. [`Fields`] is a map with known keys. A method that finds an error adds a diagnostic
//! and returns `None`, so that the caller continues with the rest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::diagnostic::Severity;
use crate::model::yaml::{Content, Key, Node, Position, read_scalar};
use crate::model::{Diagnostic, duration, yaml};

/// The diagnostics of one file, in the order in which they were found.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    file: PathBuf,
    diagnostics: RefCell<Vec<Diagnostic>>,
}

impl Diagnostics {
    /// Creates an empty list for a file; `file` is the path as the user named it.
    pub(crate) fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            diagnostics: RefCell::default(),
        }
    }

    /// Adds an error. `hint` is the next step of the user, or empty.
    pub(crate) fn error(&self, at: Position, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Error, at, message.into(), hint.into());
    }

    /// Adds a warning.
    pub(crate) fn warning(
        &self,
        at: Position,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, at, message.into(), hint.into());
    }

    /// Adds a note.
    pub(crate) fn note(&self, at: Position, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Note, at, message.into(), hint.into());
    }

    fn add(&self, severity: Severity, at: Position, message: String, hint: String) {
        let mut diagnostic =
            Diagnostic::error(&self.file, at.line, at.column, message).severity(severity);
        diagnostic.hint = Some(hint).filter(|hint| !hint.is_empty());
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// Returns whether an error was added.
    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.borrow().iter().any(Diagnostic::is_error)
    }

    /// Returns the diagnostics, sorted by position.
    pub(crate) fn into_vec(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics.into_inner();
        diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        diagnostics
    }

    /// Parses the text of the file. Adds an error if it is not YAML, and one for each duplicate key of a
    /// map.
    pub(crate) fn parse(&self, text: &str) -> Option<Node> {
        let parsed = yaml::parse_positioned(text);
        let root = parsed.inspect_err(|error| self.syntax(error)).ok()?;
        let before = self.diagnostics.borrow().len();
        self.duplicate_keys(&root);
        if self.diagnostics.borrow().len() == before {
            // If two keys are the same number, the tree contains only the last one.
            if let Err(error) = yaml::parse(text) {
                self.syntax(&error);
            }
        }
        Some(root)
    }

    /// Parses all documents in the text of the file, with the errors of [`Diagnostics::parse`].
    pub(crate) fn parse_all(&self, text: &str) -> Vec<Node> {
        let parsed = yaml::parse_all_positioned(text);
        let documents = parsed
            .inspect_err(|error| self.syntax(error))
            .unwrap_or_default();
        for document in &documents {
            self.duplicate_keys(document);
        }
        documents
    }

    fn syntax(&self, error: &yaml::Error) {
        let hint = if error.message.contains("mapping values are not allowed") {
            "check the indentation; a text with a colon needs quotes"
        } else if error.message.contains("tab") {
            "indent with spaces"
        } else {
            ""
        };
        self.error(error.position, &*error.message, hint);
    }

    fn duplicate_keys(&self, node: &Node) {
        match &node.content {
            Content::List(items) => items.iter().for_each(|item| self.duplicate_keys(item)),
            Content::Map(entries) => {
                let mut lines = BTreeMap::new();
                for (key, value) in entries {
                    if let Some(line) = lines.insert(&key.name, key.position.line) {
                        let message = format!("duplicate key {:?}", key.name);
                        self.error(
                            key.position,
                            message,
                            format!("it is on line {line} already"),
                        );
                    }
                    self.duplicate_keys(value);
                }
            }
            _ => {}
        }
    }
}

/// The keys that a map may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// The valid keys.
    pub known: &'static [&'static str],
    /// Keys of other tools, each with a message and a hint.
    pub refused: &'static [(&'static str, &'static str, &'static str)],
}

/// A value with its path.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    node: &'a Node,
    path: String,
    diagnostics: &'a Diagnostics,
}

impl<'a> Item<'a> {
    /// Creates the root of a file.
    pub(crate) fn root(node: &'a Node, diagnostics: &'a Diagnostics) -> Self {
        Self {
            node,
            path: String::new(),
            diagnostics,
        }
    }

    /// Returns the position of the value.
    pub(crate) fn position(&self) -> Position {
        self.node.position
    }

    /// Returns the value with the positions of its parts.
    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }

    /// Adds an error at the value; `hint` may be empty.
    pub(crate) fn error(&self, message: &str, hint: &str) {
        self.error_at(self.node.position, message, hint);
    }

    /// Adds an error about the value at another position, such as that of one of its keys.
    pub(crate) fn error_at(&self, at: Position, message: &str, hint: &str) {
        let message = if self.path.is_empty() {
            message.to_owned()
        } else {
            format!("{}: {message}", self.path)
        };
        self.diagnostics.error(at, message, hint);
    }

    /// Adds the error that the value is not what was `expected`, unless it already has an error; `hint`
    /// may be empty.
    pub(crate) fn unexpected(&self, expected: &str, hint: &str) {
        let found = match &self.node.content {
            Content::Unknown => return,
            Content::Bool(flag) => flag.to_string(),
            Content::Number(number) => number.to_string(),
            Content::String(text) | Content::Substituted { text, .. } => format!("{text:?}"),
            content => content.kind().to_owned(),
        };
        self.error(&format!("expected {expected}, found {found}"), hint);
    }

    /// Returns a string.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.content {
            Content::String(text) | Content::Substituted { text, .. } => Some(text),
            Content::Bool(_) | Content::Number(_) => {
                self.unexpected("a string", "put it in quotes");
                None
            }
            _ => {
                self.unexpected("a string", "");
                None
            }
        }
    }

    /// Returns a string that `valid` accepts. Otherwise adds an error with what was `expected`.
    pub(crate) fn text_like(
        &self,
        expected: &str,
        valid: impl Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let text = self.text()?;
        if !valid(text) {
            self.error(&format!("expected {expected}, found {text:?}"), "");
            return None;
        }
        Some(text)
    }

    /// Returns a boolean.
    pub(crate) fn flag(&self) -> Option<bool> {
        let Content::Bool(flag) = self.scalar() else {
            self.unexpected("true or false", self.unquote_hint());
            return None;
        };
        Some(*flag)
    }

    /// Returns an integer of at least `least`.
    pub(crate) fn count(&self, least: u64) -> Option<u64> {
        let expected = format!("a whole number of at least {least}");
        let count = match self.scalar() {
            Content::Number(number) => number.as_u64().filter(|count| *count >= least),
            _ => None,
        };
        if count.is_none() {
            self.unexpected(&expected, self.unquote_hint());
        }
        count
    }

    /// Returns the hint for a scalar that is a string only because of its quotes.
    fn unquote_hint(&self) -> &'static str {
        match &self.node.content {
            Content::String(text) if !matches!(read_scalar(text), Content::String(_)) => {
                "remove the quotes"
            }
            _ => "",
        }
    }

    /// Returns a number.
    pub(crate) fn number(&self) -> Option<f64> {
        let Content::Number(number) = self.scalar() else {
            self.unexpected("a number", self.unquote_hint());
            return None;
        };
        number.as_f64()
    }

    /// Returns a duration in Go's syntax.
    pub(crate) fn duration(&self) -> Option<Duration> {
        if let Content::Number(number) = &self.node.content {
            let hint = format!("write {number}s for seconds");
            self.unexpected("a duration like 30s, 5m or 1h30m", &hint);
            return None;
        }
        let parsed = duration::parse(self.text()?);
        parsed
            .inspect_err(|error| self.error(&error.to_string(), ""))
            .ok()
    }

    /// Returns the value that belongs to a keyword.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            let hint = nearest(text, &names).map(|name| format!("did you mean {name:?}?"));
            let message = format!("expected {}, found {text:?}", list_of(&names, "or"));
            self.error(&message, &hint.unwrap_or_default());
        }
        found.map(|(_, choice)| *choice)
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self) -> Option<Vec<Self>> {
        let Content::List(items) = &self.node.content else {
            self.unexpected("a list", "");
            return None;
        };
        let items = items.iter().enumerate();
        let items = items.map(|(index, node)| Self {
            node,
            path: format!("{}[{index}]", self.path),
            diagnostics: self.diagnostics,
        });
        Some(items.collect())
    }

    /// Returns the entries of a map with keys that the user chooses.
    pub(crate) fn entries(&self) -> Option<Vec<(&'a Key, Self)>> {
        let Content::Map(entries) = &self.node.content else {
            self.unexpected("a map", "");
            return None;
        };
        let entries = entries.iter();
        Some(
            entries
                .map(|(key, node)| (key, self.child(&key.name, node)))
                .collect(),
        )
    }

    /// Returns a map of plain values.
    pub(crate) fn map(&self) -> Option<Map<String, Value>> {
        self.entries()?;
        match self.node.to_value() {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns any plain value.
    pub(crate) fn value(&self) -> Value {
        self.node.to_value()
    }

    /// Returns the fields of a map with known keys. Each unknown key adds an error.
    pub(crate) fn fields(&self, keys: Keys) -> Option<Fields<'a>> {
        let Content::Map(entries) = &self.node.content else {
            self.unexpected("a map", "");
            return None;
        };
        let mut fields = Fields {
            map: self.clone(),
            entries: BTreeMap::new(),
            excused: Vec::new(),
        };
        for (key, node) in entries {
            if keys.known.contains(&&*key.name) {
                fields.entries.insert(&key.name, node);
            } else if let Some((_, message, hint)) =
                keys.refused.iter().find(|(name, ..)| *name == key.name)
            {
                self.diagnostics.error(key.position, *message, *hint);
                fields.excused.push(&key.name);
            } else {
                let near = nearest(&key.name, keys.known);
                fields.excused.extend(near);
                let hint = near.map_or_else(
                    || format!("valid keys are {}", list_of(keys.known, "and")),
                    |near| format!("did you mean {near:?}?"),
                );
                let message = format!("unknown key {:?}", key.name);
                self.diagnostics.error(key.position, message, hint);
            }
        }
        Some(fields)
    }

    fn child(&self, key: &str, node: &'a Node) -> Self {
        let mut path = self.path.clone();
        let _ = write!(path, "{}{key}", if path.is_empty() { "" } else { "." });
        Self {
            node,
            path,
            diagnostics: self.diagnostics,
        }
    }

    /// Returns the content. A substituted text is parsed as YAML.
    fn scalar(&self) -> &'a Content {
        match &self.node.content {
            Content::Substituted { read, .. } => read,
            content => content,
        }
    }
}

/// A map with known keys. A key without a value counts as absent.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    map: Item<'a>,
    entries: BTreeMap<&'a str, &'a Node>,
    /// Keys that are not reported as missing, because the file has a wrong spelling of them, which has an
    /// error.
    excused: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    /// Returns the position of the map.
    pub(crate) fn position(&self) -> Position {
        self.map.position()
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Item<'a>> {
        let node = self.entries.get(key)?;
        (node.content != Content::Null).then(|| self.map.child(key, node))
    }

    /// Adds an error at the map; `hint` may be empty.
    pub(crate) fn error(&self, message: &str, hint: &str) {
        self.map.error(message, hint);
    }

    /// Adds an error at a part of the map, such as a key.
    pub(crate) fn error_at(&self, at: Position, message: &str, hint: &str) {
        self.map.error_at(at, message, hint);
    }

    /// Returns whether it has unknown keys. Each of them already has an error.
    pub(crate) fn has_unknown(&self) -> bool {
        match &self.map.node.content {
            Content::Map(entries) => {
                let mut keys = entries.iter().map(|(key, _)| &*key.name);
                !keys.all(|key| self.entries.contains_key(key))
            }
            _ => false,
        }
    }

    /// Returns the value of a required key. The refused key `excuse` replaces it: no second error is
    /// added.
    pub(crate) fn required(&self, key: &str, excuse: Option<&str>) -> Option<Item<'a>> {
        let item = self.get(key);
        let excused = |key: &str| self.excused.contains(&key);
        if item.is_none() && !excused(key) && !excuse.is_some_and(excused) {
            self.map.error(&format!("{key} is missing"), "");
        }
        item
    }
}

/// Returns the candidate that is nearest to a mistyped word.
pub(crate) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let word = plain(word);
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word, &plain(candidate));
    let nearest = candidates
        .iter()
        .min_by_key(|candidate| distance(candidate))?;
    // At most a third of the letters differ. With more, a suggestion would mislead.
    let allowed = word.chars().count().max(3) / 3;
    (distance(nearest) <= allowed).then_some(nearest)
}

/// `a, b or c`
pub(crate) fn list_of(names: &[&str], conjunction: &str) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} {conjunction} {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_ignores_case_and_separators_and_does_not_guess_wildly() {
        let keys = ["role", "reconcilePeriod", "maxConcurrentReconciles", "vars"];
        assert_eq!(nearest("rol", &keys), Some("role"));
        assert_eq!(nearest("reconcile_period", &keys), Some("reconcilePeriod"));
        assert_eq!(nearest("Roles", &keys), Some("role"));
        assert_eq!(nearest("playbook", &keys), None);
        assert_eq!(nearest("x", &keys), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
