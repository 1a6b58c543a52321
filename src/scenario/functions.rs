//! What the scripts of scenarios can call, beside the pure functions of roles.
//!
//! The functions that are named as those of roles do the same, but as the scenario's own user: nothing
//! gets an owner, and every read asks the cluster.

#![expect(
    clippy::unnecessary_box_returns,
    reason = "the plugin macros of rhai export what is `pub`, from their prelude, with boxed errors"
)]

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use rhai::plugin::{export_module, exported_module};
use rhai::{
    Array, Dynamic, EvalAltResult, FnPtr, FuncRegistration, ImmutableString, Map, Module,
    NativeCallContext, Shared, Variant,
};
use serde_json::Value;

use super::compare::{difference, mismatches};
use super::documents::Manifest;
use super::failure::Failure;
use super::verify;
use super::world::World;
use crate::clock;
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::host;
use crate::model::findings::list_of;
use crate::model::{Gvk, Object, ObjectRef, duration};
use crate::script::{self, HostError, Run, value};
use embedded_apiserver::simulation::{self, Control, Target};

/// Constants in the scope of every script.
pub(super) const VARIABLES: [&str; 4] = ["embedded", "namespace", "scenario", "vars"];

/// The packages of the engine.
pub(super) fn modules() -> Vec<Shared<Module>> {
    let mut modules = host::pure_modules();
    let mut own = exported_module!(functions);
    // The engine calls the function of the exact type before one that takes anything.
    print::<ImmutableString>(&mut own);
    print::<Array>(&mut own);
    print::<Map>(&mut own);
    print::<bool>(&mut own);
    print::<i64>(&mut own);
    print::<f64>(&mut own);
    print::<()>(&mut own);
    modules.push(Shared::new(own));
    modules
}

type Answer<T> = Result<T, Box<EvalAltResult>>;

#[export_module]
mod functions {
    /// Fails the stage unless something holds.
    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert(holds: bool) -> Answer<()> {
        assert_or(holds, "the assertion does not hold")
    }

    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert_or(holds: bool, message: &str) -> Answer<()> {
        if holds {
            return Ok(());
        }
        Err(refused(Failure::new(message)))
    }

