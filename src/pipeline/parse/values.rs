//! Parses the values of one step: expressions, tests, texts and trees with slots.

use std::sync::Arc;

use super::parser::{File, Parser};
use super::slots::{self, TextPiece};
use super::string_positions;
use crate::model::diagnostics::Item;
use crate::model::yaml::{Content, Node, Position};
use crate::pipeline::parsed::ResultUse;
use crate::pipeline::scope::Scope;
use crate::pipeline::tree::{Expression, SourceLocation, Test, TextPart, TextTemplate, Tree};
use crate::script::{PositionMap, SnippetForm, SnippetId};

/// The parser of values that see the same variables. It collects the results that they use.
pub(super) struct ValueParser<'p, 'a, 'f> {
    pub(super) parser: &'p mut Parser<'a>,
    pub(super) file: File<'f>,
    pub(super) scope: Scope,
    pub(super) uses: Vec<ResultUse>,
}

impl<'p, 'a, 'f> ValueParser<'p, 'a, 'f> {
    pub(super) fn new(parser: &'p mut Parser<'a>, file: File<'f>, scope: Scope) -> Self {
        Self {
            parser,
            file,
            scope,
            uses: Vec::new(),
        }
    }

    /// Parses values that see other variables.
    pub(super) fn with_scope<T>(&mut self, scope: Scope, parse: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.scope, scope);
        let parsed = parse(self);
        self.scope = outer;
        parsed
    }

    /// Returns a location as errors of a run name it.
    pub(super) fn location(&self, at: Position) -> SourceLocation {
        self.parser.location(self.file, at)
    }

    /// Adds code; `start` is the index of its first character in the string with these positions.
    fn add_code(
        &mut self,
        (code, start): (&str, usize),
        at: &PositionMap,
        form: SnippetForm,
    ) -> Expression {
        let places = at.after(start);
        let (line, column) = places.position_at(0);
        let scope = (form, self.scope);
        let snippet = self.parser.add_code(self.file, places, code, scope);
        self.note_code(snippet, self.file.path);
        Expression {
            snippet,
            text: code.trim().into(),
            location: self.location(Position { line, column }),
        }
    }

    /// Adds a script file.
    pub(super) fn add_script_file(&mut self, path: &Arc<str>) -> SnippetId {
        let snippet = self.parser.add_script_file(path, self.scope);
        self.note_code(snippet, path);
        snippet
    }

    fn note_code(&mut self, snippet: SnippetId, file: &Arc<str>) {
        let file = Arc::clone(file);
        self.uses.push(ResultUse::Code { snippet, file });
    }

    /// Parses a string that is code as a whole.
    pub(super) fn code(&mut self, item: &Item<'_>, form: SnippetForm) -> Option<Expression> {
        let text = item.text()?;
        if text.trim().is_empty() {
            item.error("expected Rhai, found nothing", "");
            return None;
        }
        let at = string_positions::places(self.file.text, item.position(), text);
        Some(self.add_code((text, 0), &at, form))
    }

    /// Parses an expression, which may be written as `${…}`.
    pub(super) fn expression(&mut self, item: &Item<'_>) -> Option<Expression> {
        let text = item.text()?;
        if text.starts_with("${")
            && let Some([TextPiece::Slot(code, start)]) = slots::split(text).ok().as_deref()
        {
            let at = string_positions::places(self.file.text, item.position(), text);
            return Some(self.add_code((code, *start), &at, SnippetForm::Expression));
        }
        self.code(item, SnippetForm::Expression)
    }

    /// Parses a test: Rhai, JSONPath, or a bool.
    pub(super) fn test(&mut self, item: &Item<'_>) -> Option<Test> {
        if let Content::Bool(flag) = item.node().content {
            return Some(Test::Constant(flag));
        }
        if is_query(item) {
            return self.query(item).map(Test::Query);
        }
        if !matches!(item.node().content, Content::String(_)) {
            item.unexpected("a test: Rhai, JSONPath, true or false", "");
            return None;
        }
        self.expression(item).map(Test::Expression)
    }

    /// Parses one test or a list of tests.
    pub(super) fn tests(&mut self, item: &Item<'_>) -> Vec<Test> {
        if !matches!(item.node().content, Content::List(_)) {
            return self.test(item).into_iter().collect();
        }
        let items = item.items().unwrap_or_default();
        items.iter().filter_map(|item| self.test(item)).collect()
    }

    /// Parses a text with slots.
    pub(super) fn text(&mut self, item: &Item<'_>) -> Option<TextTemplate> {
        let text = item.text()?;
        Some(self.text_at(item.position(), text))
    }

    fn text_at(&mut self, at: Position, text: &str) -> TextTemplate {
        match self.text_parts(at, text).as_slice() {
            [] => TextTemplate::Constant("".into()),
            [TextPart::Literal(literal)] => TextTemplate::Constant(Arc::clone(literal)),
            parts => TextTemplate::Parts(parts.into()),
        }
    }

    fn text_parts(&mut self, at: Position, text: &str) -> Vec<TextPart> {
        self.warn_of_jinja(at, text);
        if !text.contains('$') {
            return vec![TextPart::Literal(text.into())];
        }
        let whole = string_positions::places(self.file.text, at, text);
        let pieces = match slots::split(text) {
            Ok(pieces) => pieces,
            Err(index) => {
                let (line, column) = whole.position_at(index);
                let hint = "add the missing }, or write $${ for the text ${";
                let at = Position { line, column };
                self.file.findings.error(at, "`${` is not closed", hint);
                return Vec::new();
            }
        };
        let pieces = pieces.into_iter();
        pieces
            .map(|piece| match piece {
                TextPiece::Literal(text) => TextPart::Literal(text.into()),
                TextPiece::Slot(code, start) => {
                    TextPart::Slot(self.add_code((&code, start), &whole, SnippetForm::Expression))
                }
            })
            .collect()
    }

    /// Parses any value with slots.
    pub(super) fn tree(&mut self, node: &Node) -> Tree {
        match &node.content {
            Content::String(text) => {
                let mut parts = self.text_parts(node.position, text);
                match (parts.len(), parts.pop()) {
                    (_, None) => Tree::Constant("".into()),
                    (1, Some(TextPart::Literal(text))) => Tree::Constant((*text).into()),
                    (1, Some(TextPart::Slot(expression))) => Tree::Slot(expression),
                    (_, Some(last)) => {
                        parts.push(last);
                        Tree::Text(parts.into())
                    }
                }
            }
            Content::List(items) => {
                let trees = items.iter().map(|node| self.tree(node));
                Tree::list(trees.collect())
            }
            Content::Map(entries) => {
                let trees = entries.iter().map(|(key, node)| {
                    let name = self.text_at(key.position, &key.name);
                    (name, self.tree(node))
                });
                Tree::map(trees.collect())
            }
            other => Tree::Constant(other.to_value()),
        }
    }

    /// Parses a map of variables.
    pub(super) fn variables(&mut self, item: &Item<'_>) -> Vec<(Arc<str>, Tree)> {
        let entries = item.entries().unwrap_or_default();
        let entries = entries.iter();
        entries
            .map(|(key, item)| (key.name.as_str().into(), self.tree(item.node())))
            .collect()
    }

    /// Warns of variables in double braces, as Ansible has them.
    fn warn_of_jinja(&self, at: Position, text: &str) {
        if text.contains("{{") {
            let message = "{{ }} is plain text here; Ansible reads it as a template";
            let hint = "write ${expression}, or apply a file of templates/";
            self.file.findings.warning(at, message, hint);
        }
    }
}

/// Returns whether a string begins as a JSONPath query.
pub(super) fn is_query(item: &Item<'_>) -> bool {
    matches!(&item.node().content, Content::String(text)
        if text.starts_with("$.") || text.starts_with("$["))
}
