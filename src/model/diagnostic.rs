//! Errors, warnings and notes on files of a user.

use std::fmt;
use std::path::PathBuf;

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The role or project cannot be loaded.
    Error,
    /// It works, but probably not as meant.
    Warning,
    /// Worth knowing, e.g. a difference from the Ansible operator.
    Note,
}

/// An error, a warning or a note: `file:line:column: message`, and a hint.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The file as the user names it.
    pub file: PathBuf,
    /// Line from 1; 0 when the whole file is meant.
    #[serde(skip_serializing_if = "is_whole")]
    pub line: usize,
    /// Column from 1, in characters; 0 when the whole line is meant.
    #[serde(skip_serializing_if = "is_whole")]
    pub column: usize,
    /// The message, in lower case and without a period.
    pub message: String,
    /// The next step, such as the nearest valid key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Returns whether a line or a column names no place.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_whole(place: &usize) -> bool {
    *place == 0
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(
        file: impl Into<PathBuf>,
        line: usize,
        column: usize,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            file: file.into(),
            line,
            column,
            message: message.into(),
            hint: None,
        }
    }

    /// Returns whether nothing starts with it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `watches.yaml:3:5: error: unknown key "rol"`, and on a second line `  hint: …`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(f, ": {severity}: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
