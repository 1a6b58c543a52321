//! What all files of a pipeline share while they are read, and how strings become expressions.

mod action;
mod query;
mod slots;
pub(super) mod step;
mod string_positions;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::slots::Piece;
use super::scope::{ERROR, ITEM, OBJECT, RESULT, RESULTS};
use super::tree::{Expression, Part, SourceLocation, Test, Text, Tree};
use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item};
use crate::model::yaml::{Content, Node, Position};
use crate::role_files::RoleFiles;
use crate::script::{Engine, Excerpt, Form, Fragment, Places};

/// Where the variables are that not every expression sees.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        ITEM,
        "`item` is there in a step with a loop, and within a block or an include that has one",
    ),
    (OBJECT, "`object` is there in `ready`: the applied object"),
    (
        RESULT,
        "`result` is there in `until`; elsewhere write results.NAME",
    ),
    (ERROR, "`error` is there in `rescue`"),
];

/// What a pipeline is read with, and the code that was found in it so far.
pub(super) struct Reading<'a> {
    pub(super) folder: &'a RoleFiles,
    pub(super) templates: &'a minijinja::Environment<'static>,
    pub(super) engine: &'a Engine,
    /// Name of the role.
    pub(super) role: &'a str,
    /// The n-th is fragment n of the program.
    pub(super) excerpts: Vec<Excerpt>,
    /// Results that queries and templates use, of the step at hand.
    pub(super) mentions: Vec<Mentioned>,
    /// How many lists of steps there are.
    pub(super) lists: usize,
    /// The files of steps that were read.
    pub(super) files: BTreeSet<Arc<str>>,
    /// What is wrong.
    pub(super) problems: Vec<Diagnostic>,
}

/// A result that a step uses.
#[derive(Clone, Debug)]
pub(super) struct Mentioned {
    /// Its key; none where all results are used.
    pub(super) key: Option<String>,
    /// The file, by its path within the role; none where the place is not known.
    pub(super) place: Option<(Arc<str>, Position)>,
}

/// A file of steps that is being read.
#[derive(Clone, Copy)]
pub(super) struct File<'f> {
    /// Its path within the role.
    pub(super) path: &'f Arc<str>,
    pub(super) text: &'f str,
    pub(super) findings: &'f Diagnostics,
    /// The files that led here, itself included.
    pub(super) above: &'f [Arc<str>],
}

/// Which variables an expression sees.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scope {
    pub(super) item: bool,
    pub(super) error: bool,
    /// `object` or `result`, in gates.
    pub(super) gate: Option<&'static str>,
}

impl Scope {
    /// Their names, beside those of every script.
    pub(super) fn variables(self) -> Vec<&'static str> {
        let item = self.item.then_some(ITEM);
        let error = self.error.then_some(ERROR);
        let all = [Some(RESULTS), item, error, self.gate];
        all.into_iter().flatten().collect()
    }
}

