//! Compiles snippets to one program, each as if it were a file. Diagnostics have positions in the files
//! that contain the snippets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compile::{self, ProgramLoader, Syntax};
use super::engine::Engine;
use super::parsed_file::Files;
use super::program::Program;
use super::snippet::{CompiledSnippet, Snippet, SnippetForm, to_file_position};
use super::sources::{Sources, label};
use crate::model::Diagnostic;

impl Engine {
    /// Compiles snippets of other files, which `sources` contains too, and each module that they import, which
    /// is looked for beside `entry`. [`super::snippet::SnippetId`] is the index of a snippet. Also returns the diagnostics. If
    /// there are errors among them, the program must not be run.
    pub fn compile_snippets(
        &self,
        sources: &Sources,
        entry: &str,
        snippets: &[Snippet],
    ) -> (Program, Vec<Diagnostic>) {
        // All snippets that import a module share it, so that it sees the variables of all.
        let variables: BTreeSet<_> = snippets.iter().flat_map(|one| &*one.variables).collect();
        let variables = variables.into_iter().copied().collect();
        let mut loading = ProgramLoader::new(self, sources, entry).with_variables(variables);
        for (index, snippet) in snippets.iter().enumerate() {
            let path = snippet_path(index, snippet);
            let syntax = Syntax {
                expression: snippet.form == SnippetForm::Expression,
                variables: &snippet.variables,
                elsewhere: snippet.elsewhere,
            };
            if !loading.contains(&path) {
                loading.load_text(&path, text(sources, snippet), syntax, &mut Vec::new());
            }
        }
        let (mut files, problems) = loading.finish();
        let captured = compile::captured(&files);
        let compiled: Vec<_> = snippets
            .iter()
            .enumerate()
            .map(|(index, snippet)| {
                compiled_snippet(sources, &mut files, &snippet_path(index, snippet), snippet)
            })
            .collect();
        let program = Program {
            name: sources.name.clone(),
            entry: entry.to_owned(),
            texts: texts(sources, snippets),
            captured,
            files: compile::with_fixed(files),
            snippets: compiled,
        };
        let problems = problems.into_iter();
        let problems = problems.map(|problem| at_file_position(problem, sources, snippets));
        (program, compile::sort_diagnostics(problems.collect()))
    }
}

/// Returns the path of a script file, or an artificial path for a snippet.
fn snippet_path(index: usize, snippet: &Snippet) -> String {
    match snippet.form {
        SnippetForm::File => snippet.file.to_string(),
        SnippetForm::Expression | SnippetForm::Script => format!("{}#{index}", snippet.file),
    }
}

fn text(sources: &Sources, snippet: &Snippet) -> Arc<str> {
    match snippet.form {
        SnippetForm::File => sources.text(&snippet.file).unwrap_or_default(),
        SnippetForm::Expression | SnippetForm::Script => snippet.text.clone(),
    }
}

/// Takes a snippet out of the files. A script file stays, because it can also be a module.
fn compiled_snippet(
    sources: &Sources,
    files: &mut Files,
    path: &str,
    snippet: &Snippet,
) -> CompiledSnippet {
    let loaded = files.get(path).and_then(Option::as_ref);
    let ast = loaded.map(|loaded| loaded.ast.clone()).unwrap_or_default();
    let inner = snippet.form != SnippetForm::File;
    if inner {
        files.remove(path);
    }
    CompiledSnippet {
        label: label(sources, path),
        file: label(sources, &snippet.file),
        source: inner.then(|| (snippet.text.clone(), snippet.positions.clone())),
        ast,
    }
}

fn texts(sources: &Sources, snippets: &[Snippet]) -> BTreeMap<String, Arc<str>> {
    let snippets = snippets.iter();
    snippets
        .filter_map(|snippet| {
            let text = sources.text(&snippet.file)?;
            Some((label(sources, &snippet.file), text))
        })
        .collect()
}

/// Converts the position of a diagnostic to the file that contains the snippet.
fn at_file_position(
    mut problem: Diagnostic,
    sources: &Sources,
    snippets: &[Snippet],
) -> Diagnostic {
    let name = problem.file.to_str().and_then(|file| file.rsplit_once('#'));
    let index = name.and_then(|(_, index)| index.parse::<usize>().ok());
    let Some(snippet) = index.and_then(|index| snippets.get(index)) else {
        return problem;
    };
    problem.file = sources.folder.join(&*snippet.file);
    let inner = (problem.line, problem.column);
    (problem.line, problem.column) = to_file_position(&snippet.text, &snippet.positions, inner);
    problem
}
