//! The project on disk: loaded at start, and again whenever its files change.
//!
//! A project that cannot be loaded, for example because its folder is missing, is reported, and the
//! operator continues with the last valid one. The files are followed until the process ends.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::options::Options;
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::model::redact::PublicText;
use crate::role::{FileWatch, Project, Toolchain};
use crate::telemetry::log;
use crate::watches::Environment;

/// Loads a project.
#[derive(Clone)]
pub(super) struct Loader {
    watches_file: PathBuf,
    roles_dir: PathBuf,
    environment: Environment,
    toolchain: Toolchain,
    /// Warnings and notes of the previous version.
    reported: Arc<Mutex<Vec<Diagnostic>>>,
}

impl Loader {
    pub(super) fn new(options: &Options, toolchain: Toolchain) -> Self {
        Self {
            watches_file: options.watches_file.clone(),
            roles_dir: options.roles_dir.clone(),
            environment: options.environment.clone(),
            toolchain,
            reported: Arc::default(),
        }
    }

    /// Logs the diagnostics of a version of the project: its errors, and the warnings and notes that the
    /// previous version did not have. Notes about differences from the Ansible operator are for `check`.
    pub(super) fn report(&self, problems: &[Diagnostic]) {
        let mut told = self.reported.lock();
        for problem in problems {
            let text = PublicText::outside_runs(problem);
            match problem.severity {
                Severity::Error => log::error!(text),
                _ if told.contains(problem) => {}
                Severity::Warning => log::warn!(text),
                Severity::Note => log::debug!(text),
            }
        }
        *told = problems.to_vec();
    }

    pub(super) fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Reads and compiles the project outside the tasks of the runtime.
    pub(super) async fn load(&self) -> Result<Project, Vec<Diagnostic>> {
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
            Err(vec![Diagnostic::error(&self.watches_file, 0, 0, message)])
        })
    }

    /// Starts to watch the files.
    pub(super) fn watch(&self) -> FileWatch {
        FileWatch::start(&self.watches_file, &self.roles_dir)
    }

    /// Sends each valid version that is newer than the one at the start of the watch. Does not return.
    pub(super) async fn follow<F>(&self, mut watch: FileWatch, serve: impl Fn(Arc<Project>) -> F)
    where
        F: Future<Output = ()>,
    {
        loop {
            watch.changed().await;
            match self.load().await {
                Ok(project) => {
                    log::info!("project reloaded", watches = project.watches.len());
                    self.report(&project.notes);
                    serve(Arc::new(project)).await;
                }
                Err(problems) => {
                    self.report(&problems);
                    log::error!("cannot reload the project: the last good version stays in use");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    use crate::host;
    use crate::role::Entry;

    fn mk_loader(folder: &Path) -> Loader {
        let role = folder.join("roles/r/tasks");
        fs::create_dir_all(&role).unwrap();
        fs::write(role.join("main.rhai"), "").unwrap();
        let loader = Loader {
            watches_file: folder.join("watches.yaml"),
            roles_dir: folder.join("roles"),
            environment: Environment::default(),
            toolchain: host::toolchain(),
            reported: Arc::default(),
        };
        write_watches(&loader, "A");
        loader
    }

    fn write_watches(loader: &Loader, kind: &str) {
        let text = format!("- {{group: g, version: v1, kind: {kind}, role: r}}\n");
        fs::write(&loader.watches_file, text).unwrap();
    }

    /// Makes changes while a project is followed. Returns the served projects, one per change.
    async fn served<T>(
        loader: &Loader,
        changes: &[&dyn Fn()],
        what: impl Fn(&Project) -> T,
    ) -> Vec<T> {
        let (sender, mut projects) = tokio::sync::mpsc::unbounded_channel();
        let following = loader.follow(loader.watch(), |project| {
            sender.send(project).unwrap();
            std::future::ready(())
        });
        let changing = async {
            let mut all = Vec::new();
            for change in changes {
                change();
                all.push(what(&projects.recv().await.unwrap()));
            }
            all
        };
        tokio::select! {
            all = changing => all,
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
        let kind = |project: &Project| project.watches[0].gvk.kind.to_string();
        let kinds = served(&loader, &[&moved, &scripted, &broken_and_mended], kind).await;
        assert_eq!(kinds, ["B", "B", "C"]);
        fs::write(&script, "let x = ;").unwrap();
        assert!(loader.load().await.is_err());
    }

    #[tokio::test]
    async fn a_project_that_was_missing_at_a_reload_is_served_once_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let loader = mk_loader(folder.path());
        let away = folder.path().join("away");
        for part in [&loader.roles_dir, &loader.watches_file] {
            let (sender, mut projects) = tokio::sync::mpsc::unbounded_channel();
            let mut watch = loader.watch();
            fs::rename(part, &away).unwrap();
            // This reload finds no change.
            watch.changed().await;
            assert!(loader.load().await.is_err());
            let following = loader.follow(watch, |project| {
                sender.send(project).unwrap();
                std::future::ready(())
            });
            fs::rename(&away, part).unwrap();
            tokio::select! {
                project = projects.recv() => assert_eq!(project.unwrap().watches.len(), 1),
                () = following => unreachable!("does not end"),
            }
        }
    }

    #[tokio::test]
    async fn a_changed_step_and_a_changed_included_file_are_served() {
        let folder = tempfile::tempdir().unwrap();
        let loader = mk_loader(folder.path());
        let tasks = loader.roles_dir.join("r/tasks");
        fs::remove_file(tasks.join("main.rhai")).unwrap();
        let write = |file: &str, text: &str| fs::write(tasks.join(file), text).unwrap();
        write("more.yaml", "- {name: b, script: '1'}\n");
        let steps = "- {name: a, script: '1'}\n- include: more.yaml\n";
        write("main.yaml", steps);
        let names = |project: &Project| {
            let Entry::Pipeline(pipeline) = &project.roles.get("r").unwrap().entry else {
                panic!("it is a pipeline")
            };
            let names = pipeline.all_steps();
            let names: Vec<_> = names.iter().map(|step| step.name.to_string()).collect();
            names.join(" ")
        };
        let a_step = || write("main.yaml", &steps.replace("name: a", "name: c"));
        let an_included_one = || write("more.yaml", "- {name: d, script: '1'}\n");
        let broken_and_mended = || {
            write("more.yaml", "- {name: d, scrpt: '1'}\n");
            write("more.yaml", "- {name: e, script: '1'}\n");
        };
        let changes: [&dyn Fn(); 3] = [&a_step, &an_included_one, &broken_and_mended];
        let all = served(&loader, &changes, names).await;
        assert_eq!(all, ["c include 2 b", "c include 2 d", "c include 2 e"]);
        write("more.yaml", "- {name: d, scrpt: '1'}\n");
        let problems = loader.load().await.unwrap_err();
        let problems: Vec<_> = problems
            .iter()
            .filter(|problem| problem.is_error())
            .collect();
        assert!(
            problems[0].file.ends_with("tasks/more.yaml"),
            "{problems:?}"
        );
        assert_eq!((problems.len(), problems[0].line), (1, 1));
    }
}
