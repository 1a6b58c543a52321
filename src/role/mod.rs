//! Loads roles: compiles a folder of scripts, templates, files and variables to a [`Role`].
//!
//! A role is loaded whole into memory: a run reads no file. Loading reports all errors that it can find
//! without running the role, each with its position. All files are inside the role's folder; a symbolic link
//! that points outside is an error.

mod entries;
mod fields;
mod file_watch;
mod input;
mod inputs;
mod load;
mod meta;
mod permissions;
mod project;
mod snake_case;
pub mod template_names;
pub mod template_rewrite;
mod template_size;
mod template_structure;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

pub use fields::unknown_fields;
pub use file_watch::FileWatch;
pub use input::{Input, Kind};
pub use inputs::{Violation, violations};
pub use load::load;
pub use permissions::{ApiRule, Permissions};
pub use project::{NoSuchRole, Project, role_names};
pub use snake_case::{snake_case, snake_case_keys};
pub use variables::variables;

use crate::model::Diagnostic;
use crate::model::redact::WordSet;
use crate::pipeline::{self, Pipeline, RoleCall};
use crate::script::{Engine, Program};

/// The engine and the template environment that compile roles.
#[derive(Clone)]
pub struct Toolchain {
    /// The engine of the scripts.
    pub engine: Engine,
    /// Sets up the environment of the templates: their syntax, filters and functions.
    pub templates: fn(&mut minijinja::Environment<'_>),
}

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

/// A loaded role with its warnings and notes.
#[derive(Debug)]
pub struct Loaded {
    /// The role.
    pub role: Role,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
}

/// The roles of a project, by the names that watches and `include_role` use.
#[derive(Debug, Default)]
pub struct Roles(BTreeMap<Arc<str>, Arc<Role>>);

impl Roles {
    /// Returns the role with a name: a folder of the roles folder, or the path in a watch.
    pub fn get(&self, name: &str) -> Option<&Arc<Role>> {
        self.0.get(name)
    }

    /// Returns the names of all roles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// Returns all roles with their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Role>)> {
        self.0.iter()
    }
}

impl FromIterator<(Arc<str>, Arc<Role>)> for Roles {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<Role>)>>(roles: I) -> Self {
        Self(roles.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
