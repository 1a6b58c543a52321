//! `rhai-operator new`: adds a kind, a role or a scenario to the project in the current folder.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::generate::manifests;
use super::generate::source::Source;
use super::new_files::{NewFiles, WriteOptions};
use super::project::Project;
use super::{Exit, install, print_diagnostics};
use crate::generate::ProjectFile;
use crate::generate::crd::{DefinedVersion, Definition, file_name, text_of};
use crate::generate::scaffold::{
    Api, Form, append_watch, check_folder, check_group, check_kind, check_version, role_files,
    test_files,
};
use crate::model::yaml;
use crate::regular_file;
use crate::role::{Input, Toolchain, parse_inputs};
use crate::watches::{self, Environment};

const WATCHES: &str = "watches.yaml";
/// The manifests that change with a new kind.
const CHANGED_MANIFESTS: [&str; 2] = ["deploy/kustomization.yaml", "deploy/cluster-role.yaml"];

/// The part of a project to add.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a kind: its entry in watches.yaml, its role, CRD, sample and scenario, and its permissions.
    Api(ApiOptions),
    /// Add a role that other roles include.
    Role(RoleOptions),
    /// Add a scenario test of a kind.
    Test(TestOptions),
}

impl Command {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        match self {
            Self::Api(options) => options.run(toolchain),
            Self::Role(options) => options.run(),
            Self::Test(options) => options.run(),
        }
    }
}

/// The form of the role.
#[derive(Clone, Copy, Debug, Args)]
struct FormOptions {
    /// Write the role as a script, tasks/main.rhai. This is the default.
    #[arg(long, conflicts_with = "pipeline")]
    script: bool,
    /// Write the role as a list of steps, tasks/main.yaml.
    #[arg(long)]
    pipeline: bool,
}

impl From<FormOptions> for Form {
    fn from(options: FormOptions) -> Self {
        if options.pipeline {
            Self::Pipeline
        } else {
            Self::Script
        }
    }
}

/// The kind to add.
#[derive(Debug, Args)]
pub(super) struct ApiOptions {
    /// Name of the kind in CamelCase, such as `WebSite`.
    kind: String,
    /// API group of the kind, such as web.shop.example.com.
    #[arg(long)]
    group: String,
    /// Version of the kind.
    #[arg(long = "version", value_name = "VERSION", default_value = "v1alpha1")]
    api_version: String,
    #[command(flatten)]
    form: FormOptions,
    /// Let each custom resource belong to a namespace. This is the default.
    #[arg(long, conflicts_with = "cluster")]
    namespaced: bool,
    /// Let custom resources belong to no namespace.
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    write: WriteOptions,
}

impl ApiOptions {
    fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        check_kind(&self.kind).context("KIND")?;
        check_group(&self.group).context("--group")?;
        check_version(&self.api_version).context("--version")?;
        let api = Api {
            group: self.group,
            version: self.api_version,
            kind: self.kind,
            namespaced: !self.cluster,
            form: self.form.into(),
        };
        let mut files = NewFiles::default();
        let role = api.files()?;
        let crd = crd_file(&api, &role)?;
        if let Some(text) = changed_watches(&api)? {
            files.change(WATCHES.into(), text);
        }
        files.create(role);
        files.create([crd]);
        files.write(self.write)?;
        let exit = update_manifests(self.write, toolchain)?;
        writeln!(io::stderr(), "next: rhai-operator dev")?;
        Ok(exit)
    }
}

/// Generates the CRD from the inputs of the new role.
fn crd_file(api: &Api, role: &[ProjectFile]) -> anyhow::Result<ProjectFile> {
    let meta = role
        .iter()
        .find(|file| file.path.ends_with("meta/main.yaml"));
    let meta = meta.map_or("", |file| &file.text);
    let inputs: BTreeMap<String, Input> = parse_inputs(meta);
    let description = yaml::parse(meta)?["description"].clone();
    let definition = Definition {
        group: &api.group,
        kind: &api.kind,
        versions: vec![DefinedVersion {
            name: &api.version,
            description: description.as_str().unwrap_or_default(),
            inputs: &inputs,
        }],
    };
    let crd = definition.generate(Some(&definition.skeleton(api.namespaced)));
    Ok(ProjectFile {
        path: Path::new("deploy/crds").join(file_name(&crd)),
        text: text_of(&crd),
    })
}

