//! From a file of steps to a [`Pipeline`]: read, compile, find the graph; all errors at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Pipeline;
use super::parse::step::Around;
use super::parse::{File, Reading};
use super::parsed::{self, List};
use super::resolve::names::{Names, Path};
use super::resolve::{Graph, Needs};
use crate::model::Diagnostic;
use crate::model::diagnostics::{Diagnostics, Item};
use crate::model::yaml::Content;
use crate::role_files::RoleFiles;
use crate::script::{Engine, Sources};

/// What a pipeline is loaded from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) folder: &'a RoleFiles,
    pub(crate) templates: &'a minijinja::Environment<'static>,
    pub(crate) engine: &'a Engine,
    /// The files of `tasks/`.
    pub(crate) sources: &'a Sources,
    /// Name of the role.
    pub(crate) role: &'a str,
}

/// What was loaded.
pub(crate) struct Loaded {
    /// To be run only if there are no errors.
    pub(crate) pipeline: Pipeline,
    pub(crate) problems: Vec<Diagnostic>,
    /// The files that are part of it, by their path within the role.
    pub(crate) files: BTreeSet<Arc<str>>,
}

/// Loads the pipeline that begins with a file of the role.
pub(crate) fn load(source: Source<'_>, entry: &str) -> Loaded {
    let mut reading = Reading {
        folder: source.folder,
        templates: source.templates,
        engine: source.engine,
        role: source.role,
        excerpts: Vec::new(),
        mentions: Vec::new(),
        lists: 0,
        files: BTreeSet::new(),
        problems: Vec::new(),
    };
    let list = reading.steps_of(&Arc::from(entry), &[], &Around::default());
    let list = list.unwrap_or_default();
    let Reading {
        excerpts,
        mut files,
        mut problems,
        ..
    } = reading;
    files.extend(excerpts.iter().map(|excerpt| Arc::clone(&excerpt.file)));
    let (program, wrong) = source
        .engine
        .compile_excerpts(source.sources, entry, &excerpts);
    problems.extend(wrong);
    let mut graph = Graph {
        folder: &source.folder.path,
        program: &program,
        excerpts: &excerpts,
        needs: Needs::new(),
        problems,
    };
    let mut twice = Vec::new();
    graph.list(&list, &Path::default(), &Names::of(&list, &mut twice));
    graph.circles(&list);
    let Graph {
        needs,
        mut problems,
        ..
    } = graph;
    problems.extend(twice.iter().map(|twice| {
        let at = twice.draft.position;
        let file = source.folder.path.join(&*twice.list.file);
        Diagnostic::error(file, at.line, at.column, &*twice.message)
            .hint("names are what `needs` and `results` go by")
    }));
    let needs = |list, index| {
        let needs = needs.get(&(list, index)).into_iter();
        needs.flat_map(|needs| needs.keys().copied()).collect()
    };
    let steps = parsed::finish(list, &needs);
    Loaded {
        pipeline: Pipeline {
            program: Arc::new(program),
            steps,
        },
        problems,
        files,
    }
}

impl Reading<'_> {
    /// The steps of a file; `above` are the files that led to it.
    pub(super) fn steps_of(
        &mut self,
        path: &Arc<str>,
        above: &[Arc<str>],
        around: &Around,
    ) -> Option<List> {
        let folder = self.folder;
        self.files.insert(Arc::clone(path));
        let text = folder.text(path, &mut self.problems)?;
        let findings = Diagnostics::new(folder.path.join(&**path));
        let above = [above, &[Arc::clone(path)]].concat();
        let file = File {
            path,
            text,
            findings: &findings,
            above: &above,
        };
        let list = findings.parse(text).map(|root| {
            if matches!(&root.content, Content::List(items) if items.is_empty()) {
                findings.warning(root.position, "nothing is done: the list is empty", "");
            }
            self.list(file, &Item::root(&root, &findings), around)
        });
        for problem in findings.into_vec() {
            // A file that is included twice is read twice.
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        list
    }
}
