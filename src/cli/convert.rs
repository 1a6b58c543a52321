//! `rhai-operator role convert`: converts the pipeline of a role to a script.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::{Exit, print_diagnostics};
use crate::pipeline;
use crate::role::{self, Entry, Toolchain};

/// The pipeline to convert.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of the role.
    role: String,
    /// Convert tasks/finalize.yaml instead of tasks/main.yaml.
    #[arg(long)]
    finalize: bool,
    /// Folder with one subfolder per role.
    #[arg(
        long,
        value_name = "DIR",
        env = "RHAI_OPERATOR_ROLES_DIR",
        default_value = "./roles"
    )]
    roles_dir: PathBuf,
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self {
            role: name,
            finalize,
            roles_dir,
        } = self;
        if !roles_dir.join(&name).is_dir() {
            let names = role::role_names(&roles_dir);
            let names = names.with_context(|| format!("cannot read {}", roles_dir.display()))?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(role::NoSuchRole::new(&name, &names, &roles_dir).into());
        }
        let loaded = match role::load(&roles_dir.join(&name), &name, toolchain) {
            Ok(loaded) => loaded,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let role = &loaded.role;
        let (entry, file) = if finalize {
            (role.finalize.as_ref(), "finalize")
        } else {
            (Some(&role.entry), "main")
        };
        let Some(Entry::Pipeline(steps)) = entry else {
            anyhow::bail!("the role {name} has no tasks/{file}.yaml to convert");
        };
        let script = pipeline::convert(steps, &role.templates, toolchain.engine.variables());
        write!(io::stdout(), "{script}")?;
        Ok(Exit::Done)
    }
}
