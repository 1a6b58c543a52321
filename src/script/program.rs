//! A compiled script with all modules that it reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use rhai::{AST, Module, Shared};

use super::snippet::{CompiledSnippet, SnippetId};

/// A compiled program, made by [`super::Engine::compile`] and run by a [`super::Job`].
pub struct Program {
    pub(super) name: String,
    /// The path of the entry among the files.
    pub(super) entry: String,
    pub(super) files: BTreeMap<String, File>,
    /// Texts of the files that fragments are in, by what errors call them.
    pub(super) texts: BTreeMap<String, Arc<str>>,
    /// The fragments in other files; see [`super::evaluate`].
    pub(super) snippets: Vec<CompiledSnippet>,
    /// Names of variables that closures capture.
    pub(super) captured: BTreeSet<String>,
}

/// One script of a program.
pub(super) struct File {
    /// `web/tasks/main.rhai`: what errors call it.
    pub(super) label: String,
    pub(super) text: Arc<str>,
    pub(super) ast: AST,
    /// Nothing but functions, constants and imports of such: evaluated once, for all runs.
    pub(super) fixed: bool,
    pub(super) module: OnceLock<Shared<Module>>,
}

impl Program {
    /// The code of a fragment.
    pub fn fragment(&self, fragment: SnippetId) -> Option<&AST> {
        self.snippets.get(fragment.0).map(|compiled| &compiled.ast)
    }

    /// The text of a script by its path within the role.
    pub fn source(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| &*file.text)
    }

    /// The name that its sources gave it: the role's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The compiled scripts by path, the entry first: for tools that read programs.
    pub fn scripts(&self) -> impl Iterator<Item = (&str, &AST)> {
        let entry = self.files.get_key_value(&self.entry);
        let others = self.files.iter().filter(|(path, _)| **path != self.entry);
        entry
            .into_iter()
            .chain(others)
            .map(|(path, file)| (path.as_str(), &file.ast))
    }

    /// Returns the name of the entry in errors.
    pub(super) fn entry(&self) -> &str {
        self.files
            .get(&self.entry)
            .map_or(&self.name, |file| &file.label)
    }

    /// The text of a file by what errors call it.
    pub(super) fn text(&self, label: &str) -> Option<&str> {
        let mut files = self.files.values();
        let file = files.find(|file| file.label == label);
        let text = file.map(|file| &file.text);
        text.or_else(|| self.texts.get(label)).map(AsRef::as_ref)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({}: {:?})", self.name, self.files.keys())
    }
}
