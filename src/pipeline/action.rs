//! What a step does.

use std::sync::Arc;

use serde_json::Value;

use super::step::Step;
use super::tree::{Expression, SourceLocation, Test, Text, Tree};

/// What a step does, and what its result is.
#[derive(Debug)]
pub enum Action {
    /// Makes objects as they are given. The live object, or a list for a list and for a text of
    /// documents (as `k8s_apply` answers).
    Apply(Box<Apply>),
    /// Deletes objects. `()`.
    Delete(Delete),
    /// Evaluates a script. Its value.
    Script(Expression),
    /// Runs another role on the same custom resource. Its value; a pipeline's is the map of its results.
    Role(Role),
    /// Does the steps of a file. The map of their results.
    Include(Include),
    /// `set_status`. `()`.
    Status(Tree),
    /// `set_condition`. `()`.
    Condition(Condition),
    /// `event`. `()`.
    Event(Event),
    /// Fails as [`Action::Fail`] unless all tests hold. `()`.
    Assert(Assert),
    /// Fails for good, as the host function `fail`; within a block it can be rescued.
    Fail(Text),
    /// Does steps together. `()`, with a loop the list of maps of their results.
    Block(Block),
}

impl Action {
    /// The key of the file.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Apply(_) => "apply",
            Self::Delete(_) => "delete",
            Self::Script(_) => "script",
            Self::Role(_) => "role",
            Self::Include(_) => "include",
            Self::Status(_) => "status",
            Self::Condition(_) => "condition",
            Self::Event(_) => "event",
            Self::Assert(_) => "assert",
            Self::Fail(_) => "fail",
            Self::Block(_) => "block",
        }
    }
}

/// `apply`.
#[derive(Debug)]
pub struct Apply {
    /// What is applied.
    pub manifests: Manifests,
    /// How.
    pub options: Options,
}

/// Where objects come from.
#[derive(Debug)]
pub enum Manifests {
    /// Written in the step: a map, a list of such, or a slot whose value is what `k8s_apply` takes.
    Inline(Tree),
    /// A file of `files/` whose name is known at load: its documents, which have no slots.
    Documents(Arc<str>, Vec<Value>),
    /// A file of `files/` whose name has slots.
    File(Text, SourceLocation),
    /// `template_objects` of a name or a pattern, with variables beside those in scope (`vars`, `item`,
    /// `results` are in scope of the template too).
    Template {
        /// The name, or a pattern like `*.yaml`.
        name: Text,
        /// Its own variables.
        vars: Vec<(Arc<str>, Tree)>,
        /// Where the name is.
        place: SourceLocation,
    },
}

/// Options of an apply; what is not given is as for `k8s_apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether the custom resource owns it.
    pub owner: Option<bool>,
    /// Whether fields are taken from other managers.
    pub force: Option<bool>,
    /// Whether an object that another controls is taken over.
    pub adopt: Option<bool>,
    /// Whether what cannot be changed is deleted and made anew.
    pub recreate: Option<bool>,
}

/// `delete`.
#[derive(Debug)]
pub struct Delete {
    /// A reference (`apiVersion`, `kind`, `name`, `namespace`) or an object, or a list of such.
    pub objects: Tree,
    /// `background`, `foreground` or `orphan`.
    pub propagation: Option<&'static str>,
}

/// `role`.
#[derive(Debug)]
pub struct Role {
    /// Which one.
    pub name: Text,
    /// What is laid over its variables.
    pub vars: Vec<(Arc<str>, Tree)>,
    /// Where the name is.
    pub place: SourceLocation,
}

/// `include`.
#[derive(Debug)]
pub struct Include {
    /// The file, e.g. `tasks/install.yaml`.
    pub file: Arc<str>,
    /// Its steps, compiled for this place.
    pub steps: Vec<Step>,
}

/// `block` with `rescue` and `always`.
#[derive(Debug, Default)]
pub struct Block {
    /// What is done.
    pub steps: Vec<Step>,
    /// What is done when a step of `steps` failed, after those that do not need it have finished;
    /// `error` is in scope. The block has then failed only if one of these does: with an empty list
    /// it has not.
    pub rescue: Option<Vec<Step>>,
    /// What is done in the end, also after a failure; not while the block waits.
    pub always: Vec<Step>,
}

/// `condition`.
#[derive(Debug)]
pub struct Condition {
    /// Its type.
    pub kind: Text,
    /// A bool, or one of `True`, `False`, `Unknown`.
    pub status: Tree,
    /// A word in `CamelCase`.
    pub reason: Text,
    /// For people.
    pub message: Text,
}

/// `event`.
#[derive(Debug)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: Text,
    /// A word in `CamelCase`.
    pub reason: Text,
    /// For people.
    pub message: Text,
}

/// `assert`.
#[derive(Debug)]
pub struct Assert {
    /// What has to hold.
    pub that: Vec<Test>,
    /// What is said when it does not; without one the test that does not hold.
    pub message: Option<Text>,
}
