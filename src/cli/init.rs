//! `rhai-operator init`: creates the files of a project in the current folder.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::new_files::{NewFiles, WriteOptions};
use crate::generate::scaffold::{check_domain, check_folder, project_files};

/// The project to create.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// A domain that you own, such as shop.example.com. The API groups of the project are below it.
    domain: String,
    /// Name of the operator: of its image, its namespace and its service account. Default: the first part of
    /// the domain, with -operator.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    write: WriteOptions,
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Self {
            domain,
            name,
            write,
        } = self;
        check_domain(&domain).context("DOMAIN")?;
        let name = name.unwrap_or_else(|| {
            let first = domain.split('.').next().unwrap_or_default();
            format!("{first}-operator")
        });
        check_folder(&name).context("--name")?;
        let mut files = NewFiles::default();
        files.create(project_files(&domain, &name)?);
        let exit = files.write(write)?;
        writeln!(
            io::stderr(),
            "next: rhai-operator new api KIND --group GROUP.{domain}"
        )?;
        Ok(exit)
    }
}
