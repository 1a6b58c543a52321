//! What a step does, by the functions that scripts call.

use std::sync::Arc;

use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::evaluate as value;
use super::executor::Walk;
use super::outcome::{Stand, Verdict};
use crate::apply;
use crate::host::arguments::Reference;
use crate::host::session::{Ending, live};
use crate::host::{Answer, files, flow, k8s, status, template};
use crate::model::Object;
use crate::pipeline::{
    Action, Apply, Assert, Block, Delete, Include, Manifests, Options, Step, scope,
};
use crate::script::{self, value as values};

/// What an action left.
pub(super) enum Made {
    /// Live objects; whether the result is a list of them.
    Objects(Vec<Arc<Object>>, bool),
    /// What was deleted.
    Deleted(Vec<Reference>),
    /// Any value.
    Value(Dynamic),
    /// Steps within the step.
    Stand(Stand),
}

impl Made {
    /// The result of the step.
    pub(super) fn result(&self) -> Answer<Dynamic> {
        Ok(match self {
            Self::Objects(objects, true) => {
                objects.iter().map(live).collect::<Answer<Array>>()?.into()
            }
            Self::Objects(objects, false) => objects.first().map_or(Ok(Dynamic::UNIT), live)?,
            Self::Value(result) | Self::Stand(Stand::Done(result)) => result.clone(),
            Self::Deleted(_) | Self::Stand(_) => Dynamic::UNIT,
        })
    }
}

impl Walk<'_> {
    /// Does what a step is for.
    pub(super) fn act(&self, cx: &NativeCallContext, step: &Step) -> Answer<Made> {
        let text = |text| value::text(cx, text);
        match &step.action {
            Action::Apply(apply) => self.apply(cx, apply),
            Action::Delete(delete) => delete_all(cx, delete),
            Action::Script(script) => {
                let value = value::expression(cx, script)?;
                Ok(Made::Value(value.flatten()))
            }
            Action::Role(role) => {
                let vars = value::named(cx, &role.vars)?.into();
                flow::include(cx, &text(&role.name)?, &vars).map(Made::Value)
            }
            Action::Include(include) => self.include(cx, include),
            Action::Status(values) => {
                let values = value::tree(cx, values)?;
                status::put(cx, values.try_cast::<Map>().unwrap_or_default()).map(|()| NOTHING)
            }
            Action::Condition(condition) => {
                let holds = value::tree(cx, &condition.status)?;
                let (reason, message) = (text(&condition.reason)?, text(&condition.message)?);
                let words = (&*reason, &*message);
                status::condition(cx, &text(&condition.kind)?, &holds, words).map(|()| NOTHING)
            }
            Action::Event(event) => {
                let (reason, message) = (text(&event.reason)?, text(&event.message)?);
                status::tell(cx, &text(&event.kind)?, (&reason, &message)).map(|()| NOTHING)
            }
            Action::Assert(assert) => check(cx, assert),
            Action::Fail(message) => Err(fail(cx, text(message)?)),
            Action::Block(block) => self.block(cx, block, step.repeat.is_some()),
        }
    }

    fn apply(&self, cx: &NativeCallContext, apply: &Apply) -> Answer<Made> {
        let mut wanted = manifests(cx, &apply.manifests).inspect_err(|_| {
            // What was to be applied is not known: nothing may be pruned.
            self.session.effects().failed_applies += 1;
        })?;
        if let Some(mut objects) = wanted.write_lock::<Array>() {
            objects.iter_mut().for_each(texts);
        } else {
            texts(&mut wanted);
        }
        let applied = k8s::apply(cx, &wanted, options(apply.options))?;
        Ok(Made::Objects(applied, !wanted.is_map()))
    }

    fn include(&self, cx: &NativeCallContext, include: &Include) -> Answer<Made> {
        let (verdict, made) = self.apart(|| self.list(cx, &include.steps))?;
        Ok(Made::Stand(verdict.stand(|| made.into())))
    }

    fn block(&self, cx: &NativeCallContext, block: &Block, apart: bool) -> Answer<Made> {
        if apart {
            let (verdict, made) = self.apart(|| self.parts(cx, block))?;
            return Ok(Made::Stand(verdict.stand(|| made.into())));
        }
        let verdict = self.parts(cx, block)?;
        Ok(Made::Stand(verdict.stand(|| Dynamic::UNIT)))
    }

    /// The steps of a block, those that come to its rescue, those that are done in any case.
    fn parts(&self, cx: &NativeCallContext, block: &Block) -> Answer<Verdict> {
        let mut verdict = self.list(cx, &block.steps)?;
        let is_final = |verdict: &Verdict| {
            !verdict.failures.is_empty() && !verdict.failures.iter().any(|failure| failure.pending)
        };
        if is_final(&verdict)
            && let Some(rescue) = &block.rescue
        {
            let outer = script::variable(scope::ERROR).unwrap_or_default();
            script::set_variable(scope::ERROR, verdict.failures[0].to_map());
            verdict = self.list(cx, rescue)?;
            script::set_variable(scope::ERROR, outer);
        }
        let has_ended = verdict.failures.is_empty() && verdict.waits.is_empty();
        if has_ended || is_final(&verdict) {
            let last = self.list(cx, &block.always)?;
            verdict.waits.extend(last.waits);
            verdict.failures.extend(last.failures);
        }
        Ok(verdict)
    }
}

