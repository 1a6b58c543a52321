//! Detects changes of the files of a project.
//!
//! Two mechanisms work together. Events of the operating system report a change at once. They are
//! requested for folders, because an editor replaces a file, and a mounted `ConfigMap` changes by a symbolic
//! link beside it (`..data`). Events can get lost: a missing folder cannot be watched, a replaced folder loses
//! its watch, a queue overflows, a system runs out of watches. So the watch also compares the names, sizes
//! and times of all files every few seconds. It ends only when it is dropped.
//!
//! A file beside watches.yaml that does not belong to the project is ignored: it may be the log that the
//! operator writes.

use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use twox_hash::XxHash3_64;

use crate::clock;
use crate::model::redact::PublicText;
use crate::telemetry::log;

/// The quiet time after a change before it is reported. Programs that write several files pause less.
const QUIET: Duration = Duration::from_millis(100);

/// The time between two comparisons of the files. A comparison takes about a microsecond per file.
const CHECK: Duration = Duration::from_secs(5);

/// The limits of a comparison, for folders that contain themselves through a link.
const MAX_FILES: usize = 20_000;
const MAX_LEVELS: usize = 16;

/// A watch on the files of a project. It ends when it is dropped.
#[derive(Debug)]
pub struct FileWatch {
    files: Files,
    notified: Arc<Notify>,
    /// `None` if the system reports no events.
    events: Option<RecommendedWatcher>,
    /// The fingerprint of the files when the last change was reported.
    known: u64,
}

impl FileWatch {
    /// Starts to watch a watches.yaml and a roles folder. Both can be missing.
    pub fn start(watches_file: &Path, roles_dir: &Path) -> Self {
        let files = Files {
            watches_file: watches_file.to_owned(),
            roles_dir: roles_dir.to_owned(),
        };
        let notified = Arc::default();
        let events = files.events(&notified);
        if let Err(error) = &events {
            report_lost(error);
        }
        Self {
            events: events.ok(),
            known: files.fingerprint(),
            notified,
            files,
        }
    }

    /// Waits until a file changed since the last call, and then until no file changes for a moment.
    pub async fn changed(&mut self) {
        loop {
            tokio::select! {
                () = self.notified.notified() => break,
                () = clock::sleep(CHECK) => if self.check() { break },
            }
        }
        loop {
            tokio::select! {
                () = self.notified.notified() => {}
                () = clock::sleep(QUIET) => break,
            }
        }
        // Before the caller reads the files, so that no change falls in between. Watched anew each
        // time: the folders may be others now.
        self.restart_watch();
        self.known = self.files.fingerprint();
    }

    /// Returns whether a file changed without an event.
    fn check(&mut self) -> bool {
        if self.events.is_none() {
            self.restart_watch();
        }
        self.files.fingerprint() != self.known
    }

    fn restart_watch(&mut self) {
        match self.files.events(&self.notified) {
            Ok(events) => {
                if self.events.replace(events).is_none() {
                    log::debug!("the system reports changes of files again");
                }
            }
            Err(error) => {
                if self.events.take().is_some() {
                    report_lost(&error);
                }
            }
        }
    }
}

/// Ignores the error of a missing folder, which the loader reports.
fn report_lost(error: &notify::Error) {
    let is_missing = match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    if is_missing {
        return;
    }
    let error = PublicText::outside_runs(error);
    log::warn!(
        "cannot watch the files: comparing them periodically",
        error = error,
        period = CHECK
    );
}

/// The watched files.
#[derive(Debug)]
struct Files {
    watches_file: PathBuf,
    roles_dir: PathBuf,
}

impl Files {
    /// Requests events from the system.
    fn events(&self, notified: &Arc<Notify>) -> notify::Result<RecommendedWatcher> {
        let Self {
            watches_file,
            roles_dir,
        } = self;
        let notified = Arc::clone(notified);
        let beside = ContainingFolders::new(watches_file, roles_dir);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error means that events may be lost.
            if event
                .as_ref()
                .map_or(true, |event| is_change(event) && !beside.is_all_of(event))
            {
                notified.notify_one();
            }
        })?;
        for file in [watches_file, roles_dir] {
            watcher.watch(&folder_of(file), RecursiveMode::NonRecursive)?;
        }
        // Last: watches.yaml may lie in the roles folder, which then must stay watched in depth.
        watcher.watch(roles_dir, RecursiveMode::Recursive)?;
        Ok(watcher)
    }

    /// Hashes the names, sizes and times of all files. Follows links.
    fn fingerprint(&self) -> u64 {
        let mut hasher = TreeHasher {
            hasher: XxHash3_64::new(),
            left: MAX_FILES,
        };
        hasher.file(&self.watches_file, 0);
        hasher.file(&self.roles_dir, MAX_LEVELS);
        hasher.hasher.finish()
    }
}

