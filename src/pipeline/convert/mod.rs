//! Converts a pipeline to the script that does the same.
//!
//! A script executes one statement after the other, so some behavior of a pipeline has no equivalent. The
//! comments of the script name it.

mod action;
mod code;
mod context;
mod helper;
mod nested;
mod split_script;
mod steps;
mod string_fields;
mod writer;

use minijinja::Environment;

use self::context::Context;
use self::writer::ScriptWriter;
use super::step::Pipeline;

/// Returns the script that does what a pipeline does. `templates` are those of its role; `variables` are
/// those that every script sees.
pub fn convert(
    pipeline: &Pipeline,
    templates: &Environment<'static>,
    variables: &[&'static str],
) -> String {
    let mut script = ScriptWriter::new(&pipeline.program, templates, variables);
    script.steps(&pipeline.steps, Context::default());
    script.finish()
}
