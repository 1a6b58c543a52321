//! `rhai-operator init`: creates the files of a project in the current folder.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::new_files::{NewFiles, WriteOptions};
use crate::generate::manifests::DeployFolder;
use crate::generate::rbac::{KindTable, Requirements};
use crate::generate::scaffold::{check_domain, check_folder, project_files};
use crate::generate::{ProjectFile, Settings};
use crate::role;

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
        files.create(manifests(&name)?);
        let exit = files.write(write)?;
        writeln!(
            io::stderr(),
            "next: rhai-operator new api KIND --group GROUP.{domain}"
        )?;
        Ok(exit)
    }
}

/// Returns the manifests of an operator without kinds.
fn manifests(name: &str) -> anyhow::Result<Vec<ProjectFile>> {
    let settings = Settings::of_new_project(name);
    let project = role::Project::default();
    let requirements = Requirements::of_project(&project, &KindTable::new(&[]), &settings);
    let folder = DeployFolder {
        settings: &settings,
        requirements: &requirements,
        crds: &[],
    };
    let mut files = folder.files()?;
    for file in &mut files {
        file.path = Path::new("deploy").join(&file.path);
    }
    Ok(files)
}
