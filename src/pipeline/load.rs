//! Loads a pipeline in three phases: parse, compile, resolve. Reports the errors of all phases at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parse::{self, ParseInput};
use super::parsed::ParsedPipeline;
use super::resolve::resolve;
use super::step::Pipeline;
use crate::model::Diagnostic;
use crate::role_files::RoleFiles;
use crate::script::{Engine, Sources};

/// The role that a pipeline is loaded from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) files: &'a RoleFiles,
    pub(crate) templates: &'a minijinja::Environment<'static>,
    pub(crate) engine: &'a Engine,
    /// The files of `tasks/`.
    pub(crate) sources: &'a Sources,
    /// The name of the role.
    pub(crate) role: &'a str,
}

/// The result of loading a pipeline.
pub(crate) struct LoadedPipeline {
    /// None if a step has no valid action. Must not be executed if `problems` contains errors.
    pub(crate) pipeline: Option<Pipeline>,
    pub(crate) problems: Vec<Diagnostic>,
    /// The files of steps and scripts that it consists of, by their path within the role.
    pub(crate) files: BTreeSet<Arc<str>>,
}

/// Loads the pipeline that begins with a file of the role.
pub(crate) fn load(source: Source<'_>, entry: &str) -> LoadedPipeline {
    let input = ParseInput {
        files: source.files,
        templates: source.templates,
        engine: source.engine,
        role: source.role,
    };
    let ParsedPipeline {
        steps,
        snippets,
        mut files,
        mut problems,
    } = parse::parse(input, entry);
    let (program, compile_problems) =
        source
            .engine
            .compile_snippets(source.sources, entry, &snippets);
    problems.extend(compile_problems);
    files.extend(snippets.iter().map(|snippet| Arc::clone(&snippet.file)));
    files.extend(program.scripts().map(|(path, _)| Arc::from(path)));
    let (steps, unresolved) = resolve(steps, &program, &source.files.path);
    problems.extend(unresolved);
    let program = Arc::new(program);
    LoadedPipeline {
        pipeline: steps.map(|steps| Pipeline { program, steps }),
        problems,
        files,
    }
}
