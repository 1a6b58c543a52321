//! Finds the steps that each step needs: those that it names, reads or follows.

use std::path::Path;
use std::sync::Arc;

use super::graph::{NeedReason, NeedsGraph};
use super::names::Names;
use super::path::{Relation, StepPath};
use crate::model::Diagnostic;
use crate::model::diagnostics::nearest;
use crate::model::yaml::Position;
use crate::pipeline::parsed::{ParsedStep, ResultUse, StepId, StepList};
use crate::pipeline::scope::RESULTS;
use crate::script::Program;

/// Resolves the references of all steps of a pipeline.
pub(super) struct NeedsResolver<'a> {
    program: &'a Program,
    /// The folder of the role.
    folder: &'a Path,
    graph: NeedsGraph,
    problems: Vec<Diagnostic>,
}

/// A step, its path, and the names that it can refer to.
struct Referrer<'a> {
    step: &'a ParsedStep,
    file: &'a Arc<str>,
    path: &'a StepPath,
    names: &'a Names<'a>,
}

/// A use of one result, or of all.
struct KeyUse {
    key: Option<String>,
    file: Arc<str>,
    position: Position,
}

impl<'a> NeedsResolver<'a> {
    pub(super) fn new(program: &'a Program, folder: &'a Path) -> Self {
        Self {
            program,
            folder,
            graph: NeedsGraph::default(),
            problems: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> (NeedsGraph, Vec<Diagnostic>) {
        (self.graph, self.problems)
    }

    /// Resolves the steps of a list and the steps within them.
    pub(super) fn list(&mut self, list: &StepList, above: &StepPath, names: &Names<'_>) {
        for (index, step) in list.steps.iter().enumerate() {
            let id = StepId {
                list: list.number,
                index,
            };
            let path = above.below(id);
            let referrer = Referrer {
                step,
                file: &list.file,
                path: &path,
                names,
            };
            self.step(&referrer, id);
            let within = names.within(step, &path);
            for inner in step.lists() {
                self.list(inner, &path, within.as_ref().unwrap_or(names));
            }
        }
    }

    fn step(&mut self, referrer: &Referrer<'_>, id: StepId) {
        match &referrer.step.needs {
            None => {
                if let Some(before) = id.index.checked_sub(1) {
                    self.graph.add(id, before, NeedReason::Follows);
                }
            }
            Some(needs) => {
                for (name, position) in needs {
                    self.named(referrer, name, *position);
                }
            }
        }
        for (uses, is_gate) in [
            (&referrer.step.uses, false),
            (&referrer.step.gate_uses, true),
        ] {
            for result_use in uses {
                for key_use in self.key_uses(referrer, result_use) {
                    self.key_use(referrer, &key_use, is_gate);
                }
            }
        }
    }

    /// Returns the uses of keys that code, a query or a template contains.
    fn key_uses(&self, referrer: &Referrer<'_>, result_use: &ResultUse) -> Vec<KeyUse> {
        let key_use = |key: &Option<String>, position: Option<(Arc<str>, Position)>| {
            let of_step = || (Arc::clone(referrer.file), referrer.step.position);
            let (file, position) = position.unwrap_or_else(of_step);
            KeyUse {
                key: key.clone(),
                file,
                position,
            }
        };
        match result_use {
            ResultUse::Key { key, position } => vec![key_use(key, position.clone())],
            ResultUse::Code { snippet, file } => {
                let uses = self.program.variable_uses(*snippet, RESULTS).into_iter();
                let in_file = |(line, column)| (Arc::clone(file), Position { line, column });
                uses.map(|usage| key_use(&usage.key, usage.position.map(in_file)))
                    .collect()
            }
        }
    }

    fn report(&mut self, file: &str, at: Position, message: String, hint: String) {
        let problem = Diagnostic::error(self.folder.join(file), at.line, at.column, message);
        let problem = if hint.is_empty() {
            problem
        } else {
            problem.hint(hint)
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Resolves a name in `needs`.
    fn named(&mut self, referrer: &Referrer<'_>, name: &str, position: Position) {
        let Some(target) = referrer.names.step(name) else {
            let message = format!("cannot find the step {name:?}");
            let hint = hint_for_step(referrer.names, name);
            self.report(referrer.file, position, message, hint);
            return;
        };
        if target == referrer.path {
            let message = "a step cannot need itself".to_owned();
            self.report(referrer.file, position, message, String::new());
            return;
        }
        match referrer.path.relation_to(target) {
            Relation::Sibling { from, to } => self.graph.add(from, to, NeedReason::Named),
            Relation::Earlier => {}
            Relation::Later | Relation::Ancestor | Relation::Descendant => {
                let message = format!("{name:?} cannot run before this step");
                let hint = "remove it: one of the two steps contains the other, or it is in a later \
                            part of the same block";
                self.report(referrer.file, position, message, hint.to_owned());
            }
        }
    }

    /// Resolves a use of results. Gates can use the results of the steps within their step.
    fn key_use(&mut self, referrer: &Referrer<'_>, key_use: &KeyUse, is_gate: bool) {
        let Some(key) = &key_use.key else {
            for &step in referrer.path.levels() {
                for before in 0..step.index {
                    self.graph.add(step, before, NeedReason::Reads);
                }
            }
            return;
        };
        let KeyUse { file, position, .. } = key_use;
        let targets = referrer.names.steps_with_result(key);
        if targets.is_empty() {
            let message = format!("cannot find results.{key}: no step registers it");
            let hint = hint_for_result(referrer.names, key);
            self.report(file, *position, message, hint);
            return;
        }
        for target in targets {
            if target == referrer.path {
                let message = format!("results.{key} is the result of this step");
                let hint = "write `result` in `until`, and `object` in `ready`";
                self.report(file, *position, message, hint.to_owned());
                continue;
            }
            match referrer.path.relation_to(target) {
                Relation::Sibling { from, to } => self.graph.add(from, to, NeedReason::Reads),
                Relation::Earlier => {}
                Relation::Descendant if is_gate => {}
                Relation::Descendant | Relation::Ancestor | Relation::Later => {
                    let message = format!("results.{key} does not exist yet");
                    let hint = "read it in a later step: its step contains this one, is within it, or \
                                is in a later part of the same block";
                    self.report(file, *position, message, hint.to_owned());
                }
            }
        }
    }
}

fn hint_for_step(names: &Names<'_>, name: &str) -> String {
    if let Some(container) = names.container_of(name) {
        return format!("need {container:?}, which contains it");
    }
    let known = names.step_names();
    match nearest(name, &known) {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.is_empty() => format!("add name: {name} to a step"),
        None => String::new(),
    }
}

fn hint_for_result(names: &Names<'_>, key: &str) -> String {
    if let Some(container) = names.container_of(key) {
        return format!(
            "read it from results[{container:?}], the result of the step that contains it"
        );
    }
    if names.step(key).is_some() {
        return "use the name that the step registers".to_owned();
    }
    let known = names.result_names();
    match nearest(key, &known) {
        Some(near) => format!("did you mean results.{near}?"),
        None if known.is_empty() => format!("add name: {key} to a step"),
        None => String::new(),
    }
}
