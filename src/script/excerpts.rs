//! Excerpts → program: each is compiled as if it were a file, and what is wrong is told with its place
//! in the file around it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compile::{self, Files, Loading, Syntax};
use super::engine::Engine;
use super::fragment::{Compiled, Excerpt, Form, around};
use super::program::Program;
use super::sources::Sources;
use crate::model::Diagnostic;

/// A program whose n-th fragment is the n-th excerpt, and all that is wrong; with errors among that, some
/// fragments are empty and the program must not be run. Modules are looked for beside `entry`.
pub(super) fn compile(
    engine: &Engine,
    sources: &Sources,
    entry: &str,
    excerpts: &[Excerpt],
) -> (Program, Vec<Diagnostic>) {
    // A module is one for all excerpts that import it.
    let variables: BTreeSet<_> = excerpts.iter().flat_map(|one| &*one.variables).collect();
    let variables = variables.into_iter().copied().collect();
    let mut loading = Loading::new(engine, sources, entry).with_variables(variables);
    for (index, excerpt) in excerpts.iter().enumerate() {
        let path = path(index, excerpt);
        let syntax = Syntax {
            expression: excerpt.form == Form::Expression,
            variables: &excerpt.variables,
            elsewhere: excerpt.elsewhere,
        };
        if !loading.knows(&path) {
            loading.load_text(&path, text(sources, excerpt), syntax, &mut Vec::new());
        }
    }
    let (mut files, problems) = loading.finish();
    let captured = compile::captured(&files);
    let fragments: Vec<_> = excerpts
        .iter()
        .enumerate()
        .map(|(index, excerpt)| fragment(sources, &mut files, &path(index, excerpt), excerpt))
        .collect();
    let program = Program {
        name: sources.name.clone(),
        entry: entry.to_owned(),
        texts: texts(sources, excerpts),
        captured,
        files: compile::with_fixed(files),
        fragments,
    };
    let problems = problems.into_iter();
    let problems = problems.map(|problem| placed(problem, sources, excerpts));
    (program, compile::sorted(problems.collect()))
}

/// Returns the path of a script file, or the stand-in for the path of an excerpt.
fn path(index: usize, excerpt: &Excerpt) -> String {
    match excerpt.form {
        Form::File => excerpt.file.to_string(),
        Form::Expression | Form::Script => format!("{}#{index}", excerpt.file),
    }
}

fn text(sources: &Sources, excerpt: &Excerpt) -> Arc<str> {
    match excerpt.form {
        Form::File => sources.text(&excerpt.file).unwrap_or_default(),
        Form::Expression | Form::Script => excerpt.text.clone(),
    }
}

/// Takes an excerpt from the files; a script file stays among them, it may also be a module.
fn fragment(sources: &Sources, files: &mut Files, path: &str, excerpt: &Excerpt) -> Compiled {
    let loaded = files.get(path).and_then(Option::as_ref);
    let ast = loaded.map(|loaded| loaded.ast.clone()).unwrap_or_default();
    let inner = excerpt.form != Form::File;
    if inner {
        files.remove(path);
    }
    Compiled {
        label: compile::label(sources, path),
        file: compile::label(sources, &excerpt.file),
        excerpt: inner.then(|| (excerpt.text.clone(), excerpt.places.clone())),
        ast,
    }
}

fn texts(sources: &Sources, excerpts: &[Excerpt]) -> BTreeMap<String, Arc<str>> {
    let excerpts = excerpts.iter();
    excerpts
        .filter_map(|excerpt| {
            let text = sources.text(&excerpt.file)?;
            Some((compile::label(sources, &excerpt.file), text))
        })
        .collect()
}

/// A problem of an excerpt with its place in the file around it.
fn placed(mut problem: Diagnostic, sources: &Sources, excerpts: &[Excerpt]) -> Diagnostic {
    let name = problem.file.to_str().and_then(|file| file.rsplit_once('#'));
    let index = name.and_then(|(_, index)| index.parse::<usize>().ok());
    let Some(excerpt) = index.and_then(|index| excerpts.get(index)) else {
        return problem;
    };
    problem.file = sources.folder.join(&*excerpt.file);
    let inner = (problem.line, problem.column);
    (problem.line, problem.column) = around(&excerpt.text, &excerpt.places, inner);
    problem
}
