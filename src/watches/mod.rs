//! `watches.yaml`: which kinds are watched and which role serves each.
//!
//! Two steps: the file as it was typed (a tree of values with positions) becomes what is meant, a list
//! of [`Watch`]es. Every error of the file is found in one pass, each with its place; nothing is read
//! but the text and the [`Environment`] handed in. The keys are the Ansible operator's and ours.

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

use entry::Surroundings;
use substitute::substitute;

pub use environment::Environment;
pub use schema::schema;
pub use watch::{Conditions, Finalizer, FinalizerFailure, Namespaces, OnDelete, Watch};

use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item};
use crate::model::yaml::Content;
use crate::regular_file;

/// What a watches.yaml means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watches {
    /// The entries in the order of the file; with errors among the problems, placeholders stand in for
    /// what is wrong, and they may not be served.
    pub entries: Vec<Arc<Watch>>,
    /// What was found: errors, warnings, and notes, e.g. differences from the Ansible operator.
    pub problems: Vec<Diagnostic>,
}

impl Watches {
    /// Returns whether the entries may not be served.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error)
    }
}

/// Reads a watches.yaml; all its errors at once.
pub fn load(path: &Path, environment: &Environment) -> Watches {
    match regular_file::read_text(path) {
        Ok(text) => parse(path, &text, environment),
        Err(error) => Watches {
            problems: vec![Diagnostic::error(
                path,
                0,
                0,
                format!("cannot be read: {error}"),
            )],
            ..Watches::default()
        },
    }
}

/// The same of a text; `path` is for the messages.
pub fn parse(path: &Path, text: &str, environment: &Environment) -> Watches {
    let findings = Diagnostics::new(path);
    Watches {
        entries: read(text, environment, &findings),
        problems: findings.into_vec(),
    }
}

/// The entries of a text whose kind is known; everything else is noted.
fn read(text: &str, environment: &Environment, findings: &Diagnostics) -> Vec<Arc<Watch>> {
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
        findings.warning(root.position, "nothing is watched: the list is empty", "");
    }
    let namespaces = namespaces::of(environment, findings);
    let around = Surroundings {
        environment,
        namespaces: &namespaces,
        findings,
    };
    let entries = nodes.iter().map(|node| Item::root(node, findings));
    let watches: Vec<_> = entries
        .filter_map(|entry| entry::read(&entry, &around))
        .collect();
    refuse_duplicates(&watches, findings);
    concurrency::unused(&watches, environment, findings);
    if !findings.has_errors() {
        differences::note(nodes, findings);
    }
    watches.into_iter().map(Arc::new).collect()
}

/// Two watches of one kind would run two roles for each object.
fn refuse_duplicates(watches: &[Watch], findings: &Diagnostics) {
    let mut lines = BTreeMap::new();
    for watch in watches {
        if let Some(line) = lines.insert(&watch.gvk, watch.position.line) {
            let message = format!("{} is watched twice", watch.gvk);
            let hint = format!("the other entry is on line {line}");
            findings.error(watch.position, message, hint);
        }
    }
}

#[cfg(test)]
mod tests;
