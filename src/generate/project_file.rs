//! Files of a project, rendered from templates.

use std::path::PathBuf;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;

/// A file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectFile {
    /// The path relative to a folder, which is that of the project in most cases.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl ProjectFile {
    pub(super) fn render(
        path: impl Into<PathBuf>,
        template: &str,
        values: &minijinja::Value,
    ) -> Result<Self, minijinja::Error> {
        Ok(Self {
            path: path.into(),
            text: render(template, values)?,
        })
    }
}

/// Renders a template of this program.
pub(super) fn render(
    template: &str,
    values: &minijinja::Value,
) -> Result<String, minijinja::Error> {
    let mut environment = Environment::empty();
    environment.set_syntax(
        SyntaxConfig::builder()
            .keep_trailing_newline(true)
            .build()?,
    );
    environment.render_str(template, values)
}
