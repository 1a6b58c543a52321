//! Jinja templates of a role, with the settings of Ansible.
//!
//! A value is data: it is never rendered as a template.

mod bounds;
mod filters;
mod functions;
mod limits;
mod manifest;
mod methods;
mod placeholders;
mod render;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior, Value};

pub(super) use self::functions::module;
pub(crate) use self::functions::to_objects;
use self::limits::FUEL;
pub use self::render::{render, render_objects};

/// Configures an environment for a role's templates.
///
/// As in Ansible, the newline after a block is removed, the last newline of a file stays, nothing is escaped,
/// and an undefined variable is an error that names it.
pub fn configure(environment: &mut Environment<'_>) {
    environment.set_syntax(syntax());
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // With automatic escaping, the engine marks text that a `{% set %}` block or a macro rendered as safe,
    // so that this module can distinguish it from data.
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("yaml".into()));
    environment.set_unknown_method_callback(methods::call);
    environment.set_formatter(format_bounded);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    bounds::add(environment);
    filters::add(environment);
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .keep_trailing_newline(true)
        .build()
        // It fails for delimiters that begin alike; these are the usual ones.
        .unwrap_or_default()
}

/// Writes a value.
fn format_bounded(output: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    limits::write(value)?;
    placeholders::write(output, value)
}

#[cfg(test)]
mod tests;
