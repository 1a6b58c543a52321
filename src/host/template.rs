//! A role's Jinja templates, set like Ansible's.

use minijinja::{Environment, UndefinedBehavior};

/// Sets an environment up for a role's templates.
///
/// As in Ansible: a block's newline goes, a file's last newline stays, nothing is escaped, and an
/// undefined variable is an error that names it.
pub fn configure(environment: &mut Environment<'_>) {
    let syntax = environment
        .syntax()
        .to_builder()
        .trim_blocks(true)
        .keep_trailing_newline(true)
        .build();
    if let Ok(syntax) = syntax {
        environment.set_syntax(syntax);
    }
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_debug(true);
}
