//! Executes lists of steps.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Dynamic, Map, NativeCallContext};

use super::guards::FlagGuard;
use super::open_step::OpenStep;
use super::outcome::{ListOutcome, StepOutcome};
use crate::host::{HostResult, Session};
use crate::pipeline::order::execution_order;
use crate::pipeline::step::Step;
use crate::pipeline::{StepSelection, scope};
use crate::script;

/// The execution of a pipeline in a run.
pub(super) struct Executor<'a> {
    pub(super) session: &'a Session,
    selection: &'a StepSelection,
    /// True if the execution has reached the step that the selection starts at.
    has_started: Cell<bool>,
    /// The results that the current namespace registered, each with the value that it hides.
    registered: RefCell<Vec<(Arc<str>, Option<Dynamic>)>>,
}

/// The step of a list that the selection starts at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartStep {
    /// The step at this index.
    At(usize),
    /// A step within the step at this index.
    Within(usize),
}

/// A namespace of results. Its results are invisible after it is dropped.
pub(super) struct Namespace<'e, 'a> {
    executor: &'e Executor<'a>,
    outer: Vec<(Arc<str>, Option<Dynamic>)>,
}

impl Namespace<'_, '_> {
    /// Removes and returns the results of the namespace.
    pub(super) fn take_results(&self) -> Map {
        let mut results = Map::new();
        for (name, hidden) in self.executor.registered.take().into_iter().rev() {
            let result = script::put_variable(scope::RESULTS, &name, hidden);
            results
                .entry((&*name).into())
                .or_insert_with(|| result.unwrap_or_default());
        }
        results
    }
}

impl Drop for Namespace<'_, '_> {
    fn drop(&mut self) {
        self.take_results();
        let outer = std::mem::take(&mut self.outer);
        self.executor.registered.replace(outer);
    }
}

impl<'a> Executor<'a> {
    pub(super) fn new(session: &'a Session, selection: &'a StepSelection) -> Self {
        Self {
            session,
            selection,
            has_started: Cell::new(selection.start_at.is_none()),
            registered: RefCell::default(),
        }
    }

    /// Begins a namespace of results.
    pub(super) fn enter_namespace(&self) -> Namespace<'_, 'a> {
        Namespace {
            executor: self,
            outer: self.registered.take(),
        }
    }

    /// Executes the steps of a list.
    pub(super) fn list(&self, cx: &NativeCallContext, steps: &[Step]) -> HostResult<ListOutcome> {
        let mut outcomes: Vec<Option<StepOutcome>> = steps.iter().map(|_| None).collect();
        let start = self.start(steps);
        for index in execution_order(steps) {
            let _guard = FlagGuard::new(&self.has_started);
            let is_later = start.is_some_and(|start| match start {
                StartStep::At(first) => index >= first,
                StartStep::Within(first) => index > first,
            });
            let has_started = self.has_started.get() || is_later;
            self.has_started.set(has_started);
            let is_selected = has_started || start == Some(StartStep::Within(index));
            let outcome = self.execute_one(cx, (steps, index), &outcomes, is_selected)?;
            outcomes[index] = Some(outcome);
        }
        if start.is_some() {
            self.has_started.set(true);
        }
        let mut all = ListOutcome::default();
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let name = format!("{} of {}, {}", index + 1, steps.len(), steps[index].name);
            if let Some(outcome) = outcome {
                all.add(&name, outcome);
            }
        }
        Ok(all)
    }

    fn execute_one(
        &self,
        cx: &NativeCallContext,
        (steps, index): (&[Step], usize),
        outcomes: &[Option<StepOutcome>],
        is_selected: bool,
    ) -> HostResult<StepOutcome> {
        script::checkpoint()?;
        let step = &steps[index];
        let open = OpenStep::new(self.session, step);
        let outcome = match blockers(step, outcomes) {
            _ if !is_selected || !self.has_selected_tag(step) => StepOutcome::Unselected,
            blockers if !blockers.is_empty() => StepOutcome::Blocked(blockers),
            _ => self.step(cx, step, open.path())?,
        };
        if matches!(outcome, StepOutcome::Unselected | StepOutcome::Blocked(_)) {
            self.keep_records(&open.path(), &outcome, outcomes);
        }
        if let StepOutcome::Done(result) = &outcome {
            self.register(step, result);
        }
        open.close(steps, index, &outcome);
        Ok(outcome)
    }

    /// Returns the step of a list that the selection starts at, unless it starts elsewhere.
    fn start(&self, steps: &[Step]) -> Option<StartStep> {
        let name = self.selection.start_at.as_deref()?;
        if self.has_started.get() {
            return None;
        }
        let index = steps.iter().position(|step| contains(step, name))?;
        Some(if &*steps[index].name == name {
            StartStep::At(index)
        } else {
            StartStep::Within(index)
        })
    }

    fn has_selected_tag(&self, step: &Step) -> bool {
        let tags = &self.selection.tags;
        tags.is_empty() || has_tag(step, &|tag| tags.contains(tag))
    }

    fn register(&self, step: &Step, result: &Dynamic) {
        let Some(name) = &step.register else {
            return;
        };
        let hidden = script::put_variable(scope::RESULTS, name, Some(result.clone()));
        self.registered
            .borrow_mut()
            .push((Arc::clone(name), hidden));
    }
}

fn has_tag(step: &Step, is_selected: &dyn Fn(&str) -> bool) -> bool {
    step.tags.iter().any(|tag| is_selected(tag))
        || step
            .lists()
            .flatten()
            .any(|inner| has_tag(inner, is_selected))
}

fn contains(step: &Step, name: &str) -> bool {
    &*step.name == name || step.lists().flatten().any(|inner| contains(inner, name))
}

/// Returns the needs of a step that are not done.
fn blockers(step: &Step, outcomes: &[Option<StepOutcome>]) -> Vec<usize> {
    let needs = step.needs.iter().copied();
    needs
        .filter(|need| {
            !matches!(
                outcomes.get(*need),
                Some(Some(
                    StepOutcome::Done(_) | StepOutcome::Skipped | StepOutcome::Unselected
                ))
            )
        })
        .collect()
}