    /// Fails the stage unless a value is another, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_eq(actual: Dynamic, expected: Dynamic) -> Answer<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        if actual == expected {
            return Ok(());
        }
        Err(refused(differs(&expected, &actual, "the values differ")))
    }

    /// Fails the stage unless a value holds all that is expected, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_match(actual: Dynamic, expected: Dynamic) -> Answer<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        match mismatches(&expected, &actual).first() {
            None => Ok(()),
            Some(first) => Err(refused(differs(&expected, &actual, &first.to_string()))),
        }
    }

    /// Fails the stage unless a value is as in the golden snapshot of a name, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_snapshot(cx: NativeCallContext, name: &str, value: Dynamic) -> Answer<()> {
        let (world, value) = (world(&cx)?, json(&value)?);
        let checked = world.snapshots.check(name, &value, &world.namespace);
        checked.map_err(refused)
    }

    /// Calls a function again and again, while time passes, until it does not fail and does not return
    /// `false`.
    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually(cx: NativeCallContext, check: FnPtr) -> Answer<Dynamic> {
        let within = world(&cx)?.deadline;
        retry(&cx, within, &check)
    }

    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually_within(
        cx: NativeCallContext,
        within: &str,
        check: FnPtr,
    ) -> Answer<Dynamic> {
        retry(&cx, time(within)?, &check)
    }

    /// Lets time pass; on the embedded API it takes no time.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn advance(cx: NativeCallContext, time: &str) -> Answer<()> {
        let (world, time) = (world(&cx)?, super::time(time)?);
        wait(&cx, world.floor.advance(time))
    }

    /// Waits until the operator has nothing to do for now.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn settle(cx: NativeCallContext) -> Answer<()> {
        let world = world(&cx)?;
        wait(&cx, world.settle())
    }

    /// Keeps Pods from starting and claims from being bound: those of a kind, a name, labels; a Pod also
    /// by what controls it. On the embedded API only.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn hold(cx: NativeCallContext, target: Map) -> Answer<()> {
        direct(&cx, target, Control::hold)
    }

    /// Takes back what was said of the same target.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn release(cx: NativeCallContext, target: Map) -> Answer<()> {
        direct(&cx, target, |control, target| control.release(&target))
    }

    /// Lets Pods crash, or fail as the second argument says.
    #[rhai_fn(name = "fail", volatile, return_raw)]
    pub(crate) fn fail(cx: NativeCallContext, target: Map) -> Answer<()> {
        direct(&cx, target, |control, target| {
            control.fail(target, simulation::Failure::CrashLoopBackOff);
        })
    }

    #[rhai_fn(name = "fail", volatile, return_raw)]
    pub(crate) fn fail_as(cx: NativeCallContext, target: Map, how: &str) -> Answer<()> {
        let Some((_, failure)) = FAILURES.iter().find(|(name, _)| *name == how) else {
            let names: Vec<_> = FAILURES.iter().map(|(name, _)| *name).collect();
            let expected = list_of(&names, "or");
            return Err(refused(Failure::new(format!(
                "expected {expected}, found {how}"
            ))));
        };
        direct(&cx, target, |control, target| {
            control.fail(target, *failure);
        })
    }

    /// How often the operator has written so far.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn writes(cx: NativeCallContext) -> Answer<i64> {
        let written = world(&cx)?.floor.requests.written();
        Ok(i64::try_from(written).unwrap_or(i64::MAX))
    }

    /// How many requests the operator has sent so far, reads and watches included.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn requests(cx: NativeCallContext) -> Answer<i64> {
        let begun = world(&cx)?.floor.requests.begun();
        Ok(i64::try_from(begun).unwrap_or(i64::MAX))
    }

    /// How many runs the operator has made so far.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn runs(cx: NativeCallContext) -> Answer<i64> {
        let count = world(&cx)?.floor.runs.count();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Returns whether an object has become what its spec asks for.
    #[rhai_fn(return_raw)]
    pub(crate) fn ready(object: Dynamic) -> Answer<bool> {
        Ok(!object.is_unit() && host::readiness::not_ready(&json(&object)?).is_none())
    }

    /// Applies an object.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_apply(cx: NativeCallContext, object: Dynamic) -> Answer<Dynamic> {
        let (world, value) = (world(&cx)?, json(&object)?);
        let gvk = gvk_of(&value)?;
        let applied = wait(&cx, world.apply_value(&gvk, value))?;
        Ok(live(&applied))
    }

    /// Reads an object; `()` if there is none.
    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> Answer<Dynamic> {
        get(&cx, &Gvk::from_api_version(api_version, kind), None, name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Answer<Dynamic> {
        let gvk = Gvk::from_api_version(api_version, kind);
        get(&cx, &gvk, Some(namespace), name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_ref(cx: NativeCallContext, object: Dynamic) -> Answer<Dynamic> {
        let value = json(&object)?;
        let (gvk, namespace, name) = reference(&value)?;
        get(&cx, &gvk, namespace, name)
    }

    /// Reads all objects of a kind in the scenario's namespace, or another.
    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list(cx: NativeCallContext, api_version: &str, kind: &str) -> Answer<Array> {
        list(&cx, &Gvk::from_api_version(api_version, kind), None)
    }

    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> Answer<Array> {
        let gvk = Gvk::from_api_version(api_version, kind);
        list(&cx, &gvk, Some(namespace))
    }

    /// Deletes an object; that it is absent is no error.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_delete(cx: NativeCallContext, object: Dynamic) -> Answer<()> {
        let (world, value) = (world(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&world, &value).await?;
            world.delete(&object).await
        })
    }

    /// Waits until an object is gone.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn wait_gone(cx: NativeCallContext, object: Dynamic) -> Answer<()> {
        let (world, value) = (world(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&world, &value).await?;
            world.is_gone(&object, world.deadline).await
        })
    }

    /// Changes parts of an object by a merge patch.
    #[rhai_fn(name = "k8s_patch", volatile, return_raw)]
    pub(crate) fn k8s_patch(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> Answer<Dynamic> {
        change(&cx, &object, &patch, None)
    }

    /// Changes parts of an object's status by a merge patch.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_patch_status(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> Answer<Dynamic> {
        change(&cx, &object, &patch, Some("status"))
    }
}

/// How Pods can fail.
const FAILURES: [(&str, simulation::Failure); 4] = [
    ("CrashLoopBackOff", simulation::Failure::CrashLoopBackOff),
    ("Exit", simulation::Failure::Exit),
    ("ImagePullBackOff", simulation::Failure::ImagePullBackOff),
    ("NeverReady", simulation::Failure::NeverReady),
];

/// Tells the simulation of workloads about a target: `#{kind, name, namespace, labels}`, or an object.
fn direct(cx: &NativeCallContext, target: Map, tell: impl FnOnce(&Control, Target)) -> Answer<()> {
    let world = world(cx)?;
    let target = target_of(&world, target)?;
    if world.floor.direct(|control| tell(control, target)) {
        return Ok(());
    }
    let message = "the workloads of a cluster cannot be held: run this on the embedded API";
    Err(refused(Failure::new(message)))
}

fn target_of(world: &World, target: Map) -> Answer<Target> {
    let value = json(&target.into())?;
    let metadata = value.get("metadata").unwrap_or(&value);
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let namespace = text(metadata, "namespace").unwrap_or_else(|| world.namespace.clone());
    let mut target = Target::default();
    target.kind = text(&value, "kind");
    target.namespace = Some(namespace);
    target.name = text(metadata, "name");
    // `labels` beside `metadata` would be an object's: its name selects it already.
    let Some(labels) = value.get("labels") else {
        return Ok(target);
    };
    target
        .with_labels(labels)
        .map_err(|error| refused(Failure::new(format!("labels: {error}"))))
}

/// Registers `print` for a type. The engine wants a text back, which it would write to stdout.
fn print<T: Variant + Clone>(module: &mut Module) {
    FuncRegistration::new("print")
        .with_volatility(true)
        .set_into_module(
            module,
            |cx: NativeCallContext<'_>, value: T| -> Answer<ImmutableString> {
                world(&cx)?.say(Dynamic::from(value).to_string());
                Ok(ImmutableString::new())
            },
        );
}