impl Reading<'_> {
    /// What errors of a run call a place.
    pub(super) fn place(&self, file: File<'_>, at: Position) -> SourceLocation {
        SourceLocation {
            file: format!("{}/{}", self.role, file.path).into(),
            line: at.line,
            column: at.column,
        }
    }

    /// Keeps a piece of code; `at` is the index of its first character in the string of a node.
    fn code(
        &mut self,
        file: File<'_>,
        at: &Places,
        (code, start): (&str, usize),
        form: Form,
        scope: Scope,
    ) -> Expression {
        let places = at.after(start);
        let (line, column) = places.at(0);
        let fragment = Fragment::new(self.excerpts.len());
        self.excerpts.push(Excerpt {
            form,
            file: Arc::clone(file.path),
            text: code.into(),
            places,
            variables: scope.variables().into(),
            elsewhere: ELSEWHERE,
        });
        let place = self.place(file, Position { line, column });
        let text = code.trim().into();
        Expression {
            fragment,
            text,
            place,
        }
    }

    /// A string that is code as a whole.
    pub(super) fn script(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        form: Form,
        scope: Scope,
    ) -> Option<Expression> {
        let text = item.text()?;
        if text.trim().is_empty() {
            item.error("expected Rhai, found nothing", "");
            return None;
        }
        let at = string_positions::places(file.text, item.position(), text);
        Some(self.code(file, &at, (text, 0), form, scope))
    }

    /// A script file, as code.
    pub(super) fn script_file(
        &mut self,
        path: &str,
        place: SourceLocation,
        scope: Scope,
    ) -> Expression {
        let fragment = Fragment::new(self.excerpts.len());
        self.excerpts.push(Excerpt {
            form: Form::File,
            file: path.into(),
            text: "".into(),
            places: Places::default(),
            variables: scope.variables().into(),
            elsewhere: ELSEWHERE,
        });
        Expression {
            fragment,
            text: path.into(),
            place,
        }
    }

    /// Rhai, also as `${…}`, or JSONPath.
    pub(super) fn test(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Test> {
        if let Content::Bool(flag) = item.node().content {
            return Some(Test::Constant(flag));
        }
        if is_query(item) {
            return self.query(file, item, scope).map(Test::Query);
        }
        if !matches!(item.node().content, Content::String(_)) {
            item.unexpected("a test: Rhai, JSONPath, true or false", "");
            return None;
        }
        self.expression(file, item, scope).map(Test::Expression)
    }

    /// One test or a list of them.
    pub(super) fn tests(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Vec<Test> {
        if !matches!(item.node().content, Content::List(_)) {
            return self.test(file, item, scope).into_iter().collect();
        }
        let items = item.items().unwrap_or_default();
        let tests = items.iter();
        tests
            .filter_map(|item| self.test(file, item, scope))
            .collect()
    }

    /// An expression, also as `${…}`.
    pub(super) fn expression(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        scope: Scope,
    ) -> Option<Expression> {
        let text = item.text()?;
        if text.starts_with("${")
            && let Some([Piece::Slot(code, start)]) = slots::split(text).ok().as_deref()
        {
            let at = string_positions::places(file.text, item.position(), text);
            return Some(self.code(file, &at, (code, *start), Form::Expression, scope));
        }
        self.script(file, item, Form::Expression, scope)
    }

    /// A text with slots.
    pub(super) fn text(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Text> {
        let text = item.text()?;
        Some(self.text_at(file, item.position(), text, scope))
    }

    fn text_at(&mut self, file: File<'_>, at: Position, text: &str, scope: Scope) -> Text {
        match self.pieces(file, at, text, scope).as_slice() {
            [] => Text::Constant("".into()),
            [Part::Literal(literal)] => Text::Constant(Arc::clone(literal)),
            parts => Text::Parts(parts.into()),
        }
    }

    fn pieces(&mut self, file: File<'_>, at: Position, text: &str, scope: Scope) -> Vec<Part> {
        tell_jinja(file, at, text);
        if !text.contains('$') {
            return vec![Part::Literal(text.into())];
        }
        let whole = string_positions::places(file.text, at, text);
        let pieces = match slots::split(text) {
            Ok(pieces) => pieces,
            Err(index) => {
                let (line, column) = whole.at(index);
                let hint = "write $${ where the text ${ is meant";
                let at = Position { line, column };
                file.findings.error(at, "`${` is not closed", hint);
                return Vec::new();
            }
        };
        let pieces = pieces.into_iter();
        pieces
            .map(|piece| match piece {
                Piece::Literal(text) => Part::Literal(text.into()),
                Piece::Slot(code, start) => {
                    let code = (&*code, start);
                    Part::Slot(self.code(file, &whole, code, Form::Expression, scope))
                }
            })
            .collect()
    }

    /// Any value with slots.
    pub(super) fn tree(&mut self, file: File<'_>, node: &Node, scope: Scope) -> Tree {
        match &node.content {
            Content::String(text) => {
                let mut parts = self.pieces(file, node.position, text, scope);
                match parts.as_slice() {
                    [] => Tree::Constant("".into()),
                    [Part::Literal(text)] => Tree::Constant((**text).into()),
                    [Part::Slot(_)] => match parts.pop() {
                        Some(Part::Slot(expression)) => Tree::Slot(expression),
                        _ => Tree::Constant("".into()),
                    },
                    _ => Tree::Text(parts.into()),
                }
            }
            Content::List(items) => {
                let trees = items.iter().map(|node| self.tree(file, node, scope));
                Tree::list(trees.collect())
            }
            Content::Map(entries) => {
                let trees = entries.iter().map(|(key, node)| {
                    let name = self.text_at(file, key.position, &key.name, scope);
                    (name, self.tree(file, node, scope))
                });
                Tree::map(trees.collect())
            }
            other => Tree::Constant(other.to_value()),
        }
    }

    /// A map of variables.
    pub(super) fn variables(
        &mut self,
        file: File<'_>,
        item: &Item<'_>,
        scope: Scope,
    ) -> Vec<(Arc<str>, Tree)> {
        let entries = item.entries().unwrap_or_default();
        let entries = entries.iter();
        entries
            .map(|(key, item)| {
                let tree = self.tree(file, item.node(), scope);
                (key.name.as_str().into(), tree)
            })
            .collect()
    }
}

/// Returns whether a string is JSONPath by its beginning.
pub(super) fn is_query(item: &Item<'_>) -> bool {
    matches!(&item.node().content, Content::String(text)
        if text.starts_with("$.") || text.starts_with("$["))
}

/// Ansible users write variables in double braces.
fn tell_jinja(file: File<'_>, at: Position, text: &str) {
    if text.contains("{{") {
        let message = "{{ }} is plain text here; Ansible reads it as a template";
        let hint = "a value is written ${expression}; templates are files of templates/";
        file.findings.warning(at, message, hint);
    }
}
