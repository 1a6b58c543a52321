//! A compiled script with all modules that it imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use rhai::{AST, Module, Position, Shared};

use super::snippet::{CompiledSnippet, SnippetId, numbers};
use super::sources::resolve;

/// A compiled program. [`super::Engine::compile`] creates it, and a [`super::Job`] runs it.
pub struct Program {
    pub(super) name: String,
    /// The path of the entry among the files.
    pub(super) entry: String,
    pub(super) files: BTreeMap<String, File>,
    /// The texts of the files that contain the snippets, by their names in errors.
    pub(super) texts: BTreeMap<String, Arc<str>>,
    /// The compiled snippets; see [`super::evaluate`].
    pub(super) snippets: Vec<CompiledSnippet>,
    /// The names of variables that closures capture.
    pub(super) captured: BTreeSet<String>,
}

/// One script of a program.
pub(super) struct File {
    /// The name in errors: `web/tasks/main.rhai`.
    pub(super) label: String,
    pub(super) text: Arc<str>,
    pub(super) ast: AST,
    /// True if the file contains only functions, constants and imports of such files. The engine then
    /// evaluates it once for all runs.
    pub(super) fixed: bool,
    pub(super) module: OnceLock<Shared<Module>>,
}

impl Program {
    /// Returns the syntax tree of a snippet.
    pub fn snippet(&self, snippet: SnippetId) -> Option<&AST> {
        self.snippets.get(snippet.0).map(|compiled| &compiled.ast)
    }

    /// Returns all its snippets.
    pub fn snippets(&self) -> impl Iterator<Item = SnippetId> {
        (0..self.snippets.len()).map(SnippetId)
    }

    /// Returns the path within the role of the file that contains a snippet, and the line and column in
    /// that file of a position in the snippet. They are 0 if they are unknown.
    pub fn locate(&self, snippet: SnippetId, position: Position) -> (&str, usize, usize) {
        let Some(compiled) = self.snippets.get(snippet.0) else {
            return ("", 0, 0);
        };
        let file = compiled.file.strip_prefix(&*self.name);
        let file = file.and_then(|file| file.strip_prefix('/'));
        let (line, column) = compiled.file_position(position);
        (file.unwrap_or(&compiled.file), line, column)
    }

    /// Returns the path of the script that an import in a file means. A snippet imports as the entry does.
    pub fn module(&self, importer: Option<&str>, import: &str) -> Option<&str> {
        let paths = self.files.keys().map(String::as_str);
        let importer = importer.unwrap_or(&self.entry);
        let path = resolve(paths, &self.entry, importer, import).ok()?;
        self.files.get_key_value(&path).map(|(path, _)| &**path)
    }

    /// Returns the line and column of a position in a script. They are 0 if they are unknown.
    pub fn line_and_column(position: Position) -> (usize, usize) {
        numbers(position)
    }

    /// Returns the text of a script by its path within the role.
    pub fn source(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| &*file.text)
    }

    /// Returns the name of the program, which is the name of its role.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the compiled scripts by path, the entry first, for tools that analyze programs.
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

    /// Returns the text of a file by its name in errors.
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
