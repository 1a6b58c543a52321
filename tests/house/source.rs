//! The source files of the workspace, as texts.

use std::fs;
use std::path::Path;

/// A file with its path and its text.
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

    /// Returns the module below the root of the crate that contains the file: `apply` for `apply/diff.rs`.
    pub(crate) fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// Returns the lines of code, without comments and without the tests at the end of the file.
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

    /// Returns whether the file contains only tests.
    pub(crate) fn is_test(&self) -> bool {
        let mut names = self.path.split('/');
        names.any(|name| name == "tests" || name == "tests.rs")
    }
}

/// Reads the files of the operator. Their paths begin at `src/`.
pub(crate) fn of_operator() -> Vec<Source> {
    below("src")
}

/// Reads the files of each crate, with the path of its sources. The paths of the files begin there.
pub(crate) fn of_crates() -> Vec<(String, Vec<Source>)> {
    let folder = root().join("crates");
    let mut roots = vec!["src".to_owned()];
    for entry in fs::read_dir(folder).expect("a folder of crates") {
        let name = entry.expect("a readable entry").file_name();
        roots.push(format!("crates/{}/src", name.to_string_lossy()));
    }
    roots.sort();
    roots
        .into_iter()
        .map(|root| (root.clone(), below(&root)))
        .collect()
}

/// Reads the Rust files of all crates, tests and benchmarks included. Their paths begin at the repository's root.
pub(crate) fn of_repository() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in ["benches", "crates", "src", "tests"] {
        let below = below(folder).into_iter();
        sources.extend(below.map(|source| Source {
            path: format!("{folder}/{}", source.path),
            ..source
        }));
    }
    sources
}

/// Reads the files that the published crates consist of.
pub(crate) fn of_workspace() -> Vec<Source> {
    let mut sources = of_repository();
    sources.retain(|source| source.path.starts_with("src/") || source.path.contains("/src/"));
    sources
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn below(folder: &str) -> Vec<Source> {
    let root = root().join(folder);
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