fn world(cx: &NativeCallContext) -> Answer<Arc<World>> {
    Run::of(cx)?
        .state()
        .ok_or_else(|| "called outside a scenario".into())
}

/// Waits on the script's thread.
fn wait<T>(cx: &NativeCallContext, work: impl Future<Output = Result<T, Failure>>) -> Answer<T> {
    script::block_on(cx, async { work.await.map_err(error) })
}

fn error(failure: Failure) -> HostError {
    let text = [failure.message, failure.details];
    HostError::new("failed", text.join("\n").trim_end())
}

fn refused(failure: Failure) -> Box<EvalAltResult> {
    error(failure).into()
}

fn differs(expected: &Value, actual: &Value, message: &str) -> Failure {
    Failure::new(message).with_details(difference(expected, actual))
}

fn json(value: &Dynamic) -> Answer<Value> {
    value::to_value(value).map_err(|error| refused(Failure::new(error.to_string())))
}

fn live(object: &Arc<Object>) -> Dynamic {
    value::from_json(object.json().as_bytes()).unwrap_or_default()
}

fn time(text: &str) -> Answer<std::time::Duration> {
    duration::parse(text).map_err(|error| refused(Failure::new(error.to_string())))
}

/// Kind, namespace and name of an object, or of a map `#{apiVersion, kind, name, namespace}`.
fn reference(value: &Value) -> Answer<(Gvk, Option<&str>, &str)> {
    let text = |key: &str| {
        let found = value["metadata"].get(key).or_else(|| value.get(key));
        found.and_then(Value::as_str)
    };
    let Some(name) = text("name") else {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        return Err(refused(Failure::new(format!(
            "{expected}: name is missing"
        ))));
    };
    Ok((gvk_of(value)?, text("namespace"), name))
}

fn gvk_of(value: &Value) -> Answer<Gvk> {
    let text = |key: &str| {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        let missing = || refused(Failure::new(format!("{expected}: {key} is missing")));
        value[key].as_str().ok_or_else(missing)
    };
    Ok(Gvk::from_api_version(text("apiVersion")?, text("kind")?))
}

async fn address(world: &World, value: &Value) -> Result<ObjectRef, Failure> {
    let reference = reference(value).map_err(|error| Failure::new(error.to_string()));
    let (gvk, namespace, name) = reference?;
    world.address(&gvk, namespace, name).await
}

fn get(cx: &NativeCallContext, gvk: &Gvk, namespace: Option<&str>, name: &str) -> Answer<Dynamic> {
    let world = world(cx)?;
    let found = wait(cx, async {
        let object = world.address(gvk, namespace, name).await?;
        world.get(&object).await
    })?;
    Ok(found.as_ref().map(live).unwrap_or_default())
}

fn list(cx: &NativeCallContext, gvk: &Gvk, namespace: Option<&str>) -> Answer<Array> {
    let world = world(cx)?;
    let found = wait(cx, verify::objects(&world, gvk, namespace))?;
    Ok(found.iter().map(value::to_dynamic).collect())
}

fn change(
    cx: &NativeCallContext,
    object: &Dynamic,
    patch: &Dynamic,
    subresource: Option<&'static str>,
) -> Answer<Dynamic> {
    let world = world(cx)?;
    let (value, patch) = (json(object)?, json(patch)?);
    let written = wait(cx, async {
        let object = address(&world, &value).await?;
        let options = WriteOptions {
            subresource,
            ..WriteOptions::default()
        };
        let body = Bytes::from(patch.to_string());
        let written = world
            .cluster
            .patch(&object, PatchKind::Merge, body, &options);
        written
            .await
            .map_err(|error| Failure::of_cluster("cannot patch", &error))
    })?;
    Ok(live(&written.object))
}

/// Calls a function until it does not fail; the last failure is told when the time is over.
fn retry(cx: &NativeCallContext, within: std::time::Duration, check: &FnPtr) -> Answer<Dynamic> {
    let world = world(cx)?;
    let deadline = clock::now() + within;
    loop {
        if world.floor.is_embedded() {
            wait(cx, world.settle())?;
        }
        let answer = check.call_within_context::<Dynamic>(cx, ());
        let over = clock::now() >= deadline;
        match answer {
            Ok(answer) if answer.as_bool() == Ok(false) => {
                if over {
                    let message = format!("it was not so within {}", duration::format(within));
                    return Err(refused(Failure::new(message)));
                }
            }
            Err(error) if over => return Err(error),
            Err(_) => {}
            Ok(answer) => return Ok(answer),
        }
        wait(cx, async {
            world.floor.moment().await;
            Ok(())
        })?;
    }
}

/// An object of a script as a manifest without a file.
impl Manifest {
    /// Of a namespace.
    pub(super) fn namespace(name: &str) -> Self {
        Self {
            file: PathBuf::new(),
            position: crate::model::yaml::Position::default(),
            gvk: Gvk::new("", "v1", "Namespace"),
            value: serde_json::json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
            }),
        }
    }
}
