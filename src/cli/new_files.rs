//! Writes the files of a new part of a project: all of them, or none.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Exit;
use crate::generate::ProjectFile;
use crate::regular_file;

/// Options of commands that write files.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct WriteOptions {
    /// Overwrite files that exist.
    #[arg(long)]
    force: bool,
    /// Write nothing; print the files that would be written.
    #[arg(long)]
    dry_run: bool,
}

impl WriteOptions {
    pub(super) fn is_dry_run(self) -> bool {
        self.dry_run
    }
}

/// Changes of a project.
#[derive(Debug, Default)]
pub(super) struct NewFiles {
    /// Files that must not exist.
    created: Vec<ProjectFile>,
    /// Files that the user edits, with their changed texts.
    changed: Vec<ProjectFile>,
}

impl NewFiles {
    /// Adds files that must not exist.
    pub(super) fn create(&mut self, files: impl IntoIterator<Item = ProjectFile>) {
        self.created.extend(files);
    }

    /// Adds a changed text of a file that exists.
    pub(super) fn change(&mut self, path: PathBuf, text: String) {
        self.changed.push(ProjectFile { path, text });
    }

    /// Writes the files, and prints their paths. Fails before the first write if a file exists.
    pub(super) fn write(&self, options: WriteOptions) -> anyhow::Result<Exit> {
        let existing: Vec<String> = self
            .created
            .iter()
            .filter(|file| file.path.symlink_metadata().is_ok())
            .map(|file| file.path.display().to_string())
            .collect();
        anyhow::ensure!(
            existing.is_empty() || options.force,
            "cannot overwrite files that exist: {}\n  hint: remove them, or add --force",
            existing.join(", ")
        );
        let mut stdout = io::stdout().lock();
        let created = self.created.iter().map(|file| {
            let overwrites = existing.contains(&file.path.display().to_string());
            (file, if overwrites { "overwritten" } else { "created" })
        });
        let changed = self.changed.iter().map(|file| (file, "changed"));
        for (file, state) in created.chain(changed) {
            let path = file.path.display();
            if options.dry_run {
                writeln!(stdout, "{path}: would be {state}")?;
                continue;
            }
            let write = || {
                fs::create_dir_all(regular_file::folder_of(&file.path))?;
                fs::write(&file.path, &file.text)
            };
            write().with_context(|| format!("cannot write {path}"))?;
            writeln!(stdout, "{path}: {state}")?;
        }
        Ok(Exit::Done)
    }
}
