//! Parses `watches.yaml`: the watched kinds, and the role that serves each.
//!
//! The file, a tree of values with positions, becomes a list of [`Watch`]es. One pass reports all errors, each
//! with its position. It reads only the text and the given [`Environment`]. The keys are those of the Ansible
//! operator, and some of this operator.

mod concurrency;
mod differences;
mod entry;
mod environment;
mod namespaces;
mod schema;
mod selector;
mod substitute;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use entry::EntryContext;
use substitute::substitute;

pub use environment::Environment;
pub use schema::schema;
pub use watch::{Conditions, Finalizer, FinalizerFailure, Namespaces, OnDelete, Watch};

use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item};
use crate::model::yaml::Content;
use crate::regular_file;

/// A parsed watches.yaml.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watches {
    /// The entries in the order of the file. If `problems` contains errors, they contain placeholders and must
    /// not be served.
    pub entries: Vec<Arc<Watch>>,
    /// Errors, warnings and notes, such as differences from the Ansible operator.
    pub problems: Vec<Diagnostic>,
}

impl Watches {
    /// Returns whether the file has errors.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error)
    }
}

/// Reads and parses a watches.yaml.
pub fn load(path: &Path, environment: &Environment) -> Watches {
    match regular_file::read_text(path) {
        Ok(text) => parse(path, &text, environment),
        Err(error) => Watches {
            problems: vec![Diagnostic::error(
                path,
                0,
                0,
                format!("cannot read: {error}"),
            )],
            ..Watches::default()
        },
    }
}

/// Parses the text of a watches.yaml; messages name `path`.
pub fn parse(path: &Path, text: &str, environment: &Environment) -> Watches {
    let findings = Diagnostics::new(path);
    Watches {
        entries: parse_entries(text, environment, &findings),
        problems: findings.into_vec(),
    }
}

/// Returns a note for each default of the file that differs from that of the Ansible operator. `path` is the file.
pub fn ansible_defaults(path: &Path) -> Vec<Diagnostic> {
    let findings = Diagnostics::new(path);
    let text = regular_file::read_text(path).unwrap_or_default();
    if let Some(root) = findings.parse(&text)
        && let Content::List(nodes) = &root.content
    {
        differences::add_default_notes(nodes, &findings);
    }
    // An invalid file has been reported when it was loaded.
    let notes = findings.into_vec().into_iter();
    notes.filter(|note| !note.is_error()).collect()
}

/// Returns the entries of a text that have a valid kind, and reports all errors.
fn parse_entries(text: &str, environment: &Environment, findings: &Diagnostics) -> Vec<Arc<Watch>> {
    let Some(root) = findings.parse(text) else {
        return Vec::new();
    };
    let root = substitute(root, environment, findings);
    let Content::List(nodes) = &root.content else {
        let message = format!("expected a list of watches, found {}", root.content.kind());
        findings.error(
            root.position,
            message,
            "begin each watch with a dash: - group: …",
        );
        return Vec::new();
    };
    if nodes.is_empty() {
        findings.warning(
            root.position,
            "the list of watches is empty",
            "add a kind: rhai-operator new api KIND --group GROUP",
        );
    }
    refuse_unreadable(environment, findings);
    let namespaces = namespaces::from_environment(environment, findings);
    let context = EntryContext {
        environment,
        namespaces: &namespaces,
        findings,
    };
    let entries = nodes.iter().map(|node| Item::root(node, findings));
    let watches: Vec<_> = entries
        .filter_map(|entry| entry::parse(&entry, &context))
        .collect();
    refuse_duplicates(&watches, findings);
    concurrency::warn_of_unused(&watches, environment, findings);
    if !findings.has_errors() {
        differences::add_key_notes(nodes, findings);
    }
    watches.into_iter().map(Arc::new).collect()
}

/// Reports the variables of the operator that are not UTF-8. If they counted as unset, the operator would watch
/// all namespaces, for example.
fn refuse_unreadable(environment: &Environment, findings: &Diagnostics) {
    for name in environment.unreadable() {
        if name == namespaces::VARIABLE || name.starts_with(concurrency::PREFIX) {
            let message = format!("{name}: expected UTF-8, found other bytes");
            let hint = "correct the environment variable";
            findings.error(crate::model::yaml::Position::default(), message, hint);
        }
    }
}

/// Reports two watches of one kind, because two roles would run for each object.
fn refuse_duplicates(watches: &[Watch], findings: &Diagnostics) {
    let mut lines = BTreeMap::new();
    for watch in watches {
        if let Some(line) = lines.insert(&watch.gvk, watch.position.line) {
            let message = format!("duplicate watch of {}", watch.gvk);
            let hint = format!("remove this entry or the one on line {line}");
            findings.error(watch.position, message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
