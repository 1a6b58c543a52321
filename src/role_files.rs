//! Reads the files of a role's folder into memory.
//!
//! Only the folders that roles use are read, without hidden files (a mounted `ConfigMap` keeps its data in
//! hidden folders). A symbolic link that points outside the role is an error.

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::diagnostics::nearest;
use crate::model::redact::WordSet;
use crate::regular_file::{self, LIMIT};

/// The folders of a role that are read.
const FOLDERS: [&str; 6] = ["tasks", "defaults", "vars", "templates", "files", "meta"];

/// The folders of an Ansible role that are ignored.
const FOREIGN: [&str; 6] = [
    "handlers",
    "library",
    "module_utils",
    "filter_plugins",
    "lookup_plugins",
    "action_plugins",
];

/// The files of a role's folder by their path within it, with forward slashes.
#[derive(Debug)]
pub(crate) struct RoleFiles {
    pub(crate) path: PathBuf,
    files: BTreeMap<String, Bytes>,
}

impl RoleFiles {
    /// Reads the folder, and reports the files that it cannot read.
    pub(crate) fn read(path: &Path, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let root = match path.canonicalize() {
            Ok(root) => root,
            Err(error) => {
                problems.push(unreadable(path, &error));
                return None;
            }
        };
        let mut reader = FolderReader {
            root,
            path: path.to_owned(),
            files: BTreeMap::new(),
            problems,
        };
        for folder in FOLDERS {
            if path.join(folder).is_dir() {
                reader.folder(folder);
            }
        }
        for folder in FOREIGN {
            if path.join(folder).is_dir() {
                let message = format!("ignoring {folder}/: only Ansible uses it");
                let warning = Diagnostic::error(path.join(folder), 0, 0, message);
                let warning = warning.severity(Severity::Warning);
                reader.problems.push(warning);
            }
        }
        reader.warn_of_misspelled_folders();
        Some(Self {
            files: reader.files,
            path: path.to_owned(),
        })
    }

    /// Returns the words of all text files.
    pub(crate) fn words(&self) -> WordSet {
        let mut words = WordSet::default();
        let texts = self.files.values();
        texts
            .filter_map(|bytes| str::from_utf8(bytes).ok())
            .for_each(|text| words.add_text(text));
        words
    }

    /// Returns the bytes of a file.
    pub(crate) fn get(&self, file: &str) -> Option<&Bytes> {
        self.files.get(file)
    }

    /// Returns the files below a folder of the role, by their path within that folder.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &Bytes)> {
        let files = self.files.iter();
        files.filter_map(move |(path, bytes)| {
            let (top, rest) = path.split_once('/')?;
            (top == folder).then_some((rest, bytes))
        })
    }

    /// Returns the text of a file; reports an error if it is not UTF-8.
    pub(crate) fn text(&self, file: &str, problems: &mut Vec<Diagnostic>) -> Option<&str> {
        let text = std::str::from_utf8(self.files.get(file)?);
        if text.is_err() {
            problems.push(Diagnostic::error(
                self.path.join(file),
                0,
                0,
                "is not UTF-8",
            ));
        }
        text.ok()
    }

    /// Returns `NAME.yaml` or `NAME.yml`, whichever exists; reports an error if both do.
    pub(crate) fn yaml(&self, name: &str, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let [long, short] = ["yaml", "yml"].map(|ending| format!("{name}.{ending}"));
        match (
            self.files.contains_key(&long),
            self.files.contains_key(&short),
        ) {
            (true, true) => {
                let long = long.rsplit('/').next().unwrap_or(&long);
                let message = format!("{long} exists too: remove one of them");
                problems.push(Diagnostic::error(self.path.join(short), 0, 0, message));
                None
            }
            (true, false) => Some(long),
            (false, true) => Some(short),
            (false, false) => None,
        }
    }

    /// Returns a hash of all names and contents.
    pub(crate) fn digest(&self) -> u64 {
        let mut hash = XxHash3_64::with_seed(0);
        for (path, bytes) in &self.files {
            // Lengths first, so that no two sets of files look alike.
            hash.write_usize(path.len());
            hash.write(path.as_bytes());
            hash.write_usize(bytes.len());
            hash.write(bytes);
        }
        hash.finish()
    }
}

struct FolderReader<'p> {
    root: PathBuf,
    path: PathBuf,
    files: BTreeMap<String, Bytes>,
    problems: &'p mut Vec<Diagnostic>,
}

impl FolderReader<'_> {
    /// Warns of folders whose name resembles that of a folder that roles have.
    fn warn_of_misspelled_folders(&mut self) {
        let Ok(entries) = fs::read_dir(&self.path) else {
            // Reading the known folders reported the error.
            return;
        };
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if FOLDERS.contains(&name) || FOREIGN.contains(&name) {
                continue;
            }
            if let Some(near) = nearest(name, &FOLDERS) {
                let message = format!("ignoring {name}/: a role has no such folder");
                let warning = Diagnostic::error(entry.path(), 0, 0, message);
                let warning = warning.severity(Severity::Warning);
                let hint = format!("did you mean {near:?}?");
                self.problems.push(warning.hint(hint));
            }
        }
    }

    fn folder(&mut self, folder: &str) {
        let path = self.path.join(folder);
        let Some(entries) = self
            .inside(&path)
            .and_then(|()| self.or_report(&path, fs::read_dir(&path)))
        else {
            return;
        };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let Some(name) = name.to_str() else {
                let message = format!("the file name {} is not UTF-8", name.display());
                self.problems.push(Diagnostic::error(&path, 0, 0, message));
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let relative = format!("{folder}/{name}");
            if path.join(name).is_dir() {
                self.folder(&relative);
            } else {
                self.file(relative);
            }
        }
    }

    fn file(&mut self, relative: String) {
        let path = self.path.join(&relative);
        if self.inside(&path).is_some()
            && let Some(content) = self.or_report(&path, regular_file::read(&path, LIMIT))
        {
            self.files.insert(relative, Bytes::from(content));
        }
    }

    /// Checks that a path, with links resolved, is inside the role and is not a folder that contains itself.
    fn inside(&mut self, path: &Path) -> Option<()> {
        let target = self.or_report(path, path.canonicalize())?;
        let message = if !target.starts_with(&self.root) {
            "cannot follow a link to a file outside the role"
        } else if path.is_dir() && self.encloses(path, &target) {
            "cannot follow a link to a folder that contains it"
        } else {
            return Some(());
        };
        self.problems.push(Diagnostic::error(path, 0, 0, message));
        None
    }

    /// Returns whether `target` is one of the folders that contain `path`.
    fn encloses(&self, path: &Path, target: &Path) -> bool {
        let above = path.ancestors().skip(1);
        let mut above = above.take_while(|folder| folder.starts_with(&self.path));
        above.any(|folder| folder.canonicalize().is_ok_and(|folder| folder == target))
    }

    fn or_report<T>(&mut self, path: &Path, result: io::Result<T>) -> Option<T> {
        result
            .map_err(|error| self.problems.push(unreadable(path, &error)))
            .ok()
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(path, 0, 0, format!("cannot read: {error}"))
}
