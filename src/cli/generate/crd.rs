//! `rhai-operator generate crd`: writes custom resource definitions (CRDs) from the inputs of roles.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use crate::cli::project::{DeployFolder, Project};
use crate::cli::{Exit, install, print_diagnostics};
use crate::generate::crd::{
    BreakingChange, DefinedVersion, Definition, breaking_changes, file_name, text_of,
};
use crate::model::yaml;
use crate::regular_file;
use crate::role::{self, Toolchain};
use crate::watches::Environment;

/// The CRDs to generate.
#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// Roles whose kinds are generated. Default: all roles of watches.yaml that have inputs.
    roles: Vec<String>,
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    deploy_folder: DeployFolder,
    /// Write nothing; fail if a CRD of the deploy folder is missing or differs.
    #[arg(long)]
    check: bool,
    /// Print the CRDs instead of writing them.
    #[arg(long, conflicts_with = "check")]
    print: bool,
    /// Also write changes that break existing custom resources.
    #[arg(long)]
    allow_breaking: bool,
}

impl Options {
    /// Returns the options for all kinds of a project.
    pub(super) fn all(project: Project, deploy_dir: Option<PathBuf>, check: bool) -> Self {
        Self {
            roles: Vec::new(),
            project,
            deploy_folder: DeployFolder { deploy_dir },
            check,
            print: false,
            allow_breaking: false,
        }
    }

    pub(in crate::cli) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let environment = Environment::of_process();
        let Project {
            watches_file,
            roles_dir,
            ..
        } = &self.project;
        let project = match role::Project::load(watches_file, roles_dir, &environment, toolchain) {
            Ok(project) => project,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let selected = Selection::of_project(&project, &self.roles)?;
        if selected.definitions.is_empty() {
            writeln!(
                io::stderr(),
                "no role of {} has inputs\n  hint: describe the fields of the spec in inputs of meta/main.yaml",
                watches_file.display()
            )?;
            return Ok(Exit::Done);
        }
        let files = CrdFile::plan_all(&selected.definitions, self.deploy_folder.deploy_dir()?)?;
        let mut stdout = io::stdout().lock();
        if self.print {
            for (index, file) in files.iter().enumerate() {
                let separator = if index == 0 { "" } else { "---\n" };
                write!(stdout, "{separator}{}", text_of(&file.generated))?;
            }
            return Ok(Exit::Done);
        }
        let mut exit = Exit::Done;
        for file in &files {
            let breaks = !file.breaking.is_empty() && !self.allow_breaking;
            if breaks {
                file.print_breaking_changes()?;
                exit = Exit::Failed;
            }
            if self.check && file.is_stale() {
                exit = Exit::Failed;
            }
            if !self.check && !breaks && file.is_stale() {
                file.write()?;
            }
            let state = file.state(self.check, breaks);
            writeln!(stdout, "{}: {state}", file.path.display())?;
        }
        Ok(exit)
    }
}

/// The kinds of the selected roles.
struct Selection<'p> {
    definitions: Vec<Definition<'p>>,
}

impl<'p> Selection<'p> {
    /// Selects the kinds whose role has inputs. Fails if a named role has none, or no kind.
    fn of_project(project: &'p role::Project, names: &[String]) -> anyhow::Result<Self> {
        for name in names {
            let watched = project.watches.iter().any(|watch| *watch.role == **name);
            anyhow::ensure!(
                watched,
                "the role {name:?} serves no kind\n  hint: add it to watches.yaml"
            );
            let role = project.roles.get(name);
            anyhow::ensure!(
                role.is_some_and(|role| !role.inputs.is_empty()),
                "the role {name:?} has no inputs\n  hint: describe the fields of the spec in inputs of meta/main.yaml"
            );
        }
        Ok(Self {
            definitions: definitions(project, |role| {
                names.is_empty() || names.iter().any(|name| name == role)
            }),
        })
    }
}

