//! The files of a program, in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Scripts by their path within the role (`tasks/main.rhai`).
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The program's name in run-time errors: the role's.
    pub name: String,
    /// The folder that load-time problems name.
    pub folder: PathBuf,
    files: BTreeMap<String, Arc<str>>,
}

impl Sources {
    /// No files yet, of a role of this name, in this folder.
    pub fn new(name: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            folder: folder.into(),
            files: BTreeMap::new(),
        }
    }

    /// Adds a file by its path from the role's root, with forward slashes.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<Arc<str>>) {
        self.files.insert(path.into(), text.into());
    }

    /// The text of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(AsRef::as_ref)
    }
}
