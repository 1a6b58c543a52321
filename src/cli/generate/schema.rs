//! `rhai-operator generate schema`: JSON Schemas for editors.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use crate::cli::Exit;
use crate::pipeline;
use crate::watches;

/// The schema to print.
#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// File that the schema describes.
    file: File,
}

/// Files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum File {
    /// tasks/main.yaml of a role
    Pipeline,
    /// watches.yaml
    Watches,
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Self { file } = self;
        let schema = match file {
            File::Pipeline => pipeline::schema(),
            File::Watches => watches::schema(),
        };
        let mut stdout = io::stdout().lock();
        serde_json::to_writer_pretty(&mut stdout, &schema)?;
        writeln!(stdout)?;
        Ok(Exit::Done)
    }
}
