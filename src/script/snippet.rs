//! Expressions and scripts that are written inside another file, e.g. in the strings of a YAML file.
//!
//! A program holds any number of them beside its files. What is wrong with one, at load or at run, has
//! its place in the file around it.

use std::sync::Arc;

use rhai::{AST, Position};

/// One fragment of a [`super::Program`], for [`super::evaluate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnippetId(pub(super) usize);

impl SnippetId {
    /// The fragment of the snippet of an index.
    pub fn new(index: usize) -> Self {
        Self(index)
    }
}

/// A fragment before it is compiled.
#[derive(Clone, Debug)]
pub struct Snippet {
    /// The syntax: an expression, statements, or a whole script file.
    pub form: SnippetForm,
    /// The file that it is in, by its path within the role.
    pub file: Arc<str>,
    /// The code as the engine reads it; nothing for a script file.
    pub text: Arc<str>,
    /// Maps its characters to that file.
    pub positions: PositionMap,
    /// Variables that it sees beside those of every script.
    pub variables: Arc<[&'static str]>,
    /// Variables that exist only elsewhere, with a hint where.
    pub elsewhere: &'static [(&'static str, &'static str)],
}

/// The syntax that a fragment may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetForm {
    /// One expression.
    Expression,
    /// Statements and functions; its value is that of the last one.
    Script,
    /// A script file of the program.
    File,
}

/// Maps the characters of a snippet to the file that contains it, as pieces in the order of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionMap(Vec<(usize, usize, usize)>);

impl PositionMap {
    /// Adds that the character of this index (and those after it, on the same line) is at a line and a
    /// column, both from 1; indices have to rise.
    pub fn add(&mut self, index: usize, line: usize, column: usize) {
        let follows = self
            .0
            .last()
            .is_some_and(|&(start, at, from)| at == line && column == from + (index - start));
        if !follows {
            self.0.push((index, line, column));
        }
    }

    /// Those of what begins at an index.
    #[must_use]
    pub fn after(&self, index: usize) -> Self {
        let (line, column) = self.position_at(index);
        let later = self.0.iter().filter(|(start, ..)| *start > index);
        let later = later.map(|&(start, line, column)| (start - index, line, column));
        Self(std::iter::once((0, line, column)).chain(later).collect())
    }

    /// Line and column of the character of an index.
    pub fn position_at(&self, index: usize) -> (usize, usize) {
        let after = self.0.partition_point(|&(start, ..)| start <= index);
        match after.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(&(start, line, column)) => (line, column + (index - start)),
            None => (0, 0),
        }
    }
}

/// A compiled fragment.
pub(super) struct CompiledSnippet {
    /// The name of its source in the engine.
    pub(super) label: String,
    /// The name of the file around it in errors.
    pub(super) file: String,
    /// Of a snippet; none of a script file.
    pub(super) source: Option<(Arc<str>, PositionMap)>,
    pub(super) ast: AST,
}

impl CompiledSnippet {
    /// Returns its name in the path to an error.
    pub(super) fn name(&self) -> &'static str {
        match self.source {
            Some(_) => "an expression",
            None => "a script",
        }
    }

    /// Line and column in the file around it.
    pub(super) fn file_position(&self, position: Position) -> (usize, usize) {
        match &self.source {
            Some((text, positions)) => to_file_position(text, positions, numbers(position)),
            None => numbers(position),
        }
    }
}

/// Line and column, 0 where they are not known.
pub(super) fn numbers(position: Position) -> (usize, usize) {
    let (line, column) = (position.line(), position.position());
    (line.unwrap_or(0), column.unwrap_or(0))
}

/// The place in the file around it of a line and a column of a snippet.
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
