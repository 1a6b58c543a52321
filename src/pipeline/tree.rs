//! Values with slots: the compiled form of the manifests, texts and tests of a pipeline.
//!
//! A slot is a Rhai expression, written `${…}`, whose value takes its place in a run.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::script::SnippetId;

/// A location in a file of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The path that errors name: `web/tasks/main.yaml`.
    pub file: Arc<str>,
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
}

/// `web/tasks/main.yaml:12:5`
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A Rhai expression or an inline script. Its errors point to the YAML file.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its code in the pipeline's program, for [`crate::script::evaluate`].
    pub snippet: SnippetId,
    /// The code as written, without `${}`.
    pub text: Arc<str>,
    /// The location of its first character.
    pub location: SourceLocation,
}

/// A valid JSONPath query (RFC 9535).
#[derive(Clone, Debug)]
pub struct Query {
    /// The query as written.
    pub text: Arc<str>,
    /// The variable that its first segment names, and the query on that variable's value:
    /// `$.spec.shards[*]` is `spec` and `$.shards[*]`. None if the query needs a map of all variables
    /// (`$..x`, or a `$` within a filter), and in a gate `ready`, which queries the object.
    pub variable: Option<(Arc<str>, Arc<str>)>,
    /// The location of its first character.
    pub location: SourceLocation,
}

/// A test of `when`, `ready`, `until` or `assert`. A query is true if it selects something that is neither
/// null nor false. An expression must be a bool.
#[derive(Clone, Debug)]
pub enum Test {
    /// `true` or `false`.
    Constant(bool),
    /// Rhai.
    Expression(Expression),
    /// JSONPath.
    Query(Query),
}

/// A text that may contain slots.
#[derive(Clone, Debug)]
pub enum TextTemplate {
    /// A text without slots. `$$` is already replaced by `$`.
    Constant(Arc<str>),
    /// Its parts in order.
    Parts(Arc<[TextPart]>),
}

/// A part of a [`TextTemplate`].
#[derive(Clone, Debug)]
pub enum TextPart {
    /// Text without slots.
    Literal(Arc<str>),
    /// The value of an expression: a string unchanged, a number or a bool as in JSON. `()`, a list or a map
    /// is an error.
    Slot(Expression),
}

/// A YAML value that may contain slots.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A value without slots.
    Constant(Value),
    /// A string that consists of one slot: the value of its expression, with its type. `()` as the value of
    /// a map's key removes the key.
    Slot(Expression),
    /// A string that contains slots.
    Text(Arc<[TextPart]>),
    /// A list.
    List(Vec<Self>),
    /// A map in the order of the file. Keys may contain slots.
    Map(Vec<(TextTemplate, Self)>),
}

impl Test {
    /// Returns the test as written.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Constant(true) => "true",
            Self::Constant(false) => "false",
            Self::Expression(expression) => &expression.text,
            Self::Query(query) => &query.text,
        }
    }
}

impl TextTemplate {
    /// Returns the text if it contains no slots.
    pub fn constant(&self) -> Option<&str> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Parts(_) => None,
        }
    }
}

impl Tree {
    /// Returns a list: a constant if all items are constant.
    pub(super) fn list(items: Vec<Self>) -> Self {
        let values = items.iter().map(Self::constant).collect::<Option<Vec<_>>>();
        match values {
            Some(values) => Self::Constant(values.into_iter().cloned().collect()),
            None => Self::List(items),
        }
    }

    /// Returns a map: a constant if all entries are constant.
    pub(super) fn map(entries: Vec<(TextTemplate, Self)>) -> Self {
        let values = entries.iter().map(|(key, tree)| {
            let (key, value) = (key.constant()?, tree.constant()?);
            Some((key.to_owned(), value.clone()))
        });
        match values.collect::<Option<_>>() {
            Some(values) => Self::Constant(Value::Object(values)),
            None => Self::Map(entries),
        }
    }

    /// Returns the text of a key of a map, if it contains no slots.
    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        match self {
            Self::Constant(value) => value.get(key)?.as_str(),
            Self::Map(entries) => {
                let mut entries = entries.iter();
                let (_, tree) = entries.find(|(name, _)| name.constant() == Some(key))?;
                tree.constant()?.as_str()
            }
            _ => None,
        }
    }

    /// Returns whether it is written as a map.
    pub(super) fn is_map(&self) -> bool {
        matches!(self, Self::Map(_) | Self::Constant(Value::Object(_)))
    }

    /// Returns the value if it contains no slots.
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }
}