/// Returns the text of watches.yaml with the kind; `None` if it has an entry already.
fn changed_watches(api: &Api) -> anyhow::Result<Option<String>> {
    let text = regular_file::read_text(Path::new(WATCHES)).with_context(|| {
        format!("cannot read {WATCHES}\n  hint: run this command in the folder of a project, or create one with rhai-operator init")
    })?;
    let watches = watches::parse(Path::new(WATCHES), &text, &Environment::of_process());
    let is_watched = watches.entries.iter().any(|watch| {
        let gvk = &watch.gvk;
        (&*gvk.group, &*gvk.version, &*gvk.kind) == (&*api.group, &*api.version, &*api.kind)
    });
    if is_watched {
        return Ok(None);
    }
    let changed = append_watch(&text, &api.watch()?);
    changed.map(Some).with_context(|| {
        format!("cannot add the kind to {WATCHES}: expected a list of watches in block style\n  hint: begin each watch with a dash: - group: …")
    })
}

/// Updates the manifests after files of the project were written. A project without settings is deployed in another
/// way.
fn update_manifests(write: WriteOptions, toolchain: &Toolchain) -> anyhow::Result<Exit> {
    let deploy = Path::new("deploy");
    if !deploy.join("settings.yaml").exists() {
        return Ok(Exit::Done);
    }
    if write.is_dry_run() {
        for file in CHANGED_MANIFESTS {
            writeln!(io::stdout(), "{file}: would be updated")?;
        }
        return Ok(Exit::Done);
    }
    let project = Project::of_current_folder();
    match Source::load(&project, Some(deploy), toolchain)? {
        Ok(source) => manifests::plan(&source, deploy)?.write(true)?,
        Err(diagnostics) => {
            print_diagnostics(&diagnostics)?;
            writeln!(
                io::stderr(),
                "warning: cannot update the manifests in deploy/\n  hint: correct the errors, and run rhai-operator generate"
            )?;
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Done)
}

/// The role to add.
#[derive(Debug, Args)]
pub(super) struct RoleOptions {
    /// Name of the role, which is that of its folder in roles/.
    name: String,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    write: WriteOptions,
}

impl RoleOptions {
    fn run(self) -> anyhow::Result<Exit> {
        check_folder(&self.name).context("NAME")?;
        let mut files = NewFiles::default();
        files.create(role_files(&self.name, self.form.into())?);
        files.write(self.write)
    }
}

/// The scenario to add.
#[derive(Debug, Args)]
pub(super) struct TestOptions {
    /// Name of the scenario, which is that of its folder in molecule-tests/.
    name: String,
    /// Kind that the scenario tests. Default: the first kind of watches.yaml.
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    write: WriteOptions,
}

impl TestOptions {
    fn run(self) -> anyhow::Result<Exit> {
        check_folder(&self.name).context("NAME")?;
        let watches = watches::load(Path::new(WATCHES), &Environment::of_process());
        let is_wanted = |kind: &str| self.kind.as_deref().is_none_or(|wanted| wanted == kind);
        let watch = watches.entries.iter().find(|it| is_wanted(&it.gvk.kind));
        let watch = watch.with_context(|| match &self.kind {
            Some(kind) => format!("cannot find the kind {kind:?} in {WATCHES}"),
            None => format!(
                "cannot find a kind in {WATCHES}\n  hint: add one with rhai-operator new api"
            ),
        })?;
        let api_version = watch.gvk.api_version();
        let kind = watch.gvk.kind.to_string();
        let mut object = sample(&api_version, &kind)?.unwrap_or_else(
            || json!({"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": {}}),
        );
        object["metadata"]["name"] = self.name.clone().into();
        let text = yaml::write(&object);
        let mut files = NewFiles::default();
        files.create(test_files(
            &self.name,
            &api_version,
            &kind,
            &self.name,
            text.trim_end(),
        )?);
        files.write(self.write)
    }
}

/// Returns the sample of a kind in the deploy folder.
fn sample(api_version: &str, kind: &str) -> anyhow::Result<Option<Value>> {
    for file in install::manifest_files(Path::new("deploy/samples"))? {
        let text = regular_file::read_text(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let objects = yaml::parse_all(&text)
            .with_context(|| format!("cannot parse {} as YAML", file.display()))?;
        let mut objects = objects.into_iter();
        let found =
            objects.find(|object| object["apiVersion"] == api_version && object["kind"] == kind);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
