//! The actions of steps that contain no steps.

use std::sync::Arc;

use serde_json::Value;

use super::tree::{Expression, SourceLocation, Test, TextTemplate, Tree};
use crate::script::SnippetId;

/// `apply`.
#[derive(Debug)]
pub struct Apply {
    /// The objects to apply.
    pub manifests: Manifests,
    /// The options of the apply.
    pub options: Options,
}

/// The source of the objects of an apply.
#[derive(Debug)]
pub enum Manifests {
    /// Written in the step: a map, a list of maps, or a slot whose value `k8s_apply` accepts.
    Inline(Tree),
    /// A file of `files/` with a constant name, and its documents, which contain no slots.
    Documents(Arc<str>, Vec<Value>),
    /// A file of `files/` whose name contains slots.
    File(TextTemplate, SourceLocation),
    /// A template, or all templates whose name matches a pattern. They see `vars`, `item` and `results` too.
    Template {
        /// The name, or a pattern such as `*.yaml`.
        name: TextTemplate,
        /// Additional variables.
        vars: Vec<(Arc<str>, Tree)>,
        /// The location of the name.
        location: SourceLocation,
    },
}

/// Options of an apply. None means the default of `k8s_apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True if the custom resource owns the objects.
    pub owner: Option<bool>,
    /// True if the apply takes fields from other managers.
    pub force: Option<bool>,
    /// True if the apply takes over existing objects that the custom resource does not own.
    pub adopt: Option<bool>,
    /// True if objects with changed immutable fields are deleted and created again.
    pub recreate: Option<bool>,
}

/// `delete`.
#[derive(Debug)]
pub struct Delete {
    /// A reference (`apiVersion`, `kind`, `name`, `namespace`), an object, or a list of these.
    pub objects: Tree,
    /// `background`, `foreground` or `orphan`.
    pub propagation: Option<&'static str>,
}

/// `script`.
#[derive(Debug)]
pub enum Script {
    /// Code in the step.
    Inline(Expression),
    /// A file of `tasks/`.
    File {
        /// Its path within the role.
        path: Arc<str>,
        /// Its code in the pipeline's program.
        snippet: SnippetId,
    },
}

/// `role`.
#[derive(Debug)]
pub struct Role {
    /// The name of the role.
    pub name: TextTemplate,
    /// Variables that override those of the role.
    pub vars: Vec<(Arc<str>, Tree)>,
    /// The location of the name.
    pub location: SourceLocation,
}

/// `condition`.
#[derive(Debug)]
pub struct Condition {
    /// The type of the condition.
    pub kind: TextTemplate,
    /// A bool, or one of `True`, `False`, `Unknown`.
    pub status: Tree,
    /// A word in `CamelCase`.
    pub reason: TextTemplate,
    /// The message for users.
    pub message: TextTemplate,
}

/// `event`.
#[derive(Debug)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: TextTemplate,
    /// A word in `CamelCase`.
    pub reason: TextTemplate,
    /// The message for users.
    pub message: TextTemplate,
}

/// `assert`.
#[derive(Debug)]
pub struct Assert {
    /// The tests.
    pub that: Vec<Test>,
    /// The message of the failure; by default the test that failed.
    pub message: Option<TextTemplate>,
}
