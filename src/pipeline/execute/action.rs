//! Executes the actions of steps through the functions that scripts call.

use std::sync::Arc;

use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::evaluate;
use super::executor::Executor;
use super::guards::VariableGuard;
use super::outcome::{ListOutcome, StepOutcome};
use crate::apply;
use crate::host::arguments::Reference;
use crate::host::session::{Ending, live};
use crate::host::{HostResult, files, flow, k8s, status, template};
use crate::model::Object;
use crate::pipeline::action::{Apply, Assert, Delete, Manifests, Options, Script};
use crate::pipeline::scope;
use crate::pipeline::step::{Action, Block, Include, Step};
use crate::script::{self, value as values};

/// The result of an action.
pub(super) enum ActionResult {
    /// Live objects that were applied. The flag is true if the result of the step is a list.
    Objects(Vec<Arc<Object>>, bool),
    /// Objects that were deleted.
    Deleted(Vec<Reference>),
    /// Any value.
    Value(Dynamic),
    /// The outcome of steps within the step.
    Steps(StepOutcome),
}

impl ActionResult {
    /// Returns the result of the step.
    pub(super) fn value(&self) -> HostResult<Dynamic> {
        Ok(match self {
            Self::Objects(objects, true) => objects
                .iter()
                .map(live)
                .collect::<HostResult<Array>>()?
                .into(),
            Self::Objects(objects, false) => objects.first().map_or(Ok(Dynamic::UNIT), live)?,
            Self::Value(result) | Self::Steps(StepOutcome::Done(result)) => result.clone(),
            Self::Deleted(_) | Self::Steps(_) => Dynamic::UNIT,
        })
    }
}

/// Returns the current values of the variables that the step sets.
fn own_variables(step: &Step) -> Map {
    let vars = script::variable(scope::VARS).unwrap_or_default();
    let vars = vars.try_cast::<Map>().unwrap_or_default();
    let own = step.vars.iter().map(|(name, _)| {
        let value = vars.get(&**name).cloned().unwrap_or_default();
        ((&**name).into(), value)
    });
    own.collect()
}

impl Executor<'_> {
    /// Executes the action of a step.
    pub(super) fn execute_action(
        &self,
        cx: &NativeCallContext,
        step: &Step,
    ) -> HostResult<ActionResult> {
        let text = |text| evaluate::text(cx, text);
        match &step.action {
            Action::Apply(apply) => self.apply(cx, apply),
            Action::Delete(delete) => delete_all(cx, delete),
            Action::Script(script) => {
                let snippet = match script {
                    Script::Inline(expression) => expression.snippet,
                    Script::File { snippet, .. } => *snippet,
                };
                let value = script::evaluate(cx, snippet)?;
                Ok(ActionResult::Value(value.flatten()))
            }
            Action::Role(role) => {
                let mut vars = own_variables(step);
                vars.extend(evaluate::variables(cx, &role.vars)?);
                flow::include(cx, &text(&role.name)?, &vars.into()).map(ActionResult::Value)
            }
            Action::Include(include) => self.include(cx, include),
            Action::Status(values) => {
                let values = evaluate::tree(cx, values)?;
                status::put(cx, values.try_cast::<Map>().unwrap_or_default()).map(|()| NO_RESULT)
            }
            Action::Condition(condition) => {
                let holds = evaluate::tree(cx, &condition.status)?;
                let (reason, message) = (text(&condition.reason)?, text(&condition.message)?);
                let words = (&*reason, &*message);
                status::condition(cx, &text(&condition.kind)?, &holds, words).map(|()| NO_RESULT)
            }
            Action::Event(event) => {
                let (reason, message) = (text(&event.reason)?, text(&event.message)?);
                status::add_event(cx, &text(&event.kind)?, (&reason, &message)).map(|()| NO_RESULT)
            }
            Action::Assert(assert) => self::assert(cx, assert),
            Action::Fail(message) => Err(fail(cx, text(message)?)),
            Action::Block(block) => self.block(cx, step, block),
        }
    }

    fn apply(&self, cx: &NativeCallContext, apply: &Apply) -> HostResult<ActionResult> {
        let mut wanted = manifests(cx, &apply.manifests).inspect_err(|_| {
            // The objects are unknown, so the run must not prune any.
            self.session.effects().failed_applies += 1;
        })?;
        if let Some(mut objects) = wanted.write_lock::<Array>() {
            objects.iter_mut().for_each(convert_to_texts);
        } else {
            convert_to_texts(&mut wanted);
        }
        let applied = k8s::apply(cx, &wanted, options(apply.options))?;
        Ok(ActionResult::Objects(applied, !wanted.is_map()))
    }

    fn include(&self, cx: &NativeCallContext, include: &Include) -> HostResult<ActionResult> {
        let namespace = self.enter_namespace();
        let outcome = self.list(cx, &include.steps)?;
        let results = namespace.take_results();
        Ok(ActionResult::Steps(
            outcome.into_step_outcome(|| results.into()),
        ))
    }

    fn block(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        block: &Block,
    ) -> HostResult<ActionResult> {
        if step.repeat.is_none() {
            let outcome = self.sections(cx, block)?;
            return Ok(ActionResult::Steps(
                outcome.into_step_outcome(|| Dynamic::UNIT),
            ));
        }
        let namespace = self.enter_namespace();
        let outcome = self.sections(cx, block)?;
        let results = namespace.take_results();
        Ok(ActionResult::Steps(
            outcome.into_step_outcome(|| results.into()),
        ))
    }

    /// Executes the steps of a block, then `rescue` after a failure, then `always`.
    fn sections(&self, cx: &NativeCallContext, block: &Block) -> HostResult<ListOutcome> {
        let mut outcome = self.list(cx, &block.steps)?;
        if outcome.has_final_failure()
            && let Some(rescue) = &block.rescue
        {
            let _guard = VariableGuard::set(scope::ERROR, outcome.failures[0].to_map());
            outcome = self.list(cx, rescue)?;
        }
        if outcome.is_done() || outcome.has_final_failure() {
            let last = self.list(cx, &block.always)?;
            outcome.waits.extend(last.waits);
            outcome.failures.extend(last.failures);
        }
        Ok(outcome)
    }
}

