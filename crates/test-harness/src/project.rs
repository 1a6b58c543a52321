//! A project folder with `watches.yaml` and roles.

use std::path::PathBuf;

use crate::{Case, run_folder};

/// A project folder. [`Project::write`] changes its files while an operator runs.
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// Creates an empty folder for a project.
    pub fn empty(case: &Case) -> anyhow::Result<Self> {
        let project = Self {
            root: case.path(&case.unique("project")),
        };
        std::fs::create_dir_all(&project.root)?;
        Ok(project)
    }

    /// Creates a project with its `watches.yaml`. `{group}` is replaced by the test's API group.
    pub fn new(case: &Case, watches: &str) -> anyhow::Result<Self> {
        let project = Self {
            root: case.path(&case.unique("project")),
        };
        std::fs::create_dir_all(project.root.join("roles"))?;
        project.with(case, "watches.yaml", watches)
    }

    /// Returns the project at the root of this repository.
    pub fn repository() -> Self {
        Self {
            root: run_folder::repository(""),
        }
    }

    /// Adds a file. `{group}` and `{namespace}` stand for those of the test.
    pub fn with(self, case: &Case, path: &str, text: &str) -> anyhow::Result<Self> {
        let text = text
            .replace("{group}", &case.group)
            .replace("{namespace}", &case.namespace);
        self.write(path, &text)?;
        Ok(self)
    }

    /// Adds a role of one script.
    pub fn with_role(self, case: &Case, role: &str, script: &str) -> anyhow::Result<Self> {
        self.with(case, &format!("roles/{role}/tasks/main.rhai"), script)
    }

    /// Replaces a file atomically, as editors do.
    pub fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let fresh = path.with_extension("new");
        std::fs::write(&fresh, text)?;
        Ok(std::fs::rename(fresh, path)?)
    }

    /// Returns the path of a file or folder of the project.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Returns the path of `watches.yaml`.
    pub fn watches_file(&self) -> PathBuf {
        self.root.join("watches.yaml")
    }

    /// Returns the folder of roles.
    pub fn roles_dir(&self) -> PathBuf {
        self.root.join("roles")
    }
}
