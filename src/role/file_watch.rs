//! Notices that the files of a project may have changed.
//!
//! Watched are the folders, not the files: an editor replaces a file, and a mounted `ConfigMap` changes by
//! a symbolic link beside it (`..data`) that is moved to a new folder. What changed is not told: the
//! reader loads all anew and compares digests. What lies beside watches.yaml and is no part of the
//! project is no change: it may be the log that the operator itself writes to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::clock;

/// Writers of several files pause less than this between them.
const QUIET: Duration = Duration::from_millis(100);

/// A watch on the files of a project; it ends when dropped.
#[derive(Debug)]
pub struct FileWatch {
    changed: Arc<Notify>,
    _watcher: RecommendedWatcher,
}

impl FileWatch {
    /// Watches a watches.yaml and a roles folder.
    pub fn start(watches_file: &Path, roles_dir: &Path) -> notify::Result<Self> {
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let beside = Beside::of(watches_file, roles_dir);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error means that events may be lost.
            if event
                .as_ref()
                .map_or(true, |event| is_change(event) && !beside.is_all_of(event))
            {
                notify.notify_one();
            }
        })?;
        for file in [watches_file, roles_dir] {
            watcher.watch(&folder_of(file), RecursiveMode::NonRecursive)?;
        }
        // Last: watches.yaml may lie in the roles folder, which then must stay watched in depth.
        watcher.watch(roles_dir, RecursiveMode::Recursive)?;
        Ok(Self {
            changed,
            _watcher: watcher,
        })
    }

    /// Waits until something changed since the last call, and then until nothing does for a moment.
    pub async fn changed(&self) {
        self.changed.notified().await;
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                () = clock::sleep(QUIET) => return,
            }
        }
    }
}

/// The folders that a project lies in, which may hold anything else.
struct Beside {
    folders: Vec<PathBuf>,
    /// What in them is the project's.
    names: Vec<OsString>,
}

impl Beside {
    fn of(watches_file: &Path, roles_dir: &Path) -> Self {
        let parts = [watches_file, roles_dir];
        let roles = absolute(roles_dir);
        let folders = parts.iter().map(|part| absolute(&folder_of(part)));
        let names = parts.iter().filter_map(|part| part.file_name());
        Self {
            folders: folders.filter(|folder| *folder != roles).collect(),
            names: names.map(OsString::from).collect(),
        }
    }

    /// Whether an event is about nothing else. The links of a mounted `ConfigMap` begin with two dots.
    fn is_all_of(&self, event: &Event) -> bool {
        let is_beside = |path: &PathBuf| {
            let path = absolute(path);
            let Some((folder, name)) = path.parent().zip(path.file_name()) else {
                return false;
            };
            self.folders.iter().any(|known| known == folder)
                && !self.names.iter().any(|known| known == name)
                && !name.as_encoded_bytes().starts_with(b"..")
        };
        !event.paths.is_empty() && event.paths.iter().all(is_beside)
    }
}

/// Events name files by their whole path, users often do not.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Reading a file is an event too, and loading reads them all.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_the_project_is_no_change() {
        let is_beside = |watches: &str, roles: &str, paths: &[&str]| {
            let event = Event::new(EventKind::Any);
            let event = paths
                .iter()
                .fold(event, |event, path| event.add_path(path.into()));
            Beside::of(Path::new(watches), Path::new(roles)).is_all_of(&event)
        };
        let here = |paths: &[&str]| is_beside("./watches.yaml", "./roles", paths);
        assert!(here(&["./operator.log"]));
        assert!(here(&["./.git"]));
        assert!(!here(&["./watches.yaml"]));
        assert!(!here(&["./watches.yaml.new", "./watches.yaml"]));
        assert!(!here(&["./roles"]));
        assert!(!here(&["./roles/web/tasks/main.yaml"]));
        assert!(!here(&["./..data"]));
        assert!(!here(&[]), "what is not known may be a change");
        assert!(!is_beside(
            "roles/watches.yaml",
            "roles",
            &["roles/notes.txt"]
        ));
        assert!(is_beside(
            "/etc/operator/watches.yaml",
            "/roles",
            &["/etc/operator/log"]
        ));
        assert!(is_beside("/etc/operator/watches.yaml", "/roles", &["/log"]));
    }
}
