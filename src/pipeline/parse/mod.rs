//! Parses files of steps, and reports all errors with their positions.
//!
//! [`parser`] holds the state of a pipeline, [`values`] the state of one step. `step` parses the keys of
//! a step, `action`, `apply` and `delete` what the step does, `include` the files that it includes.

mod action;
mod apply;
mod delete;
mod include;
mod parser;
mod query;
mod slots;
mod step;
mod string_positions;
mod values;

use std::sync::Arc;

use self::parser::{InheritedScope, Parser};
use super::parsed::{ParsedPipeline, StepList};
use crate::role_files::RoleFiles;
use crate::script::Engine;

/// The role that a pipeline belongs to.
#[derive(Clone, Copy)]
pub(super) struct ParseInput<'a> {
    pub(super) files: &'a RoleFiles,
    pub(super) templates: &'a minijinja::Environment<'static>,
    pub(super) engine: &'a Engine,
    /// The name of the role.
    pub(super) role: &'a str,
}

/// Parses the pipeline that begins with a file of the role.
pub(super) fn parse(input: ParseInput<'_>, entry: &str) -> ParsedPipeline {
    let mut parser = Parser::new(input.files, input.templates, input.engine, input.role);
    let path = Arc::from(entry);
    let steps = parser.steps_of_file(&path, &[], &InheritedScope::default());
    let steps = steps.unwrap_or_else(|| StepList {
        number: 0,
        file: path,
        steps: Vec::new(),
    });
    ParsedPipeline {
        steps,
        snippets: parser.snippets,
        files: parser.parsed_files,
        problems: parser.problems,
    }
}
