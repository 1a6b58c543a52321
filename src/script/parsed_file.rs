//! The parsed files of a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{AST, Position};

/// Files by path; `None` if a file could not be parsed.
pub(super) type Files = BTreeMap<String, Option<ParsedFile>>;

/// A parsed file, with its imports.
pub(super) struct ParsedFile {
    pub(super) ast: AST,
    pub(super) text: Arc<str>,
    pub(super) label: String,
    /// The alias and the path of each import.
    pub(super) imports: Vec<(String, String)>,
}

/// An import statement.
pub(super) struct Import {
    /// The imported path; `None` if it is computed.
    pub(super) name: Option<String>,
    pub(super) alias: String,
    pub(super) position: Position,
}
