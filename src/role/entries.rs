//! Loads the entries of a role: `main` and `finalize` of `tasks/`, each a script or a pipeline.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::compiled_role::Entry;
use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::pipeline::{self, Source};
use crate::script::{PositionMap, Snippet, SnippetForm};

/// The loader of both entries. It also compiles the files that no entry uses, to report their errors.
pub(super) struct Entries<'a> {
    source: Source<'a>,
    problems: &'a mut Vec<Diagnostic>,
    /// The files that an entry uses.
    reached: BTreeSet<String>,
    /// True if an entry is a pipeline.
    pipelines: bool,
}

impl<'a> Entries<'a> {
    /// Returns a loader that has loaded nothing.
    pub(super) fn new(source: Source<'a>, problems: &'a mut Vec<Diagnostic>) -> Self {
        Self {
            source,
            problems,
            reached: BTreeSet::new(),
            pipelines: false,
        }
    }

    /// Loads `main` and `finalize`.
    pub(super) fn load(mut self) -> (Option<Entry>, Option<Entry>) {
        let main = self.entry("main");
        if main.is_none() && !self.exists("main") && !self.is_unreadable("main") {
            let file = self.source.files.path.clone();
            let problem =
                Diagnostic::error(file, 0, 0, "cannot find tasks/main.rhai or tasks/main.yaml");
            let hint = "create tasks/main.rhai, a script, or tasks/main.yaml, a list of steps";
            self.problems.push(problem.hint(hint));
        }
        let finalize = self.entry("finalize");
        self.unused_files();
        (main, finalize)
    }

    fn exists(&self, name: &str) -> bool {
        let endings = ["rhai", "yaml", "yml"];
        let mut paths = endings
            .map(|ending| format!("tasks/{name}.{ending}"))
            .into_iter();
        paths.any(|path| self.source.files.get(&path).is_some())
    }

    /// Returns whether an error was reported that the entry, or its folder, cannot be read.
    fn is_unreadable(&self, name: &str) -> bool {
        let tasks = self.source.files.path.join("tasks");
        let entry = tasks.join(name);
        let mut errors = self.problems.iter().filter(|problem| problem.is_error());
        errors.any(|error| error.file == tasks || error.file.with_extension("") == entry)
    }

    fn entry(&mut self, name: &str) -> Option<Entry> {
        let folder = self.source.files;
        let script = Some(format!("tasks/{name}.rhai")).filter(|path| folder.get(path).is_some());
        let steps = folder.yaml(&format!("tasks/{name}"), self.problems);
        if let (Some(script), Some(steps)) = (&script, &steps) {
            let message = format!("{script} exists too: a role runs only one of them");
            let problem = Diagnostic::error(folder.path.join(steps), 0, 0, message);
            let hint = "remove one; a pipeline can run a script with script: {file: NAME.rhai}";
            self.problems.push(problem.hint(hint));
        }
        let script = script.and_then(|path| self.script(&path));
        let pipeline = steps.and_then(|path| self.pipeline(&path));
        script.or(pipeline)
    }

    fn script(&mut self, path: &str) -> Option<Entry> {
        self.reached.insert(path.to_owned());
        match self.source.engine.compile(self.source.sources, path) {
            Ok(program) => {
                let files = program.scripts().map(|(path, _)| path.to_owned());
                self.reached.extend(files);
                Some(Entry::Script(Arc::new(program)))
            }
            Err(problems) => {
                self.report(problems);
                None
            }
        }
    }

    fn pipeline(&mut self, path: &str) -> Option<Entry> {
        self.pipelines = true;
        let loaded = pipeline::load(self.source, path);
        self.reached
            .extend(loaded.files.iter().map(ToString::to_string));
        self.report(loaded.problems);
        loaded.pipeline.map(Arc::new).map(Entry::Pipeline)
    }

    /// Compiles the scripts that no entry uses, and warns of steps that never run.
    fn unused_files(&mut self) {
        let folder = self.source.files;
        for (name, _) in folder.below("tasks") {
            let path = format!("tasks/{name}");
            if self.reached.contains(&path) {
                continue;
            }
            match Path::new(name)
                .extension()
                .and_then(|ending| ending.to_str())
            {
                Some("rhai") if self.pipelines => self.unused_script(&path),
                Some("rhai") => {
                    self.script(&path);
                }
                Some("yaml" | "yml") if !is_entry(name) => self.warn_of_unused_steps(&path),
                _ => {}
            }
        }
    }

    /// Compiles a script that a step could run: it can use the variables of steps.
    fn unused_script(&mut self, path: &str) {
        let snippet = Snippet {
            form: SnippetForm::File,
            file: path.into(),
            text: "".into(),
            positions: PositionMap::default(),
            variables: pipeline::scope::ALL.into(),
            elsewhere: &[],
        };
        let Source {
            engine, sources, ..
        } = self.source;
        let (_, problems) = engine.compile_snippets(sources, path, &[snippet]);
        self.report(problems);
    }

    fn warn_of_unused_steps(&mut self, path: &str) {
        let message = "never runs: no step includes it";
        let problem = Diagnostic::error(self.source.files.path.join(path), 0, 0, message);
        self.problems.push(problem.severity(Severity::Warning));
    }

    /// Adds problems once. The errors of a module occur again with each script that imports it.
    fn report(&mut self, problems: Vec<Diagnostic>) {
        for problem in problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}

/// Returns whether a file of `tasks/` is an entry by its name.
fn is_entry(name: &str) -> bool {
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    ["main", "finalize"].contains(&name)
}
