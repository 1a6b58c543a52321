//! `rhai-operator completions` and `rhai-operator man`: files for shells and for man, from the tree of commands.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Exit;

/// The shell to complete commands in.
#[derive(Debug, Args)]
pub(super) struct CompletionOptions {
    /// The shell. Its documentation says where it reads completions from.
    shell: Shell,
}

impl CompletionOptions {
    pub(super) fn run(&self, mut tree: clap::Command) -> anyhow::Result<Exit> {
        // `generate` panics if a write fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut tree, "rhai-operator", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(Exit::Done)
    }
}

/// The folder of the man pages.
#[derive(Debug, Args)]
pub(super) struct ManOptions {
    /// Folder to write one page for each command to, such as ~/.local/share/man/man1.
    folder: PathBuf,
}

impl ManOptions {
    pub(super) fn run(&self, tree: clap::Command) -> anyhow::Result<Exit> {
        let folder = &self.folder;
        let created = fs::create_dir_all(folder);
        created.with_context(|| format!("cannot create {}", folder.display()))?;
        let mut tree = tree.disable_help_subcommand(true);
        tree.build();
        self.write_pages(&tree)?;
        Ok(Exit::Done)
    }

    /// Writes the page of a command and those of its subcommands.
    fn write_pages(&self, command: &clap::Command) -> anyhow::Result<()> {
        let name = command.get_display_name();
        let name = name.unwrap_or_else(|| command.get_name()).to_owned();
        let path = self.folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        Man::new(command.clone()).title(name).render(&mut page)?;
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(io::stdout(), "{}", path.display())?;
        command
            .get_subcommands()
            .try_for_each(|command| self.write_pages(command))
    }
}
