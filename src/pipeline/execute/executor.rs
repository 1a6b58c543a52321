//! The way through a list of steps.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Dynamic, Map, NativeCallContext};

use super::outcome::{Stand, Verdict, position};
use super::step::Opened;
use crate::host::Answer;
use crate::host::session::Session;
use crate::pipeline::{Step, order, scope};
use crate::pipeline::{StepSelection, StepState};
use crate::script;

/// A pipeline that is being run.
pub(super) struct Walk<'a> {
    pub(super) session: &'a Session,
    selection: &'a StepSelection,
    /// Whether the step that the selection starts at was met.
    started: Cell<bool>,
    /// What the list at work, or one around it that shares its names, has registered, and what it hid.
    own: RefCell<Vec<(Arc<str>, Option<Dynamic>)>>,
}

/// Where a selection starts in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// At the step of this index.
    At(usize),
    /// Within it.
    Within(usize),
}

impl<'a> Walk<'a> {
    /// A walk that has not begun.
    pub(super) fn new(session: &'a Session, selection: &'a StepSelection) -> Self {
        Self {
            session,
            selection,
            started: Cell::new(selection.start_at.is_none()),
            own: RefCell::default(),
        }
    }

    /// What the steps of the list at work made, which is then out of sight.
    pub(super) fn results(&self) -> Map {
        let mut made = Map::new();
        for (name, hidden) in self.own.take().into_iter().rev() {
            let result = script::put_variable(scope::RESULTS, &name, hidden);
            made.entry((&*name).into())
                .or_insert_with(|| result.unwrap_or_default());
        }
        made
    }

    /// Does the steps of a list.
    pub(super) fn list(&self, cx: &NativeCallContext, steps: &[Step]) -> Answer<Verdict> {
        let mut stands: Vec<Option<Stand>> = steps.iter().map(|_| None).collect();
        let start = self.start(steps);
        for index in order(steps) {
            let started = self.started.get();
            let is_later = start.is_some_and(|start| match start {
                Start::At(first) => index >= first,
                Start::Within(first) => index > first,
            });
            self.started.set(started || is_later);
            let is_chosen = self.started.get() || start == Some(Start::Within(index));
            let stand = self.one(cx, (steps, index), &stands, is_chosen)?;
            self.started.set(started);
            stands[index] = Some(stand);
        }
        if start.is_some() {
            self.started.set(true);
        }
        let mut verdict = Verdict::default();
        for (index, stand) in stands.into_iter().enumerate() {
            let at = position(steps, index, &steps[index].name);
            if let Some(stand) = stand {
                verdict.note(&at, stand);
            }
        }
        Ok(verdict)
    }

    fn one(
        &self,
        cx: &NativeCallContext,
        (steps, index): (&[Step], usize),
        stands: &[Option<Stand>],
        is_chosen: bool,
    ) -> Answer<Stand> {
        script::checkpoint()?;
        let step = &steps[index];
        let opened = Opened::new(self.session, step);
        let stand = match blockers(step, stands) {
            _ if !is_chosen || !self.has_chosen_tag(step) => Stand::Unselected,
            blockers if !blockers.is_empty() => Stand::Blocked(blockers),
            _ => self.step(cx, step, opened.path())?,
        };
        if matches!(stand, Stand::Unselected | Stand::Blocked(_)) {
            self.keep_marks(&opened.path(), &stand, stands);
        }
        if let Stand::Done(result) = &stand {
            self.register(step, result);
        }
        opened.close(steps, index, &stand);
        Ok(stand)
    }

    /// Where in a list the selection starts, unless it has started or does so elsewhere.
    fn start(&self, steps: &[Step]) -> Option<Start> {
        let name = self.selection.start_at.as_deref()?;
        if self.started.get() {
            return None;
        }
        let index = steps.iter().position(|step| contains(step, name))?;
        Some(if &*steps[index].name == name {
            Start::At(index)
        } else {
            Start::Within(index)
        })
    }

    fn has_chosen_tag(&self, step: &Step) -> bool {
        let tags = &self.selection.tags;
        tags.is_empty() || has_tag(step, &|tag| tags.contains(tag))
    }

    /// Makes a result known.
    fn register(&self, step: &Step, result: &Dynamic) {
        let Some(name) = &step.register else {
            return;
        };
        let hidden = script::put_variable(scope::RESULTS, name, Some(result.clone()));
        self.own.borrow_mut().push((Arc::clone(name), hidden));
    }

    /// Does a list with names of its own: what its steps made is given back and then out of sight.
    pub(super) fn apart<T>(&self, body: impl FnOnce() -> Answer<T>) -> Answer<(T, Map)> {
        let own = self.own.take();
        let answer = body()?;
        let made = self.results();
        self.own.replace(own);
        Ok((answer, made))
    }
}

fn has_tag(step: &Step, wanted: &dyn Fn(&str) -> bool) -> bool {
    step.tags.iter().any(|tag| wanted(tag))
        || step.lists().flatten().any(|inner| has_tag(inner, wanted))
}

fn contains(step: &Step, name: &str) -> bool {
    &*step.name == name || step.lists().flatten().any(|inner| contains(inner, name))
}

/// The needs of a step that are not done.
fn blockers(step: &Step, stands: &[Option<Stand>]) -> Vec<usize> {
    let needs = step.needs.iter().copied();
    needs
        .filter(|need| {
            !matches!(
                stands.get(*need),
                Some(Some(Stand::Done(_) | Stand::Skipped | Stand::Unselected))
            )
        })
        .collect()
}

/// The word for how a step stands.
pub(super) fn state(stand: &Stand) -> StepState {
    match stand {
        Stand::Done(_) => StepState::Done,
        Stand::Skipped => StepState::Skipped,
        Stand::Unselected => StepState::Unselected,
        Stand::Waiting(_) => StepState::Waiting,
        Stand::Failed(_) => StepState::Failed,
        Stand::Blocked(_) => StepState::Blocked,
    }
}
