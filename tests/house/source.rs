//! The source files of the workspace, as text.

use std::fs;
use std::path::Path;

/// One file: its path and its text. The path is relative to `src/`, or to `crates/` in another crate.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// The module right under the crate that a file belongs to: `apply` for `apply/diff.rs`.
    pub(crate) fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// The code: neither comments nor, where they are in the same file, tests.
    pub(crate) fn code(&self) -> impl Iterator<Item = &str> {
        let is_code = |line: &&str| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with("//")
        };
        self.text
            .lines()
            .take_while(|line| *line != "#[cfg(test)]")
            .filter(is_code)
    }

    /// Returns whether all of the file is tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }
}

/// Reads the files of the operator, in the order of their paths.
pub(crate) fn of_operator() -> Vec<Source> {
    below("src")
}

/// Reads the files of every crate, those of the operator first.
pub(crate) fn of_workspace() -> Vec<Source> {
    let mut sources = of_operator();
    sources.extend(below("crates"));
    sources
}

fn below(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(root, &path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("UTF-8");
            let path = path.strip_prefix(root).expect("a path under the root");
            sources.push(Source::new(&path.to_string_lossy(), &text));
        }
    }
}
