//! The project on disk: loaded at start, and again whenever its files change.
//!
//! A folder that is moved away or a link that is swapped takes its watch along, so that the files are
//! watched anew after each change.

use std::path::PathBuf;
use std::sync::Arc;

use super::Options;
use crate::model::Problem;
use crate::role::{FileWatch, Project, Toolchain};
use crate::watches::Environment;

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

    /// Watches the files, from now on.
    pub(super) fn watch(&self) -> Option<FileWatch> {
        FileWatch::start(&self.watches_file, &self.roles_dir)
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of files are seen after a restart only");
            })
            .ok()
    }

    /// Hands over each version that is right and newer than what was there when the watch began; does
    /// not end.
    pub(super) async fn follow<F>(
        &self,
        mut watch: Option<FileWatch>,
        serve: impl Fn(Arc<Project>) -> F,
    ) where
        F: Future<Output = ()>,
    {
        while let Some(current) = watch {
            current.changed().await;
            // Before the files are read, so that no change falls in between.
            watch = self.watch();
            match self.load().await {
                Ok(project) => {
                    tracing::info!(watches = project.watches.len(), "project loaded anew");
                    serve(Arc::new(project)).await;
                }
                Err(problems) => {
                    for problem in &problems {
                        if problem.is_error() {
                            tracing::error!("{problem}");
                        } else {
                            tracing::warn!("{problem}");
                        }
                    }
                    tracing::error!("the changed project is refused, the last good one serves on");
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

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
        let following = loader.follow(loader.watch(), |project| {
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
