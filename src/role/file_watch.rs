//! Notices that the files of a project may have changed.
//!
//! Watched are the folders, not the files: an editor replaces a file, and a mounted `ConfigMap` changes by
//! a symbolic link beside it (`..data`) that is moved to a new folder. What changed is not told: the
//! reader loads all anew and compares digests, so an event too many costs a few milliseconds and no more.

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
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error means that events may be lost.
            if event.as_ref().map_or(true, is_change) {
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
