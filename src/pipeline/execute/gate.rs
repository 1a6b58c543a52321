//! What a step waits for after it has acted. A gate never loops: it is open, or the step waits.

use std::collections::BTreeSet;

use rhai::{Dynamic, NativeCallContext};

use super::action::{Made, references};
use super::evaluate as value;
use super::executor::Walk;
use super::outcome::Wait;
use crate::host::arguments::Reference;
use crate::host::flow::{self, Look, NotYet};
use crate::host::{Answer, readiness};
use crate::model::{Object, ObjectRef};
use crate::pipeline::{Ready, Step, Test, scope};
use crate::script::{self, value as values};

impl Walk<'_> {
    /// What a step still waits for.
    pub(super) fn gates(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        made: &Made,
        result: &Dynamic,
    ) -> Answer<Vec<Wait>> {
        let mut waits = Vec::new();
        if let Some(ready) = &step.ready {
            for reference in made.references()? {
                waits.extend(closed(cx, ready, made, &reference)?);
            }
        }
        if waits.is_empty() && !step.until.is_empty() {
            waits.extend(self.until(cx, step, made, result)?);
        }
        Ok(waits)
    }

    /// The first of the tests that does not hold; what it read may open it.
    fn until(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        made: &Made,
        result: &Dynamic,
    ) -> Answer<Option<Wait>> {
        let before = self.session.effects().reads.count();
        let outer = script::variable(scope::RESULT).unwrap_or_default();
        script::set_variable(scope::RESULT, result.clone());
        let mut closed = None;
        for test in &step.until {
            if !value::holds(cx, test)? {
                closed = Some(test);
                break;
            }
        }
        script::set_variable(scope::RESULT, outer);
        let Some(closed) = closed else {
            return Ok(None);
        };
        let mut objects: BTreeSet<ObjectRef> = made.objects();
        let effects = self.session.effects();
        objects.extend(effects.reads.objects_read_after(before).cloned());
        let on = format!("{} does not hold yet", value::described(closed));
        Ok(Some(Wait { on, objects }))
    }
}

impl Made {
    /// The objects that a gate looks at.
    fn references(&self) -> Answer<Vec<Reference>> {
        match self {
            Self::Objects(objects, _) => {
                let objects = objects.iter();
                Ok(objects.map(|object| reference(object)).collect())
            }
            Self::Deleted(references) => Ok(references.clone()),
            Self::Value(value) if value.is_unit() => Ok(Vec::new()),
            Self::Value(value) => references(value),
            Self::Stand(_) => Ok(Vec::new()),
        }
    }

    /// The objects that it made.
    fn objects(&self) -> BTreeSet<ObjectRef> {
        match self {
            Self::Objects(objects, _) => objects.iter().map(|object| object.object_ref()).collect(),
            Self::Deleted(_) | Self::Value(_) | Self::Stand(_) => BTreeSet::new(),
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

/// Looks at an object: what is waited for, unless all is well.
fn closed(
    cx: &NativeCallContext,
    ready: &Ready,
    made: &Made,
    reference: &Reference,
) -> Answer<Option<Wait>> {
    let look = match made {
        Made::Deleted(_) => flow::look(cx, "wait_gone", reference, |found| {
            flow::gone(reference, found)
        }),
        _ => flow::look(cx, "wait_ready", reference, |found| {
            is_open(cx, ready, found)
        }),
    };
    Ok(match look? {
        Look::Holds(_) => None,
        Look::NotYet { object, why } => Some(Wait {
            on: format!("{object}: {why}"),
            objects: BTreeSet::from([object]),
        }),
    })
}

fn is_open(cx: &NativeCallContext, ready: &Ready, found: Option<&Object>) -> Result<(), NotYet> {
    let found = found.ok_or("it is not there yet")?;
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
    let holds = match test {
        Test::Query(query) => value::holds_of(&object, query)?,
        test => {
            script::set_variable(scope::OBJECT, object);
            value::holds(cx, test)?
        }
    };
    if holds {
        Ok(())
    } else {
        Err(format!("{} does not hold yet", value::described(test)).into())
    }
}
