//! Roles: a folder of scripts, templates, files and variables becomes a compiled [`Role`].
//!
//! A role is loaded whole and then lives in memory: a run reads nothing from the disk. Everything that
//! can be known to be wrong without running it is found at load, all at once, each with its place. What
//! is read stays inside the role's folder; a symbolic link that leaves it is refused.

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

/// What roles are compiled with.
#[derive(Clone)]
pub struct Toolchain {
    /// The engine of the scripts.
    pub engine: Engine,
    /// Sets up the environment of the templates: their syntax, filters and functions.
    pub templates: fn(&mut minijinja::Environment<'_>),
}

/// A compiled role; nothing of it changes while it serves.
#[derive(Debug)]
pub struct Role {
    /// Name of its folder.
    pub name: Arc<str>,
    /// Hash of all its files: another digest is another role.
    pub digest: u64,
    /// What it is for, of `meta/main.yaml`.
    pub description: String,
    /// `tasks/main.rhai` or `tasks/main.yaml`: what runs for each custom resource.
    pub entry: Entry,
    /// `tasks/finalize.rhai` or `tasks/finalize.yaml`, where there is one.
    pub finalize: Option<Entry>,
    /// `defaults/main.yaml`: variables that everything but the defaults of inputs wins over.
    pub defaults: Map<String, Value>,
    /// `vars/main.yaml`: variables that win over the defaults.
    pub vars: Map<String, Value>,
    /// `templates/`, by path within it.
    pub templates: Arc<minijinja::Environment<'static>>,
    /// `files/`, by path within it.
    pub files: BTreeMap<String, Bytes>,
    /// What it may do, of `meta/main.yaml`.
    pub permissions: Permissions,
    /// What the spec of its custom resource looks like, of `meta/main.yaml`.
    pub inputs: BTreeMap<String, Input>,
    /// Words of its files: what stands in them is no secret.
    pub words: Arc<WordSet>,
}

/// What a role runs: a script or a pipeline.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A script with all that it imports.
    Script(Arc<Program>),
    /// A list of steps.
    Pipeline(Arc<Pipeline>),
}

impl Entry {
    /// The compiled code; of a pipeline all its expressions.
    pub fn program(&self) -> &Arc<Program> {
        match self {
            Self::Script(program) => program,
            Self::Pipeline(pipeline) => &pipeline.program,
        }
    }

    /// The roles that its steps call by a fixed name.
    pub(crate) fn calls(&self) -> Vec<RoleCall> {
        match self {
            Self::Script(_) => Vec::new(),
            Self::Pipeline(pipeline) => pipeline::role_calls(&pipeline.steps),
        }
    }
}

/// A role and what is worth knowing about it.
#[derive(Debug)]
pub struct Loaded {
    /// The role.
    pub role: Role,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
}

/// All roles of a project, by the names that watches and `include_role` use.
#[derive(Debug, Default)]
pub struct Roles(BTreeMap<Arc<str>, Arc<Role>>);

impl Roles {
    /// The role of a name: a folder of the roles folder, or the path that a watch gave.
    pub fn get(&self, name: &str) -> Option<&Arc<Role>> {
        self.0.get(name)
    }

    /// Names that [`Roles::get`] knows.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// All of them with their names, in order.
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
