//! Values with slots: what a manifest, a text or a condition of a pipeline is compiled to.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::script::Fragment;

/// A place in a file of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// What errors call the file: `web/tasks/main.yaml`.
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

/// A Rhai expression, an inline script or a script file; its errors have their place in the YAML file.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What [`crate::script::evaluate`] takes, within the pipeline's program.
    pub fragment: Fragment,
    /// As it was written, without `${}`; the path of a script file.
    pub text: Arc<str>,
    /// Where it begins.
    pub place: SourceLocation,
}

/// A JSONPath query (RFC 9535), known to be well formed.
#[derive(Clone, Debug)]
pub struct Query {
    /// As it was written.
    pub text: Arc<str>,
    /// The variable that its first segment names, and the query on that variable's value:
    /// `$.spec.shards[*]` is `spec` and `$.shards[*]`. None where the query needs a map of all
    /// variables (`$..x`, or a `$` within a filter), and in a gate `ready`, which queries the object.
    pub variable: Option<(Arc<str>, Arc<str>)>,
    /// Where it begins.
    pub place: SourceLocation,
}

/// What is true or false: the tests of `when`, `ready`, `until`, `assert`. A query is true when it
/// selects something that is neither null nor false; an expression has to be a bool.
#[derive(Clone, Debug)]
pub enum Test {
    /// `true` or `false` as such.
    Constant(bool),
    /// Rhai.
    Expression(Expression),
    /// JSONPath.
    Query(Query),
}

/// A text with slots.
#[derive(Clone, Debug)]
pub enum Text {
    /// Without any, `$$` being `$` already.
    Constant(Arc<str>),
    /// Its parts in order.
    Parts(Arc<[Part]>),
}

/// A part of a [`Text`].
#[derive(Clone, Debug)]
pub enum Part {
    /// As it is.
    Literal(Arc<str>),
    /// The value of an expression: a string as it is, a number or a bool as JSON writes it. `()` is an
    /// error (its place says which slot), and so is a list or a map.
    Slot(Expression),
}

/// A YAML value with slots.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A value without any slot in it.
    Constant(Value),
    /// A string that is one expression and nothing else: its value with its type. `()` as the value of
    /// a map's key leaves the key out.
    Slot(Expression),
    /// A string with slots in it.
    Text(Arc<[Part]>),
    /// A list.
    List(Vec<Self>),
    /// A map in the order of the file; keys may have slots.
    Map(Vec<(Text, Self)>),
}

impl Text {
    /// The text, if it has no slots.
    pub fn constant(&self) -> Option<&str> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Parts(_) => None,
        }
    }
}

impl Tree {
    /// A list; a constant if all in it is.
    pub(super) fn list(items: Vec<Self>) -> Self {
        let values = items.iter().map(Self::constant).collect::<Option<Vec<_>>>();
        match values {
            Some(values) => Self::Constant(values.into_iter().cloned().collect()),
            None => Self::List(items),
        }
    }

    /// A map; a constant if all in it is.
    pub(super) fn map(entries: Vec<(Text, Self)>) -> Self {
        let values = entries.iter().map(|(key, tree)| {
            let (key, value) = (key.constant()?, tree.constant()?);
            Some((key.to_owned(), value.clone()))
        });
        match values.collect::<Option<_>>() {
            Some(values) => Self::Constant(Value::Object(values)),
            None => Self::Map(entries),
        }
    }

    /// A text without slots that a map has under a key.
    pub(super) fn entry(&self, key: &str) -> Option<&str> {
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

    /// The value, if there is no slot in it.
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }
}
