//! `rhai-operator version`.

use std::io::Write;

use clap::Args;

use super::Exit;

/// The options: none.
#[derive(Debug, Args)]
pub(super) struct Options {}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Self {} = self;
        writeln!(
            std::io::stdout(),
            "rhai-operator {}",
            env!("CARGO_PKG_VERSION")
        )?;
        Ok(Exit::Done)
    }
}