const NOTHING: Made = Made::Value(Dynamic::UNIT);

/// What is to be applied, as `k8s_apply` takes it.
fn manifests(cx: &NativeCallContext, manifests: &Manifests) -> Answer<Dynamic> {
    match manifests {
        Manifests::Inline(tree) => value::tree(cx, tree),
        Manifests::Documents(_, documents) => {
            let documents = documents.iter().map(values::to_dynamic);
            Ok(documents.collect::<Array>().into())
        }
        Manifests::File(name, place) => script::at(cx, "file", value::place(place), |cx| {
            Ok(files::read(cx, &value::text(cx, name)?)?.into())
        }),
        Manifests::Template { name, vars, place } => {
            let vars = value::named(cx, vars)?;
            script::at(cx, "template", value::place(place), |cx| {
                Ok(template::to_objects(cx, &value::text(cx, name)?, vars)?.into())
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

/// Makes texts of numbers and bools where the API takes nothing but texts: a slot keeps the type of its
/// value, and `${spec.port}` in the data of a `ConfigMap` cannot but mean its text.
fn texts(object: &mut Dynamic) {
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
            if let Some(text) = value::shown(entry) {
                *entry = text.into();
            }
        }
    }
}

fn delete_all(cx: &NativeCallContext, delete: &Delete) -> Answer<Made> {
    let objects = value::tree(cx, &delete.objects)?;
    let references = references(&objects)?;
    k8s::delete(cx, &objects, k8s::propagation(delete.propagation)?)?;
    Ok(Made::Deleted(references))
}

/// The objects that a value is, or holds; none where it is neither.
pub(super) fn references(value: &Dynamic) -> Answer<Vec<Reference>> {
    match value.read_lock::<Array>() {
        Some(objects) => objects.iter().map(Reference::of).collect(),
        None => Ok(vec![Reference::of(value)?]),
    }
}

fn check(cx: &NativeCallContext, assert: &Assert) -> Answer<Made> {
    for test in &assert.that {
        if !value::holds(cx, test)? {
            let message = match &assert.message {
                Some(message) => value::text(cx, message)?,
                None => format!("{} does not hold", value::described(test)),
            };
            return Err(fail(cx, message));
        }
    }
    Ok(NOTHING)
}

fn fail(cx: &NativeCallContext, message: String) -> Box<rhai::EvalAltResult> {
    script::end(cx, Arc::new(Ending::Failed(message)))
}
