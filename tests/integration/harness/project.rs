//! A project folder: watches.yaml and roles, as a user of the operator has them.

use std::path::{Path, PathBuf};

use super::Case;

/// Files of a project. [`Project::write`] changes them while an operator runs.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// A new project with its watches.yaml; `{group}` in a text stands for the test's API group.
    pub(crate) fn new(case: &Case, watches: &str) -> anyhow::Result<Self> {
        let project = Self {
            root: case.path(&case.unique("project")),
        };
        std::fs::create_dir_all(project.root.join("roles"))?;
        project.with(case, "watches.yaml", watches)
    }

    /// This repository: its watches.yaml and its roles.
    pub(crate) fn repository() -> Self {
        Self {
            root: Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(),
        }
    }

    /// With a further file; `{group}` and `{namespace}` stand for the test's own.
    pub(crate) fn with(self, case: &Case, path: &str, text: &str) -> anyhow::Result<Self> {
        let text = text
            .replace("{group}", &case.group)
            .replace("{namespace}", &case.namespace);
        self.write(path, &text)?;
        Ok(self)
    }

    /// With a role of one script.
    pub(crate) fn with_role(self, case: &Case, role: &str, script: &str) -> anyhow::Result<Self> {
        self.with(case, &format!("roles/{role}/tasks/main.rhai"), script)
    }

    /// Writes a file as an editor does: whole at once.
    pub(crate) fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let fresh = path.with_extension("new");
        std::fs::write(&fresh, text)?;
        Ok(std::fs::rename(fresh, path)?)
    }

    /// The watches file.
    pub(crate) fn watches_file(&self) -> PathBuf {
        self.root.join("watches.yaml")
    }

    /// The folder of roles.
    pub(crate) fn roles_dir(&self) -> PathBuf {
        self.root.join("roles")
    }
}
