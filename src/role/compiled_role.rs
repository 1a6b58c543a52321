//! A compiled role.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::input::Input;
use super::permissions::Permissions;
use crate::model::redact::WordSet;
use crate::pipeline::{self, Pipeline, RoleCall};
use crate::script::Program;

/// A compiled role. It is immutable.
#[derive(Debug)]
pub struct Role {
    /// The name of its folder.
    pub name: Arc<str>,
    /// The hash of all its files.
    pub digest: u64,
    /// The description in `meta/main.yaml`.
    pub description: String,
    /// `tasks/main.rhai` or `tasks/main.yaml`, which runs for each custom resource.
    pub entry: Entry,
    /// `tasks/finalize.rhai` or `tasks/finalize.yaml`, if one exists.
    pub finalize: Option<Entry>,
    /// The variables of `defaults/main.yaml`. They override only the defaults of inputs.
    pub defaults: Map<String, Value>,
    /// The variables of `vars/main.yaml`. They override the defaults.
    pub vars: Map<String, Value>,
    /// The templates of `templates/`, by path within it.
    pub templates: Arc<minijinja::Environment<'static>>,
    /// The contents of `files/`, by path within it.
    pub files: BTreeMap<String, Bytes>,
    /// The permissions in `meta/main.yaml`.
    pub permissions: Permissions,
    /// The inputs in `meta/main.yaml`, which describe the spec of its custom resource.
    pub inputs: BTreeMap<String, Input>,
    /// The words of its files. They are never redacted.
    pub words: Arc<WordSet>,
}

/// The code that a role runs: a script or a pipeline.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A script with the modules that it imports.
    Script(Arc<Program>),
    /// A list of steps.
    Pipeline(Arc<Pipeline>),
}

impl Entry {
    /// Returns the compiled code; for a pipeline all its expressions.
    pub fn program(&self) -> &Arc<Program> {
        match self {
            Self::Script(program) => program,
            Self::Pipeline(pipeline) => &pipeline.program,
        }
    }

    /// Returns the roles that its steps call by a constant name.
    pub(crate) fn role_calls(&self) -> Vec<RoleCall> {
        match self {
            Self::Script(_) => Vec::new(),
            Self::Pipeline(pipeline) => pipeline::role_calls(&pipeline.steps),
        }
    }
}
