//! Checks the gates of a step after its action. A gate never loops: it is open, or the step waits.

use std::collections::BTreeSet;

use rhai::{Dynamic, NativeCallContext};

use super::action::{ActionResult, references};
use super::evaluate;
use super::executor::Executor;
use super::failure::Wait;
use super::guards::VariableGuard;
use crate::host::arguments::Reference;
use crate::host::flow::{self, ConditionCheck, NotYet};
use crate::host::{HostResult, readiness};
use crate::model::{Object, ObjectRef};
use crate::pipeline::scope;
use crate::pipeline::step::{Ready, Step};
use crate::pipeline::tree::Test;
use crate::script::value as values;

impl Executor<'_> {
    /// Returns what a step still waits for.
    pub(super) fn gates(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        done: &ActionResult,
        result: &Dynamic,
    ) -> HostResult<Vec<Wait>> {
        let mut waits = Vec::new();
        if let Some(ready) = &step.ready {
            for reference in done.references()? {
                waits.extend(closed(cx, ready, done, &reference)?);
            }
        }
        if waits.is_empty() && !step.until.is_empty() {
            waits.extend(self.until(cx, step, done, result)?);
        }
        Ok(waits)
    }

    /// Returns a wait for the first test of `until` that is false.
    fn until(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        done: &ActionResult,
        result: &Dynamic,
    ) -> HostResult<Option<Wait>> {
        let reads_before = self.session.effects().reads.count();
        let _guard = VariableGuard::set(scope::RESULT, result.clone());
        for test in &step.until {
            if !evaluate::is_true(cx, test)? {
                let mut objects: BTreeSet<ObjectRef> = done.objects();
                let effects = self.session.effects();
                objects.extend(effects.reads.objects_read_after(reads_before).cloned());
                return Ok(Some(Wait {
                    on: format!("`{}` is not true yet", test.text()),
                    objects,
                }));
            }
        }
        Ok(None)
    }
}

impl ActionResult {
    /// Returns the objects that `ready` checks.
    fn references(&self) -> HostResult<Vec<Reference>> {
        match self {
            Self::Objects(objects, _) => {
                let objects = objects.iter();
                Ok(objects.map(|object| reference(object)).collect())
            }
            Self::Deleted(references) => Ok(references.clone()),
            Self::Value(value) if value.is_unit() => Ok(Vec::new()),
            Self::Value(value) => references(value),
            Self::Steps(_) => Ok(Vec::new()),
        }
    }

    /// Returns the objects that the action applied.
    fn objects(&self) -> BTreeSet<ObjectRef> {
        match self {
            Self::Objects(objects, _) => objects.iter().map(|object| object.object_ref()).collect(),
            Self::Deleted(_) | Self::Value(_) | Self::Steps(_) => BTreeSet::new(),
        }
    }
}

fn reference(object: &Object) -> Reference {
    Reference {
        gvk: object.gvk.clone(),
        namespace: object.namespace.as_deref().map(str::to_owned),
        name: object.name.to_string(),
        uid: Some(object.uid.to_string()),
    }
}

/// Returns a wait if a gate is closed for an object.
fn closed(
    cx: &NativeCallContext,
    ready: &Ready,
    done: &ActionResult,
    reference: &Reference,
) -> HostResult<Option<Wait>> {
    let look = match done {
        ActionResult::Deleted(_) => flow::check_condition(cx, "wait_gone", reference, |found| {
            flow::check_deleted(reference, found)
        }),
        _ => flow::check_condition(cx, "wait_ready", reference, |found| {
            is_open(cx, ready, found)
        }),
    };
    Ok(match look? {
        ConditionCheck::Holds(_) => None,
        ConditionCheck::NotYet { object, why } => Some(Wait {
            on: format!("{object}: {why}"),
            objects: BTreeSet::from([object]),
        }),
    })
}

fn is_open(cx: &NativeCallContext, ready: &Ready, found: Option<&Object>) -> Result<(), NotYet> {
    let found = found.ok_or("does not exist yet")?;
    let test = match ready {
        Ready::Status => {
            return match readiness::not_ready(&found.value()) {
                Some(why) => Err(why.into()),
                None => Ok(()),
            };
        }
        Ready::Test(test) => test,
    };
    let object = values::to_dynamic(&found.value());
    let is_open = match test {
        Test::Query(query) => evaluate::is_true_of(&object, query)?,
        test => {
            let _guard = VariableGuard::set(scope::OBJECT, object);
            evaluate::is_true(cx, test)?
        }
    };
    if is_open {
        Ok(())
    } else {
        Err(format!("`{}` is not true yet", test.text()).into())
    }
}
