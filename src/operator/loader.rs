//! The project on disk: loaded at start, and again whenever its files change.
//!
//! A folder that a `ConfigMap` is mounted at changes by a link that is swapped, so that what is watched is
//! the folders, and they are watched anew after each change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::Options;
use crate::clock;
use crate::model::Problem;
use crate::role::{Project, Toolchain};
use crate::watches::Environment;

/// An editor or a mount changes several files in a row; one load is enough.
const SETTLE: Duration = Duration::from_millis(200);

/// Loads a project.
#[derive(Clone)]
pub(super) struct Loader {
    watches_file: PathBuf,
    roles_dir: PathBuf,
    environment: Environment,
    toolchain: Toolchain,
}

impl Loader {
    pub(super) fn new(options: &Options, toolchain: Toolchain) -> Self {
        Self {
            watches_file: options.watches_file.clone(),
            roles_dir: options.roles_dir.clone(),
            environment: options.environment.clone(),
            toolchain,
        }
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Reads and compiles everything, beside the tasks that serve.
    pub(super) async fn load(&self) -> Result<Project, Vec<Problem>> {
        let loader = self.clone();
        let project = tokio::task::spawn_blocking(move || {
            Project::load(
                &loader.watches_file,
                &loader.roles_dir,
                &loader.environment,
                &loader.toolchain,
            )
        });
        project.await.unwrap_or_else(|error| {
            let message = format!("loading it failed: {error}");
            Err(vec![Problem::error(&self.watches_file, 0, 0, message)])
        })
    }

    /// Hands over each new version that is right; does not end.
    pub(super) async fn follow<F>(&self, serve: impl Fn(Arc<Project>) -> F)
    where
        F: Future<Output = ()>,
    {
        let changed = Arc::new(Notify::new());
        let mut watcher = self.watch_files(&changed);
        loop {
            changed.notified().await;
            clock::sleep(SETTLE).await;
            // Before the files are read, so that no change falls in between.
            drop(std::mem::replace(&mut watcher, self.watch_files(&changed)));
            match self.load().await {
                Ok(project) => {
                    tracing::info!(watches = project.watches.len(), "project loaded anew");
                    serve(Arc::new(project)).await;
                }
                Err(problems) => {
                    for problem in &problems {
                        tracing::error!("{problem}");
                    }
                    tracing::error!("the changed project is refused, the last good one serves on");
                }
            }
        }
    }

    fn watch_files(&self, changed: &Arc<Notify>) -> Option<RecommendedWatcher> {
        let watcher = self.try_watch_files(changed);
        let report =
            |error| tracing::warn!(%error, "changes of files are seen after a restart only");
        watcher.map_err(report).ok()
    }

    fn try_watch_files(&self, changed: &Arc<Notify>) -> notify::Result<RecommendedWatcher> {
        let (changed, loader) = (Arc::clone(changed), self.clone());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| loader.is_concerned(&event)) {
                changed.notify_one();
            }
        })?;
        let folder = match self.watches_file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        watcher.watch(&self.roles_dir, RecursiveMode::Recursive)?;
        Ok(watcher)
    }

    /// Reading a file is no change of it. Beside watches.yaml there may be anything; the links that a
    /// mounted `ConfigMap` swaps begin with two dots.
    fn is_concerned(&self, event: &Event) -> bool {
        !event.kind.is_access()
            && event.paths.iter().any(|path| {
                let name = path.file_name().unwrap_or_default();
                Some(name) == self.watches_file.file_name()
                    || name.as_encoded_bytes().starts_with(b"..")
                    || path.starts_with(&self.roles_dir)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::host;

    fn mk_loader(folder: &Path) -> Loader {
        let role = folder.join("roles/r/tasks");
        fs::create_dir_all(&role).unwrap();
        fs::write(role.join("main.rhai"), "").unwrap();
        let loader = Loader {
            watches_file: folder.join("watches.yaml"),
            roles_dir: folder.join("roles"),
            environment: Environment::default(),
            toolchain: host::toolchain(),
        };
        write_watches(&loader, "A");
        loader
    }

    fn write_watches(loader: &Loader, kind: &str) {
        let text = format!("- {{group: g, version: v1, kind: {kind}, role: r}}\n");
        fs::write(&loader.watches_file, text).unwrap();
    }

    /// Makes changes while a project is followed; returns the kinds that were served, one per change.
    async fn served(loader: &Loader, changes: &[&dyn Fn()]) -> Vec<String> {
        let (sender, mut projects) = tokio::sync::mpsc::unbounded_channel();
        let following = loader.follow(|project| {
            sender.send(project).unwrap();
            std::future::ready(())
        });
        let changing = async {
            let mut kinds = Vec::new();
            for change in changes {
                change();
                let project = projects.recv().await.unwrap();
                kinds.push(project.watches[0].gvk.kind.to_string());
            }
            kinds
        };
        tokio::select! {
            kinds = changing => kinds,
            () = following => unreachable!("does not end"),
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_served_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let loader = mk_loader(folder.path());
        let script = loader.roles_dir.join("r/tasks/main.rhai");
        let moved = || write_watches(&loader, "B");
        let scripted = || fs::write(&script, "let x = 1;").unwrap();
        let broken_and_mended = || {
            fs::write(&loader.watches_file, "- oops").unwrap();
            write_watches(&loader, "C");
        };
        let kinds = served(&loader, &[&moved, &scripted, &broken_and_mended]).await;
        assert_eq!(kinds, ["B", "B", "C"]);
        fs::write(&script, "let x = ;").unwrap();
        assert!(loader.load().await.is_err());
    }
}
