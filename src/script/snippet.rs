//! Snippets: expressions and scripts inside another file, such as the strings of a pipeline.
//!
//! Errors in a snippet, at load and at run time, have their positions in the file that contains it.

use std::sync::Arc;

use rhai::{AST, Position};

/// The index of a snippet in a [`super::Program`], for [`super::evaluate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnippetId(pub(super) usize);

impl SnippetId {
    /// Creates the identifier of the snippet with this index.
    pub fn new(index: usize) -> Self {
        Self(index)
    }
}

/// Code inside another file, before compilation.
#[derive(Clone, Debug)]
pub struct Snippet {
    /// The syntax: an expression, statements, or a whole script file.
    pub form: SnippetForm,
    /// The path within the role of the file that contains the snippet.
    pub file: Arc<str>,
    /// The code without the escapes of the file; empty for a script file.
    pub text: Arc<str>,
    /// The positions of the characters of `text` in the file.
    pub positions: PositionMap,
    /// Variables that the snippet sees in addition to those of every script.
    pub variables: Arc<[&'static str]>,
    /// Variables that exist only elsewhere, with the places for a hint.
    pub elsewhere: &'static [(&'static str, &'static str)],
}

/// The syntax of a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetForm {
    /// One expression.
    Expression,
    /// Statements and functions. The value is that of the last statement.
    Script,
    /// A whole script file of the program.
    File,
}

/// A map from characters of a snippet to positions in its file, as an ordered list of contiguous pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionMap(Vec<(usize, usize, usize)>);

impl PositionMap {
    /// Adds the position of the character at `index` and of the following ones on its line. Line and column
    /// begin at 1. Indices must increase.
    pub fn add(&mut self, index: usize, line: usize, column: usize) {
        let follows = self
            .0
            .last()
            .is_some_and(|&(start, at, from)| at == line && column == from + (index - start));
        if !follows {
            self.0.push((index, line, column));
        }
    }

    /// Returns the positions of the text that begins at an index.
    #[must_use]
    pub fn after(&self, index: usize) -> Self {
        let (line, column) = self.position_at(index);
        let later = self.0.iter().filter(|(start, ..)| *start > index);
        let later = later.map(|&(start, line, column)| (start - index, line, column));
        Self(std::iter::once((0, line, column)).chain(later).collect())
    }

    /// Returns line and column of the character at `index`; zeros if they are not known.
    pub fn position_at(&self, index: usize) -> (usize, usize) {
        let after = self.0.partition_point(|&(start, ..)| start <= index);
        match after.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(&(start, line, column)) => (line, column + (index - start)),
            None => (0, 0),
        }
    }
}

/// A compiled snippet.
pub(super) struct CompiledSnippet {
    /// The name of the source in the engine.
    pub(super) label: String,
    /// The name of the containing file in errors.
    pub(super) file: String,
    /// The text of a snippet, with its positions; `None` for a script file.
    pub(super) source: Option<(Arc<str>, PositionMap)>,
    pub(super) ast: AST,
}

impl CompiledSnippet {
    /// Returns the name of the snippet in a call chain.
    pub(super) fn name(&self) -> &'static str {
        match self.source {
            Some(_) => "an expression",
            None => "a script",
        }
    }

    /// Returns line and column in the containing file.
    pub(super) fn file_position(&self, position: Position) -> (usize, usize) {
        match &self.source {
            Some((text, positions)) => to_file_position(text, positions, numbers(position)),
            None => numbers(position),
        }
    }
}

/// Returns line and column; 0 if they are not known.
pub(super) fn numbers(position: Position) -> (usize, usize) {
    let (line, column) = (position.line(), position.position());
    (line.unwrap_or(0), column.unwrap_or(0))
}

/// Converts line and column of a snippet to line and column of the containing file.
pub(super) fn to_file_position(
    text: &str,
    positions: &PositionMap,
    (line, column): (usize, usize),
) -> (usize, usize) {
    let above: usize = text
        .split('\n')
        .take(line.saturating_sub(1))
        .map(|line| line.chars().count() + 1)
        .sum();
    positions.position_at(above + column.saturating_sub(1))
}
