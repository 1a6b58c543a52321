//! The state that the files of a pipeline share while they are parsed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item, list_of, nearest};
use crate::model::yaml::Position;
use crate::pipeline::parsed::StepList;
use crate::pipeline::scope::{self, Scope};
use crate::pipeline::tree::SourceLocation;
use crate::role_files::RoleFiles;
use crate::script::{Engine, PositionMap, Snippet, SnippetForm, SnippetId};

/// The parser of one pipeline.
pub(super) struct Parser<'a> {
    pub(super) role_files: &'a RoleFiles,
    pub(super) templates: &'a minijinja::Environment<'static>,
    pub(super) engine: &'a Engine,
    /// The name of the role.
    role: &'a str,
    /// The code that was found; the n-th is snippet n of the program.
    pub(super) snippets: Vec<Snippet>,
    /// The number of the next list of steps.
    next_list: usize,
    pub(super) parsed_files: BTreeSet<Arc<str>>,
    pub(super) problems: Vec<Diagnostic>,
}

/// A file of steps that is being parsed.
#[derive(Clone, Copy)]
pub(super) struct File<'f> {
    /// Its path within the role.
    pub(super) path: &'f Arc<str>,
    pub(super) text: &'f str,
    pub(super) findings: &'f Diagnostics,
    /// The files whose `include` led here, and this one.
    pub(super) ancestors: &'f [Arc<str>],
}

/// The scope and the tags that steps inherit from the step that contains them.
#[derive(Clone, Debug, Default)]
pub(super) struct InheritedScope {
    pub(super) scope: Scope,
    pub(super) tags: BTreeSet<Arc<str>>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(
        role_files: &'a RoleFiles,
        templates: &'a minijinja::Environment<'static>,
        engine: &'a Engine,
        role: &'a str,
    ) -> Self {
        Self {
            role_files,
            templates,
            engine,
            role,
            snippets: Vec::new(),
            next_list: 0,
            parsed_files: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Returns a list without steps.
    pub(super) fn new_list(&mut self, file: File<'_>) -> StepList {
        let number = self.next_list;
        self.next_list += 1;
        StepList {
            number,
            file: Arc::clone(file.path),
            steps: Vec::new(),
        }
    }

    /// Returns a location as errors of a run name it.
    pub(super) fn location(&self, file: File<'_>, at: Position) -> SourceLocation {
        SourceLocation {
            file: format!("{}/{}", self.role, file.path).into(),
            line: at.line,
            column: at.column,
        }
    }

    /// Adds a piece of code that is written in a file.
    pub(super) fn add_code(
        &mut self,
        file: File<'_>,
        positions: PositionMap,
        code: &str,
        (form, scope): (SnippetForm, Scope),
    ) -> SnippetId {
        self.add_snippet(Snippet {
            form,
            file: Arc::clone(file.path),
            text: code.into(),
            positions,
            variables: scope.variables().into(),
            elsewhere: scope::PLACES,
        })
    }

    /// Adds a script file.
    pub(super) fn add_script_file(&mut self, path: &Arc<str>, scope: Scope) -> SnippetId {
        self.add_snippet(Snippet {
            form: SnippetForm::File,
            file: Arc::clone(path),
            text: "".into(),
            positions: PositionMap::default(),
            variables: scope.variables().into(),
            elsewhere: scope::PLACES,
        })
    }

    fn add_snippet(&mut self, snippet: Snippet) -> SnippetId {
        let id = SnippetId::new(self.snippets.len());
        self.snippets.push(snippet);
        id
    }

    /// Returns whether a folder of the role contains a file; reports an error if not.
    pub(super) fn file_exists(&self, folder: &str, path: &str, item: &Item<'_>) -> bool {
        let names: Vec<_> = self
            .role_files
            .below(folder)
            .map(|(name, _)| name)
            .collect();
        if names.contains(&path) {
            return true;
        }
        let hint = match nearest(path, &names) {
            Some(near) => format!("did you mean {near:?}?"),
            None if names.is_empty() => format!("create the file: {folder}/ of the role is empty"),
            None if names.len() > 9 => String::new(),
            None => format!("use {}", list_of(&names, "or")),
        };
        item.error(&format!("cannot find {folder}/{path}"), &hint);
        false
    }
}
