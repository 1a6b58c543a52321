//! The files of a role's folder, read once and kept in memory.
//!
//! Only the folders that mean something are read, hidden files left out (a mounted `ConfigMap` keeps its
//! data in such). Where a symbolic link leads out of the role, nothing behind it is read.

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::redact::WordSet;
use crate::regular_file::{self, LIMIT};

/// Folders of a role that are read.
const FOLDERS: [&str; 6] = ["tasks", "defaults", "vars", "templates", "files", "meta"];

/// Folders of an Ansible role that mean nothing here.
const FOREIGN: [&str; 6] = [
    "handlers",
    "library",
    "module_utils",
    "filter_plugins",
    "lookup_plugins",
    "action_plugins",
];

/// A folder's files by their path within it, with forward slashes.
#[derive(Debug)]
pub(crate) struct RoleFiles {
    pub(crate) path: PathBuf,
    files: BTreeMap<String, Bytes>,
}

impl RoleFiles {
    /// Reads the folder; what cannot be read is told.
    pub(crate) fn read(path: &Path, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let root = match path.canonicalize() {
            Ok(root) => root,
            Err(error) => {
                problems.push(unreadable(path, &error));
                return None;
            }
        };
        let mut walk = FolderReader {
            root,
            path: path.to_owned(),
            files: BTreeMap::new(),
            problems,
        };
        for folder in FOLDERS {
            if path.join(folder).is_dir() {
                walk.folder(folder);
            }
        }
        for folder in FOREIGN {
            if path.join(folder).is_dir() {
                let message = format!("{folder}/ means nothing here and is not read");
                let warning = Diagnostic::error(path.join(folder), 0, 0, message);
                let warning = warning.severity(Severity::Warning);
                walk.problems.push(warning);
            }
        }
        Some(Self {
            files: walk.files,
            path: path.to_owned(),
        })
    }

    /// The words of all files that are text.
    pub(crate) fn words(&self) -> WordSet {
        let mut words = WordSet::default();
        let texts = self.files.values();
        texts
            .filter_map(|bytes| str::from_utf8(bytes).ok())
            .for_each(|text| words.add_text(text));
        words
    }

    /// The bytes of a file.
    pub(crate) fn get(&self, file: &str) -> Option<&Bytes> {
        self.files.get(file)
    }

    /// The files below a folder of it, by their path within that.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &Bytes)> {
        let files = self.files.iter();
        files.filter_map(move |(path, bytes)| {
            let (top, rest) = path.split_once('/')?;
            (top == folder).then_some((rest, bytes))
        })
    }

    /// The text of a file that is there; an error if it is not UTF-8.
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

    /// Returns the existing one of `NAME.yaml` and `NAME.yml` for a path without an ending. If both exist, returns an
    /// error.
    pub(crate) fn yaml(&self, name: &str, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let [long, short] = ["yaml", "yml"].map(|ending| format!("{name}.{ending}"));
        match (
            self.files.contains_key(&long),
            self.files.contains_key(&short),
        ) {
            (true, true) => {
                let long = long.rsplit('/').next().unwrap_or(&long);
                let message = format!("{long} is there too, and only one of them can count");
                problems.push(Diagnostic::error(self.path.join(short), 0, 0, message));
                None
            }
            (true, false) => Some(long),
            (false, true) => Some(short),
            (false, false) => None,
        }
    }

    /// A hash of all names and contents.
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
    fn folder(&mut self, folder: &str) {
        let path = self.path.join(folder);
        let Some(entries) = self
            .inside(&path)
            .and_then(|()| self.tell(&path, fs::read_dir(&path)))
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
            && let Some(content) = self.tell(&path, regular_file::read(&path, LIMIT))
        {
            self.files.insert(relative, Bytes::from(content));
        }
    }

    /// Returns whether a path, links followed, is inside the role and no folder that contains itself.
    fn inside(&mut self, path: &Path) -> Option<()> {
        let target = self.tell(path, path.canonicalize())?;
        let message = if !target.starts_with(&self.root) {
            "is a link that leads out of the role"
        } else if path.is_dir() && self.encloses(path, &target) {
            "is a link to a folder that contains it"
        } else {
            return Some(());
        };
        self.problems.push(Diagnostic::error(path, 0, 0, message));
        None
    }

    /// Returns whether `target` is one of the folders on the way to `path`.
    fn encloses(&self, path: &Path, target: &Path) -> bool {
        let above = path.ancestors().skip(1);
        let mut above = above.take_while(|folder| folder.starts_with(&self.path));
        above.any(|folder| folder.canonicalize().is_ok_and(|folder| folder == target))
    }

    fn tell<T>(&mut self, path: &Path, result: io::Result<T>) -> Option<T> {
        result
            .map_err(|error| self.problems.push(unreadable(path, &error)))
            .ok()
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(path, 0, 0, format!("cannot be read: {error}"))
}
