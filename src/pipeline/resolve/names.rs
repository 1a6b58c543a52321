//! The steps and results that a step can refer to.

use std::collections::BTreeMap;

use super::path::{Relation, StepPath};
use crate::pipeline::parsed::{ParsedStep, StepId, StepList};

/// The names of one namespace: a file, or the steps of a block with a loop.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    outer: Option<&'a Self>,
    steps: BTreeMap<&'a str, StepPath>,
    /// Several steps of a block can register one result: one in the block and one in its rescue.
    results: BTreeMap<&'a str, Vec<StepPath>>,
    /// Names of inner namespaces, with the name of the step that contains the namespace.
    inner: BTreeMap<&'a str, &'a str>,
}

/// A step whose name, or the name of whose result, another step has too.
pub(super) struct DuplicateName<'a> {
    pub(super) list: &'a StepList,
    pub(super) step: &'a ParsedStep,
    pub(super) message: String,
}

impl<'a> Names<'a> {
    /// Collects the names of a pipeline. Duplicates of all namespaces are added to `duplicates`.
    pub(super) fn of_pipeline(list: &'a StepList, duplicates: &mut Vec<DuplicateName<'a>>) -> Self {
        let mut names = Self::default();
        names.add(list, &StepPath::default(), duplicates);
        names
    }

    /// Collects the names within a step, if it has a namespace of its own.
    pub(super) fn within<'b>(&'b self, step: &'b ParsedStep, path: &StepPath) -> Option<Names<'b>>
    where
        'a: 'b,
    {
        if !step.has_own_names() {
            return None;
        }
        let mut names = Names {
            outer: Some(self),
            ..Names::default()
        };
        for list in step.lists() {
            // The duplicates were reported when the names of the pipeline were collected.
            names.add(list, path, &mut Vec::new());
        }
        Some(names)
    }

    fn add(
        &mut self,
        list: &'a StepList,
        above: &StepPath,
        duplicates: &mut Vec<DuplicateName<'a>>,
    ) {
        for (index, step) in list.steps.iter().enumerate() {
            let path = above.below(StepId {
                list: list.number,
                index,
            });
            let name = &*step.name;
            let mut report = |message| {
                duplicates.push(DuplicateName {
                    list,
                    step,
                    message,
                });
            };
            if step.is_named && self.steps.insert(name, path.clone()).is_some() {
                report(format!("duplicate step name {name:?}"));
            }
            if let Some(register) = step.register.as_deref() {
                let known = self.results.entry(register).or_default();
                let is_sibling =
                    |known: &StepPath| matches!(path.relation_to(known), Relation::Sibling { .. });
                if known.iter().any(is_sibling) && register != name {
                    report(format!("duplicate result name {register:?}"));
                }
                known.push(path.clone());
            }
            if !step.has_own_names() {
                for inner in step.lists() {
                    self.add(inner, &path, duplicates);
                }
                continue;
            }
            let mut own = Self::default();
            for inner in step.lists() {
                own.add(inner, &path, duplicates);
            }
            let names = own.results.into_keys().chain(own.steps.into_keys());
            self.inner.extend(names.map(|inner| (inner, name)));
        }
    }

    /// Returns the step with a name.
    pub(super) fn step(&self, name: &str) -> Option<&StepPath> {
        let own = self.steps.get(name);
        own.or_else(|| self.outer.and_then(|outer| outer.step(name)))
    }

    /// Returns the steps that register a result.
    pub(super) fn steps_with_result(&self, key: &str) -> &[StepPath] {
        match (self.results.get(key), self.outer) {
            (Some(paths), _) => paths,
            (None, Some(outer)) => outer.steps_with_result(key),
            (None, None) => &[],
        }
    }

    /// Returns the name of the step whose namespace contains a name.
    pub(super) fn container_of(&self, name: &str) -> Option<&str> {
        let own = self.inner.get(name).copied();
        own.or_else(|| self.outer.and_then(|outer| outer.container_of(name)))
    }

    /// Returns the names of all steps that a step can refer to.
    pub(super) fn step_names(&self) -> Vec<&str> {
        let outer = self.outer.map(Names::step_names).unwrap_or_default();
        self.steps.keys().copied().chain(outer).collect()
    }

    /// Returns all results that a step can refer to.
    pub(super) fn result_names(&self) -> Vec<&str> {
        let outer = self.outer.map(Names::result_names).unwrap_or_default();
        self.results.keys().copied().chain(outer).collect()
    }
}
