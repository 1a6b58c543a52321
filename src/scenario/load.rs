//! Loads scenarios from folders, and reports all errors at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::documents::{self, Expectation, Manifest};
use super::functions;
use super::settings::{self, Settings};
use super::snapshot::{self, Snapshots};
use super::stage::{DocumentUse, Stage};
use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, list_of, nearest};
use crate::regular_file;
use crate::script::{Engine, Program, Sources};

/// A scenario, ready to be run.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) settings: Settings,
    /// The steps of each stage that has any.
    pub(super) stages: BTreeMap<Stage, Steps>,
    /// The CRDs of the project and those that the settings name.
    pub(super) crds: Vec<Manifest>,
    /// Its golden snapshots.
    pub(super) snapshots: Snapshots,
}

/// The steps of a stage: first its YAML file, then its script.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The objects to apply or delete.
    pub(super) manifests: Vec<Manifest>,
    /// The expectations.
    pub(super) expectations: Vec<Expectation>,
    /// The script.
    pub(super) script: Option<Arc<Program>>,
}

/// The location and the selection of scenarios.
#[derive(Clone, Debug)]
pub(crate) struct SuiteOptions {
    /// The folder with one folder per scenario.
    pub tests_dir: PathBuf,
    /// The folder with the project's CRDs; it need not exist.
    pub crds_dir: PathBuf,
    /// The scenarios to run; all if empty.
    pub names: Vec<String>,
    /// True if golden snapshots are written instead of compared.
    pub update: bool,
}

/// Loads the scenarios in the order of their names.
pub(super) fn load(
    options: &SuiteOptions,
    engine: &Engine,
) -> Result<Vec<Scenario>, Vec<Diagnostic>> {
    let mut loading = Loader {
        engine,
        diagnostics: Vec::new(),
    };
    let names = loading.names(options);
    let crds = loading.folder_of_crds(&options.crds_dir);
    let load = |name: String| loading.scenario(options, name, &crds);
    let scenarios: Vec<_> = names.into_iter().map(load).collect();
    if loading.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(loading.diagnostics);
    }
    Ok(scenarios)
}

struct Loader<'a> {
    engine: &'a Engine,
    diagnostics: Vec<Diagnostic>,
}

impl Loader<'_> {
    /// The folders that there are, as far as they are wanted.
    fn names(&mut self, options: &SuiteOptions) -> Vec<String> {
        let mut there: Vec<String> = self
            .entries(&options.tests_dir)
            .into_iter()
            .filter(|name| !name.starts_with('.') && options.tests_dir.join(name).is_dir())
            .collect();
        there.sort();
        let nothing = there.is_empty() && self.diagnostics.is_empty();
        if nothing {
            let diagnostic = Diagnostic::error(&options.tests_dir, 0, 0, "cannot find a scenario");
            let hint = "a scenario is a folder with converge.yaml and verify.yaml";
            self.diagnostics.push(diagnostic.hint(hint));
        }
        for name in options.names.iter().filter(|name| !there.contains(name)) {
            if nothing {
                break;
            }
            let message = format!("scenario {name:?} does not exist");
            let known: Vec<&str> = there.iter().map(String::as_str).collect();
            let hint = nearest(name, &known).map_or_else(
                || format!("there are {}", list_of(&known, "and")),
                |near| format!("did you mean {near:?}?"),
            );
            let diagnostic = Diagnostic::error(&options.tests_dir, 0, 0, message).hint(hint);
            self.diagnostics.push(diagnostic);
        }
        there.retain(|name| options.names.is_empty() || options.names.contains(name));
        there
    }

    fn scenario(&mut self, options: &SuiteOptions, name: String, crds: &[Manifest]) -> Scenario {
        let folder = options.tests_dir.join(&name);
        let mut settings = Settings::default();
        let mut stages = BTreeMap::<Stage, Steps>::new();
        let mut files = self.entries(&folder);
        files.sort();
        let sources = self.sources(&folder, &files);
        for file in &files {
            let path = folder.join(file);
            let Some((stem, ending)) = file.rsplit_once('.') else {
                continue;
            };
            let is_yaml = is_yaml(ending);
            match (Stage::from_name(stem), ending) {
                (None, _) if stem == "scenario" && is_yaml => {
                    settings = self.settings(&path);
                }
                (Some(stage), "rhai") => {
                    let compiled = self.engine.compile(&sources, file);
                    let script =
                        compiled.map_err(|diagnostics| self.diagnostics.extend(diagnostics));
                    stages.entry(stage).or_default().script = script.ok().map(Arc::new);
                }
                (Some(stage), _) if is_yaml => {
                    let steps = stages.entry(stage).or_default();
                    self.documents(&path, stage, steps);
                }
                (None, _) => self.unknown_stage(&path, stem, is_yaml),
                (Some(_), _) => {}
            }
        }
        if stages.is_empty() {
            let hint = "it needs converge.yaml or converge.rhai, and verify.yaml or verify.rhai";
            let diagnostic = Diagnostic::error(&folder, 0, 0, "the scenario has no stage");
            self.diagnostics.push(diagnostic.hint(hint));
        }
        let mut crds = crds.to_vec();
        for file in &settings.crds {
            crds.extend(self.manifests(&folder.join(file)));
        }
        Scenario {
            snapshots: Snapshots::new(folder.join(snapshot::FOLDER), options.update),
            name,
            settings,
            stages,
            crds,
        }
    }

    /// Reports a file that belongs to no stage.
    fn unknown_stage(&mut self, path: &Path, stem: &str, is_yaml: bool) {
        let names = Stage::ALL.map(Stage::name);
        let near = nearest(stem, &names);
        let is_script = path.extension().is_some_and(|ending| ending == "rhai");
        let hint = match near {
            Some(near) => format!("did you mean {near:?}?"),
            None if is_yaml => format!("the stages are {}", list_of(&names, "and")),
            // A module of the others.
            None => return,
        };
        if is_yaml || is_script {
            let diagnostic = Diagnostic::error(path, 0, 0, format!("unknown stage {stem:?}"));
            self.diagnostics.push(diagnostic.hint(hint));
        }
    }

    /// The scripts of a scenario, which may import one another.
    fn sources(&mut self, folder: &Path, files: &[String]) -> Sources {
        let mut sources = Sources::new(folder.display().to_string(), folder);
        for file in files.iter().filter(|file| extension(file) == "rhai") {
            if let Some(text) = self.text(&folder.join(file)) {
                sources.insert(file.as_str(), text);
            }
        }
        sources
    }

    fn settings(&mut self, path: &Path) -> Settings {
        let Some(text) = self.text(path) else {
            return Settings::default();
        };
        let diagnostics = Diagnostics::new(path);
        let settings = settings::read(&text, &diagnostics);
        self.diagnostics.extend(diagnostics.into_vec());
        settings
    }

    fn documents(&mut self, path: &Path, stage: Stage, steps: &mut Steps) {
        if stage.documents() == DocumentUse::Expect {
            if let Some(text) = self.text(path) {
                let diagnostics = Diagnostics::new(path);
                steps.expectations = documents::expectations(path, &text, &diagnostics);
                self.diagnostics.extend(diagnostics.into_vec());
            }
        } else {
            steps.manifests = self.manifests(path);
        }
    }

    fn manifests(&mut self, path: &Path) -> Vec<Manifest> {
        let Some(text) = self.text(path) else {
            return Vec::new();
        };
        let diagnostics = Diagnostics::new(path);
        let manifests = documents::manifests(path, &text, &diagnostics);
        self.diagnostics.extend(diagnostics.into_vec());
        manifests
    }

    fn folder_of_crds(&mut self, folder: &Path) -> Vec<Manifest> {
        if !folder.is_dir() {
            return Vec::new();
        }
        let mut files = self.entries(folder);
        files.sort();
        files.retain(|file| is_yaml(extension(file)));
        let files = files.iter().map(|file| folder.join(file));
        files.flat_map(|file| self.manifests(&file)).collect()
    }

    fn entries(&mut self, folder: &Path) -> Vec<String> {
        match fs::read_dir(folder) {
            Ok(entries) => entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect(),
            Err(error) => {
                self.unreadable(folder, &error);
                Vec::new()
            }
        }
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        let text = regular_file::read_text(path);
        text.inspect_err(|error| self.unreadable(path, error)).ok()
    }

    fn unreadable(&mut self, path: &Path, error: &std::io::Error) {
        let message = format!("cannot be read: {error}");
        self.diagnostics
            .push(Diagnostic::error(path, 0, 0, message));
    }
}