const NO_RESULT: ActionResult = ActionResult::Value(Dynamic::UNIT);

/// Evaluates the objects to apply, as `k8s_apply` accepts them.
fn manifests(cx: &NativeCallContext, manifests: &Manifests) -> HostResult<Dynamic> {
    match manifests {
        Manifests::Inline(tree) => evaluate::tree(cx, tree),
        Manifests::Documents(_, documents) => {
            let documents = documents.iter().map(values::to_dynamic);
            Ok(documents.collect::<Array>().into())
        }
        Manifests::File(name, location) => {
            script::call_at(cx, "file", evaluate::call_location(location), |cx| {
                Ok(files::read(cx, &evaluate::text(cx, name)?)?.into())
            })
        }
        Manifests::Template {
            name,
            vars,
            location,
        } => {
            let vars = evaluate::variables(cx, vars)?;
            script::call_at(cx, "template", evaluate::call_location(location), |cx| {
                Ok(template::to_objects(cx, &evaluate::text(cx, name)?, vars)?.into())
            })
        }
    }
}

fn options(given: Options) -> apply::Options {
    let default = apply::Options::default();
    apply::Options {
        owner: given.owner.unwrap_or(default.owner),
        force: given.force.or(default.force),
        adopt: given.adopt.or(default.adopt),
        recreate: given.recreate.unwrap_or(default.recreate),
    }
}

/// Converts numbers and bools to texts where the API accepts only texts. A slot keeps the type of its value,
/// so `${spec.port}` in the data of a `ConfigMap` is a number before.
fn convert_to_texts(object: &mut Dynamic) {
    let Some(mut object) = object.write_lock::<Map>() else {
        return;
    };
    let text = |key: &str| object.get(key).map(ToString::to_string).unwrap_or_default();
    let maps: &[&str] = match (&*text("apiVersion"), &*text("kind")) {
        ("v1", "ConfigMap") => &["data"],
        ("v1", "Secret") => &["stringData"],
        _ => &[],
    };
    for key in maps {
        object.get_mut(*key).map(all_texts);
    }
    let mut metadata = object.get_mut("metadata");
    if let Some(mut metadata) = metadata
        .as_mut()
        .and_then(|value| value.write_lock::<Map>())
    {
        for key in ["labels", "annotations"] {
            metadata.get_mut(key).map(all_texts);
        }
    }
}

fn all_texts(map: &mut Dynamic) {
    if let Some(mut map) = map.write_lock::<Map>() {
        for entry in map.values_mut().filter(|entry| !entry.is_string()) {
            if let Some(text) = evaluate::scalar_text(entry) {
                *entry = text.into();
            }
        }
    }
}

fn delete_all(cx: &NativeCallContext, delete: &Delete) -> HostResult<ActionResult> {
    let objects = evaluate::tree(cx, &delete.objects)?;
    let references = references(&objects)?;
    k8s::delete(cx, &objects, k8s::propagation(delete.propagation)?)?;
    Ok(ActionResult::Deleted(references))
}

/// Returns the references of an object, or of a list of objects.
pub(super) fn references(value: &Dynamic) -> HostResult<Vec<Reference>> {
    match value.read_lock::<Array>() {
        Some(objects) => objects.iter().map(Reference::from_dynamic).collect(),
        None => Ok(vec![Reference::from_dynamic(value)?]),
    }
}

fn assert(cx: &NativeCallContext, assert: &Assert) -> HostResult<ActionResult> {
    for test in &assert.that {
        if !evaluate::is_true(cx, test)? {
            let message = match &assert.message {
                Some(message) => evaluate::text(cx, message)?,
                None => format!("`{}` is not true", test.text()),
            };
            return Err(fail(cx, message));
        }
    }
    Ok(NO_RESULT)
}

fn fail(cx: &NativeCallContext, message: String) -> Box<rhai::EvalAltResult> {
    script::end(cx, Arc::new(Ending::Failed(message)))
}
