//! Compares generated files with those of a folder, and writes those that differ.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::Exit;
use crate::generate::ProjectFile;
use crate::generate::manifests::is_generated;
use crate::regular_file;

/// The state of a file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Unchanged,
    Missing,
    /// The text differs from the generated one.
    Different,
    /// The user maintains the file.
    Foreign,
    /// The settings no longer need the file.
    Obsolete,
}

/// A generated file and its state on disk.
#[derive(Debug)]
struct PlannedFile {
    path: PathBuf,
    /// The generated text; empty for an obsolete file.
    text: String,
    state: FileState,
}

/// The generated files of a folder.
#[derive(Debug)]
pub(in crate::cli) struct GeneratedFiles {
    files: Vec<PlannedFile>,
    /// The command that writes the files.
    command: &'static str,
}

impl GeneratedFiles {
    /// Compares files with those of a folder. Files at `owned` paths are obsolete if they are generated, and not
    /// among `files`.
    pub(in crate::cli) fn compare(
        folder: &Path,
        files: Vec<ProjectFile>,
        owned: impl Iterator<Item = PathBuf>,
        command: &'static str,
    ) -> anyhow::Result<Self> {
        let mut planned = Vec::new();
        for path in owned {
            let is_obsolete = files.iter().all(|file| file.path != path);
            let path = folder.join(path);
            if is_obsolete && existing_text(&path)?.is_some_and(|text| is_generated(&text)) {
                planned.push(PlannedFile {
                    path,
                    text: String::new(),
                    state: FileState::Obsolete,
                });
            }
        }
        for ProjectFile { path, text } in files {
            let path = folder.join(path);
            let state = match existing_text(&path)? {
                None => FileState::Missing,
                Some(existing) if existing == text => FileState::Unchanged,
                // What has no mark in its generated form is owned without one.
                Some(existing) if is_generated(&text) && !is_generated(&existing) => {
                    FileState::Foreign
                }
                Some(_) => FileState::Different,
            };
            planned.push(PlannedFile { path, text, state });
        }
        Ok(Self {
            files: planned,
            command,
        })
    }

    /// Returns true if a file on disk is not as generated.
    fn are_stale(&self) -> bool {
        let is_current =
            |file: &PlannedFile| matches!(file.state, FileState::Unchanged | FileState::Foreign);
        !self.files.iter().all(is_current)
    }

    /// Writes the files, or fails if one is stale.
    pub(in crate::cli) fn finish(&self, check: bool) -> anyhow::Result<Exit> {
        if !check {
            self.write(false)?;
            return Ok(Exit::Done);
        }
        self.print_states()?;
        Ok(if self.are_stale() {
            Exit::Failed
        } else {
            Exit::Done
        })
    }

    /// Prints the state of each file.
    fn print_states(&self) -> io::Result<()> {
        let command = self.command;
        let mut stdout = io::stdout().lock();
        for file in &self.files {
            let path = file.path.display();
            let state = match file.state {
                FileState::Missing => format!("missing; run {command}"),
                FileState::Different => format!("out of date; run {command}"),
                FileState::Obsolete => format!("not needed; run {command}"),
                FileState::Unchanged | FileState::Foreign => file.state.name().to_owned(),
            };
            writeln!(stdout, "{path}: {state}")?;
        }
        Ok(())
    }

    /// Prints the files as documents of YAML.
    pub(in crate::cli) fn print_texts(&self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        let is_yaml = |file: &&PlannedFile| {
            let is_needed = file.state != FileState::Obsolete;
            is_needed && file.path.extension().is_some_and(|it| it == "yaml")
        };
        for (index, file) in self.files.iter().filter(is_yaml).enumerate() {
            let separator = if index == 0 { "" } else { "---\n" };
            write!(stdout, "{separator}{}", file.text)?;
        }
        Ok(())
    }

    /// Writes the files that differ, removes obsolete ones, and prints the state of each. `quiet` leaves out files
    /// that did not change.
    pub(in crate::cli) fn write(&self, quiet: bool) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        for file in &self.files {
            let PlannedFile { path, text, state } = file;
            let write = || match state {
                FileState::Unchanged | FileState::Foreign => Ok(()),
                FileState::Obsolete => fs::remove_file(path),
                FileState::Missing | FileState::Different => {
                    fs::create_dir_all(regular_file::folder_of(path))?;
                    fs::write(path, text)
                }
            };
            write().with_context(|| format!("cannot write {}", path.display()))?;
            if !quiet || *state != FileState::Unchanged {
                writeln!(stdout, "{}: {}", path.display(), state.name())?;
            }
        }
        Ok(())
    }
}

impl FileState {
    /// Returns the words for a file that was written.
    fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Missing => "created",
            Self::Different => "updated",
            Self::Foreign => "kept, because it does not begin with the lines of generated files",
            Self::Obsolete => "removed",
        }
    }
}

fn existing_text(path: &Path) -> anyhow::Result<Option<String>> {
    match regular_file::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