struct TreeHasher {
    hasher: XxHash3_64,
    left: usize,
}

impl TreeHasher {
    /// Hashes a file, or a folder down to `levels` below it.
    fn file(&mut self, path: &Path, levels: usize) {
        self.left = self.left.saturating_sub(1);
        path.hash(&mut self.hasher);
        let Ok(metadata) = fs::metadata(path) else {
            return;
        };
        let inode = (metadata.dev(), metadata.ino());
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        if !metadata.is_dir() {
            (inode, modified, metadata.len()).hash(&mut self.hasher);
        } else if levels > 0 {
            inode.hash(&mut self.hasher);
            self.folder(path, levels - 1);
        }
    }

    fn folder(&mut self, path: &Path, levels: usize) {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
        names.sort();
        for name in names {
            if self.left > 0 {
                self.file(&path.join(name), levels);
            }
        }
    }
}

/// The folders that contain the project. They can contain other files.
struct ContainingFolders {
    folders: Vec<PathBuf>,
    /// The files and folders of the project in them.
    names: Vec<OsString>,
}

impl ContainingFolders {
    fn new(watches_file: &Path, roles_dir: &Path) -> Self {
        let parts = [watches_file, roles_dir];
        let roles = absolute(roles_dir);
        let folders = parts.iter().map(|part| absolute(&folder_of(part)));
        let names = parts.iter().filter_map(|part| part.file_name());
        Self {
            folders: folders.filter(|folder| *folder != roles).collect(),
            names: names.map(OsString::from).collect(),
        }
    }

    /// Returns whether an event concerns only other files. The links of a mounted `ConfigMap` begin with two dots.
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

/// Returns the absolute path of a file, as events have it.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns whether an event is a change. Reading a file is an event too, and loading reads all files.
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
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns a watch without events, as on a system that has no watches left.
    fn without_events(root: &Path) -> FileWatch {
        let mut watch = FileWatch::start(&root.join("watches.yaml"), &root.join("roles"));
        watch.events = None;
        watch.notified = Arc::default();
        watch
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_without_an_event_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (root, roles) = (folder.path(), folder.path().join("roles"));
        fs::create_dir_all(roles.join("web/tasks")).unwrap();
        let changes: [&dyn Fn(); 5] = [
            &|| fs::write(root.join("watches.yaml"), "[]").unwrap(),
            &|| fs::write(roles.join("web/tasks/main.rhai"), "1").unwrap(),
            &|| fs::rename(&roles, root.join("former")).unwrap(),
            &|| symlink("former", &roles).unwrap(),
            &|| fs::remove_dir_all(root.join("former")).unwrap(),
        ];
        for change in changes {
            let mut watch = without_events(root);
            let started = clock::now();
            change();
            watch.changed().await;
            assert!(started.elapsed() >= CHECK, "found by a comparison");
            assert_eq!(watch.known, watch.files.fingerprint());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn events_come_again_once_the_folder_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mut watch = FileWatch::start(&root.join("watches.yaml"), &root.join("roles"));
        assert!(watch.events.is_none(), "there is no folder to watch");
        fs::create_dir(root.join("roles")).unwrap();
        watch.changed().await;
        assert!(watch.events.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn unchanged_files_are_not_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let roles = folder.path().join("roles");
        fs::create_dir_all(&roles).unwrap();
        symlink(".", roles.join("itself")).unwrap();
        let mut watch = without_events(folder.path());
        let changed = tokio::time::timeout(CHECK * 10, watch.changed()).await;
        assert!(changed.is_err());
    }

    #[test]
    fn lost_events_are_a_change() {
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        let beside = ContainingFolders::new(Path::new("watches.yaml"), Path::new("roles"));
        assert!(is_change(&overflow) && !beside.is_all_of(&overflow));
    }

    #[test]
    fn a_file_beside_the_project_is_ignored() {
        let is_beside = |watches: &str, roles: &str, paths: &[&str]| {
            let event = Event::new(EventKind::Any);
            let event = paths
                .iter()
                .fold(event, |event, path| event.add_path(path.into()));
            ContainingFolders::new(Path::new(watches), Path::new(roles)).is_all_of(&event)
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