/// Returns the extension of a file name.
fn extension(file: &str) -> &str {
    file.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn is_yaml(ending: &str) -> bool {
    ending == "yaml" || ending == "yml"
}

/// The engine of scenarios' scripts.
pub(super) fn engine() -> Engine {
    Engine::new(functions::modules(), &functions::VARIABLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostics(files: &[(&str, &str)], names: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let options = SuiteOptions {
            tests_dir: folder.path().to_owned(),
            crds_dir: folder.path().join("none"),
            names: names.iter().map(ToString::to_string).collect(),
            update: false,
        };
        let loaded = load(&options, &engine());
        let diagnostics = loaded.err().unwrap_or_default();
        let root = format!("{}", folder.path().display());
        diagnostics
            .iter()
            .map(|diagnostic| diagnostic.to_string().replace(&root, "tests"))
            .collect()
    }

    const GOOD: (&str, &str) = ("a/verify.rhai", "assert(true);");

    #[test]
    fn a_folder_with_a_stage_is_a_scenario() {
        assert_eq!(diagnostics(&[GOOD], &["a"]), [""; 0]);
        assert_eq!(
            diagnostics(&[GOOD, ("b/readme.md", "")], &[]),
            [
                "tests/b: error: the scenario has no stage\n  hint: it needs converge.yaml or \
                 converge.rhai, and verify.yaml or verify.rhai"
            ]
        );
        assert!(diagnostics(&[], &[])[0].contains("cannot find a scenario"));
    }

    #[test]
    fn misspelled_names_are_reported_with_a_suggestion() {
        let told = diagnostics(&[("memcached/verify.rhai", "")], &["memcahced"]);
        assert_eq!(
            told,
            [
                "tests: error: scenario \"memcahced\" does not exist\n  hint: did you mean \"memcached\"?"
            ]
        );
        let told = diagnostics(&[GOOD, ("a/verfy.yaml", ""), ("a/helpers.rhai", "")], &[]);
        assert_eq!(
            told,
            [
                "tests/a/verfy.yaml: error: unknown stage \"verfy\"\n  hint: did you mean \"verify\"?"
            ]
        );
    }

    #[test]
    fn a_script_that_cannot_run_is_an_error_of_loading() {
        let told = diagnostics(&[("a/verify.rhai", "let x = 1;\nasert(x == 1);")], &[]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("tests/a/verify.rhai:2:1: error: "),
            "{told:?}"
        );
        assert!(told[0].contains("assert"), "{told:?}");
    }
}