/// Returns the custom kinds of a project whose role has inputs.
pub(in crate::cli) fn definitions<'p>(
    project: &'p role::Project,
    is_selected: impl Fn(&str) -> bool,
) -> Vec<Definition<'p>> {
    let mut kinds: BTreeMap<(&str, &str), Vec<DefinedVersion<'p>>> = BTreeMap::new();
    for watch in &project.watches {
        let Some(role) = project.roles.get(&watch.role) else {
            continue;
        };
        // Kubernetes itself defines the kinds of groups without a dot.
        let is_custom = watch.gvk.group.contains('.') && !watch.gvk.group.ends_with(".k8s.io");
        if !is_custom || role.inputs.is_empty() || !is_selected(&watch.role) {
            continue;
        }
        let versions = kinds
            .entry((&watch.gvk.group, &watch.gvk.kind))
            .or_default();
        versions.push(DefinedVersion {
            name: &watch.gvk.version,
            description: &role.description,
            inputs: &role.inputs,
        });
    }
    let kinds = kinds.into_iter();
    let definitions = kinds.map(|((group, kind), versions)| Definition {
        group,
        kind,
        versions,
    });
    definitions.collect()
}

/// A generated CRD and its file.
#[derive(Debug)]
pub(in crate::cli) struct CrdFile {
    pub(in crate::cli) path: PathBuf,
    existing: Option<Value>,
    generated: Value,
    /// The changes that break existing custom resources.
    pub(in crate::cli) breaking: Vec<BreakingChange>,
}

impl CrdFile {
    /// Generates the CRDs, and finds the files of the deploy folder that contain them.
    pub(in crate::cli) fn plan_all(
        definitions: &[Definition<'_>],
        deploy: &Path,
    ) -> anyhow::Result<Vec<Self>> {
        let folder = deploy.join("crds");
        let mut existing = Vec::new();
        for path in install::manifest_files(&folder)? {
            let text = regular_file::read_text(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let documents = yaml::parse_all(&text)
                .with_context(|| format!("cannot parse {} as YAML", path.display()))?;
            existing.push((path, documents));
        }
        let plans = definitions.iter();
        plans
            .map(|definition| Self::plan(definition, &folder, &existing))
            .collect()
    }

    fn plan(
        definition: &Definition<'_>,
        folder: &Path,
        existing: &[(PathBuf, Vec<Value>)],
    ) -> anyhow::Result<Self> {
        let is_it = |document: &&Value| definition.is_defined_by(document);
        let found = existing
            .iter()
            .find_map(|(path, documents)| Some((path, documents, documents.iter().find(is_it)?)));
        let Some((path, documents, crd)) = found else {
            let generated = definition.generate(None);
            return Ok(Self {
                path: folder.join(file_name(&generated)),
                existing: None,
                generated,
                breaking: Vec::new(),
            });
        };
        anyhow::ensure!(
            documents.len() == 1,
            "cannot update {}: it contains {} documents\n  hint: move the CRD to a file of its own",
            path.display(),
            documents.len()
        );
        let generated = definition.generate(Some(crd));
        Ok(Self {
            path: path.clone(),
            breaking: breaking_changes(crd, &generated),
            existing: Some(crd.clone()),
            generated,
        })
    }

    /// Returns true if the file does not contain the generated CRD. Comments and the order of keys do not count.
    pub(in crate::cli) fn is_stale(&self) -> bool {
        self.existing.as_ref() != Some(&self.generated)
    }

    pub(in crate::cli) fn write(&self) -> anyhow::Result<()> {
        let write = || {
            fs::create_dir_all(regular_file::folder_of(&self.path))?;
            fs::write(&self.path, text_of(&self.generated))
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn state(&self, checks: bool, breaks: bool) -> &'static str {
        match (&self.existing, self.is_stale()) {
            (_, false) => "unchanged",
            (None, _) if checks => "missing; run rhai-operator generate crd",
            (None, _) => "created",
            _ if breaks && !checks => "not written; --allow-breaking writes it",
            _ if checks => "out of date; run rhai-operator generate crd",
            _ => "updated",
        }
    }

    fn print_breaking_changes(&self) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        let path = self.path.display();
        self.breaking
            .iter()
            .try_for_each(|change| writeln!(stderr, "{path}: error: {change}"))
    }
}
