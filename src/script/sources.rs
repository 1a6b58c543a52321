//! The files of a program in memory, and the resolution of imports among them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhai::Position;

use super::names::nearest;
use crate::model::Diagnostic;

/// Scripts by their path within the role (`tasks/main.rhai`).
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The name of the program in run-time errors, which is the name of its role.
    pub name: String,
    /// The folder in the paths of diagnostics.
    pub folder: PathBuf,
    files: BTreeMap<String, Arc<str>>,
}

impl Sources {
    /// Creates an empty set of files for a role.
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

    /// Returns the text of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(AsRef::as_ref)
    }

    pub(super) fn text(&self, path: &str) -> Option<Arc<str>> {
        self.files.get(path).cloned()
    }
}

/// Returns the path of an imported file: `install` is beside the entry or else in the role's root, and
/// `./x` is beside the importing file. Fails outside the role. The error is a message and a hint.
pub(super) fn resolve<'a>(
    files: impl Iterator<Item = &'a str> + Clone,
    entry: &str,
    importer: &str,
    import: &str,
) -> Result<String, (String, Option<String>)> {
    if import.starts_with('/') || import.contains('\\') || import.split('/').any(|s| s == "..") {
        let message = format!("import \"{import}\" is outside the role");
        return Err((
            message,
            Some("import files of this role, e.g. \"install\" for tasks/install.rhai".to_owned()),
        ));
    }
    let script = format!("{}.rhai", import.strip_suffix(".rhai").unwrap_or(import));
    let candidates = match script.strip_prefix("./") {
        Some(beside) => vec![beside_of(importer, beside)],
        None => vec![beside_of(entry, &script), script],
    };
    if let Some(found) = candidates
        .iter()
        .find(|c| files.clone().any(|file| file == *c))
    {
        return Ok(found.clone());
    }
    let folder = beside_of(entry, "");
    let near = nearest(&candidates[0], files).map(|file| {
        let name = file
            .strip_prefix(&folder)
            .unwrap_or(file)
            .trim_end_matches(".rhai");
        format!("did you mean \"{name}\"?")
    });
    Err((
        format!("no module \"{import}\": {} does not exist", candidates[0]),
        near,
    ))
}

fn beside_of(file: &str, name: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

impl Sources {
    /// Returns the paths of the scripts.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        let paths = self.files.keys().map(String::as_str);
        paths.filter(|path| {
            Path::new(path)
                .extension()
                .is_some_and(|ending| ending == "rhai")
        })
    }
}

/// Creates a diagnostic for a position in a file of the sources.
pub(super) fn diagnostic(
    sources: &Sources,
    path: &str,
    at: Position,
    message: impl Into<String>,
) -> Diagnostic {
    let (line, column) = (at.line().unwrap_or(0), at.position().unwrap_or(0));
    Diagnostic::error(sources.folder.join(path), line, column, message)
}

/// Returns the name of a file in errors.
pub(super) fn label(sources: &Sources, path: &str) -> String {
    if sources.name.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", sources.name)
    }
}
