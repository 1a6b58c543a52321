//! Errors, warnings and notes about the user's files.

use std::fmt;
use std::path::PathBuf;

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The role or project cannot be loaded.
    Error,
    /// Valid, but probably not what the user means.
    Warning,
    /// Information, such as a difference from the Ansible operator.
    Note,
}

/// An error, a warning or a note: `file:line:column: message`, and a hint.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The path of the file as the user named it.
    pub file: PathBuf,
    /// Line from 1; 0 if the diagnostic is about the whole file.
    #[serde(skip_serializing_if = "is_whole")]
    pub line: usize,
    /// Column from 1, in characters; 0 if the diagnostic is about the whole line.
    #[serde(skip_serializing_if = "is_whole")]
    pub column: usize,
    /// The message, in lower case and without a period.
    pub message: String,
    /// The next step, such as the nearest valid key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Returns whether a line or column number is 0, which means that it is not known.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_whole(place: &usize) -> bool {
    *place == 0
}

impl Diagnostic {
    /// Creates an error at a position.
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

    /// Returns whether it is an error.
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
