//! The functions of scenario scripts, besides the pure functions of roles.
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
use super::context::ScenarioContext;
use super::documents::Manifest;
use super::expectation_check;
use super::failure::Failure;
use crate::clock;
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::host;
use crate::model::diagnostics::list_of;
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

type ScriptResult<T> = Result<T, Box<EvalAltResult>>;

#[export_module]
mod functions {
    /// Fails the stage unless something holds.
    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert(holds: bool) -> ScriptResult<()> {
        assert_or(holds, "the assertion failed")
    }

    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert_or(holds: bool, message: &str) -> ScriptResult<()> {
        if holds {
            return Ok(());
        }
        Err(script_error(Failure::new(message)))
    }

    /// Fails the stage unless a value is another, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_eq(actual: Dynamic, expected: Dynamic) -> ScriptResult<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        if actual == expected {
            return Ok(());
        }
        Err(script_error(differs(
            &expected,
            &actual,
            "the values differ",
        )))
    }

    /// Fails the stage unless a value holds all that is expected, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_match(actual: Dynamic, expected: Dynamic) -> ScriptResult<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        match mismatches(&expected, &actual).first() {
            None => Ok(()),
            Some(first) => Err(script_error(differs(
                &expected,
                &actual,
                &first.to_string(),
            ))),
        }
    }

    /// Fails the stage unless a value is as in the golden snapshot of a name, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_snapshot(
        cx: NativeCallContext,
        name: &str,
        value: Dynamic,
    ) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&value)?);
        let checked = context.snapshots.check(name, &value, &context.namespace);
        checked.map_err(script_error)
    }

    /// Calls a function again and again, while time passes, until it does not fail and does not return
    /// `false`.
    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually(cx: NativeCallContext, check: FnPtr) -> ScriptResult<Dynamic> {
        let within = context(&cx)?.deadline;
        retry(&cx, within, &check)
    }

    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually_within(
        cx: NativeCallContext,
        within: &str,
        check: FnPtr,
    ) -> ScriptResult<Dynamic> {
        retry(&cx, parse_time(within)?, &check)
    }

    /// Lets time pass; on the embedded API it takes no time.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn advance(cx: NativeCallContext, time: &str) -> ScriptResult<()> {
        let (context, time) = (context(&cx)?, parse_time(time)?);
        wait(&cx, context.environment.advance(time))
    }

    /// Waits until the operator has nothing to do for now.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn settle(cx: NativeCallContext) -> ScriptResult<()> {
        let context = context(&cx)?;
        wait(&cx, context.settle())
    }

    /// Keeps Pods from starting and claims from being bound: those of a kind, a name, labels; a Pod also
    /// by what controls it. On the embedded API only.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn hold(cx: NativeCallContext, target: Map) -> ScriptResult<()> {
        control_workloads(&cx, target, Control::hold)
    }

    /// Takes back what was printed of the same target.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn release(cx: NativeCallContext, target: Map) -> ScriptResult<()> {
        control_workloads(&cx, target, |control, target| control.release(&target))
    }

    /// Lets Pods crash, or fail as the second argument says.
    #[rhai_fn(name = "fail", volatile, return_raw)]
    pub(crate) fn fail(cx: NativeCallContext, target: Map) -> ScriptResult<()> {
        control_workloads(&cx, target, |control, target| {
            control.fail(target, simulation::Failure::CrashLoopBackOff);
        })
    }

    #[rhai_fn(name = "fail", volatile, return_raw)]
    pub(crate) fn fail_as(cx: NativeCallContext, target: Map, how: &str) -> ScriptResult<()> {
        let Some((_, failure)) = FAILURES.iter().find(|(name, _)| *name == how) else {
            let names: Vec<_> = FAILURES.iter().map(|(name, _)| *name).collect();
            let expected = list_of(&names, "or");
            return Err(script_error(Failure::new(format!(
                "expected {expected}, found {how}"
            ))));
        };
        control_workloads(&cx, target, |control, target| {
            control.fail(target, *failure);
        })
    }

    /// Returns the number of writes of the operator so far.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn writes(cx: NativeCallContext) -> ScriptResult<i64> {
        let written = context(&cx)?.environment.requests.write_count();
        Ok(i64::try_from(written).unwrap_or(i64::MAX))
    }

    /// Returns the number of requests of the operator so far, with reads and watches.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn requests(cx: NativeCallContext) -> ScriptResult<i64> {
        let begun = context(&cx)?.environment.requests.started();
        Ok(i64::try_from(begun).unwrap_or(i64::MAX))
    }

    /// Returns the number of runs so far.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn runs(cx: NativeCallContext) -> ScriptResult<i64> {
        let count = context(&cx)?.environment.runs.count();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Returns whether an object has become what its spec asks for.
    #[rhai_fn(return_raw)]
    pub(crate) fn ready(object: Dynamic) -> ScriptResult<bool> {
        Ok(!object.is_unit() && host::readiness::not_ready(&json(&object)?).is_none())
    }

    /// Applies an object.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_apply(cx: NativeCallContext, object: Dynamic) -> ScriptResult<Dynamic> {
        let (context, value) = (context(&cx)?, json(&object)?);
        let gvk = gvk_of(&value)?;
        let applied = wait(&cx, context.apply_value(&gvk, value))?;
        Ok(live(&applied))
    }

    /// Reads an object; `()` if there is none.
    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> ScriptResult<Dynamic> {
        get(&cx, &Gvk::from_api_version(api_version, kind), None, name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> ScriptResult<Dynamic> {
        let gvk = Gvk::from_api_version(api_version, kind);
        get(&cx, &gvk, Some(namespace), name)
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub(crate) fn k8s_get_ref(cx: NativeCallContext, object: Dynamic) -> ScriptResult<Dynamic> {
        let value = json(&object)?;
        let (gvk, namespace, name) = reference(&value)?;
        get(&cx, &gvk, namespace, name)
    }

    /// Reads all objects of a kind in the scenario's namespace, or another.
    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
    ) -> ScriptResult<Array> {
        list(&cx, &Gvk::from_api_version(api_version, kind), None)
    }

    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub(crate) fn k8s_list_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> ScriptResult<Array> {
        let gvk = Gvk::from_api_version(api_version, kind);
        list(&cx, &gvk, Some(namespace))
    }

    /// Deletes an object; that it is absent is no error.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_delete(cx: NativeCallContext, object: Dynamic) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&context, &value).await?;
            context.delete(&object).await
        })
    }

    /// Waits until an object is gone.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn wait_gone(cx: NativeCallContext, object: Dynamic) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&object)?);
        wait(&cx, async {
            let object = address(&context, &value).await?;
            context.wait_gone(&object, context.deadline).await
        })
    }

    /// Changes parts of an object by a merge patch.
    #[rhai_fn(name = "k8s_patch", volatile, return_raw)]
    pub(crate) fn k8s_patch(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> ScriptResult<Dynamic> {
        change(&cx, &object, &patch, None)
    }

    /// Changes parts of an object's status by a merge patch.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_patch_status(
        cx: NativeCallContext,
        object: Dynamic,
        patch: Dynamic,
    ) -> ScriptResult<Dynamic> {
        change(&cx, &object, &patch, Some("status"))
    }
}

/// The ways in which Pods can fail.
const FAILURES: [(&str, simulation::Failure); 4] = [
    ("CrashLoopBackOff", simulation::Failure::CrashLoopBackOff),
    ("Exit", simulation::Failure::Exit),
    ("ImagePullBackOff", simulation::Failure::ImagePullBackOff),
    ("NeverReady", simulation::Failure::NeverReady),
];

/// Tells the simulation of workloads about a target: `#{kind, name, namespace, labels}`, or an object.
fn control_workloads(
    cx: &NativeCallContext,
    target: Map,
    tell: impl FnOnce(&Control, Target),
) -> ScriptResult<()> {
    let context = context(cx)?;
    let target = target_of(&context, target)?;
    if context
        .environment
        .control_workloads(|control| tell(control, target))
    {
        return Ok(());
    }
    let message = "the workloads of a cluster cannot be held: run this on the embedded API";
    Err(script_error(Failure::new(message)))
}

fn target_of(context: &ScenarioContext, target: Map) -> ScriptResult<Target> {
    let value = json(&target.into())?;
    let metadata = value.get("metadata").unwrap_or(&value);
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let namespace = text(metadata, "namespace").unwrap_or_else(|| context.namespace.clone());
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
        .map_err(|error| script_error(Failure::new(format!("labels: {error}"))))
}

/// Registers `print` for a type. The engine wants a text back, which it would write to stdout.
fn print<T: Variant + Clone>(module: &mut Module) {
    FuncRegistration::new("print")
        .with_volatility(true)
        .set_into_module(
            module,
            |cx: NativeCallContext<'_>, value: T| -> ScriptResult<ImmutableString> {
                context(&cx)?.print(Dynamic::from(value).to_string());
                Ok(ImmutableString::new())
            },
        );
}

fn context(cx: &NativeCallContext) -> ScriptResult<Arc<ScenarioContext>> {
    Run::from_call(cx)?
        .state()
        .ok_or_else(|| "called outside a scenario".into())
}

/// Waits on the script's thread.
fn wait<T>(
    cx: &NativeCallContext,
    work: impl Future<Output = Result<T, Failure>>,
) -> ScriptResult<T> {
    script::block_on(cx, async { work.await.map_err(error) })
}

fn error(failure: Failure) -> HostError {
    let text = [failure.message, failure.details];
    HostError::new("failed", text.join("\n").trim_end())
}

fn script_error(failure: Failure) -> Box<EvalAltResult> {
    error(failure).into()
}

fn differs(expected: &Value, actual: &Value, message: &str) -> Failure {
    Failure::new(message).with_details(difference(expected, actual))
}

fn json(value: &Dynamic) -> ScriptResult<Value> {
    value::to_value(value).map_err(|error| script_error(Failure::new(error.to_string())))
}

fn live(object: &Arc<Object>) -> Dynamic {
    value::from_json(object.json().as_bytes()).unwrap_or_default()
}

fn parse_time(text: &str) -> ScriptResult<std::time::Duration> {
    duration::parse(text).map_err(|error| script_error(Failure::new(error.to_string())))
}

/// Kind, namespace and name of an object, or of a map `#{apiVersion, kind, name, namespace}`.
fn reference(value: &Value) -> ScriptResult<(Gvk, Option<&str>, &str)> {
    let text = |key: &str| {
        let found = value["metadata"].get(key).or_else(|| value.get(key));
        found.and_then(Value::as_str)
    };
    let Some(name) = text("name") else {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        return Err(script_error(Failure::new(format!(
            "{expected}: name is missing"
        ))));
    };
    Ok((gvk_of(value)?, text("namespace"), name))
}

fn gvk_of(value: &Value) -> ScriptResult<Gvk> {
    let text = |key: &str| {
        let expected = "expected an object or `#{apiVersion, kind, name, namespace}`";
        let missing = || script_error(Failure::new(format!("{expected}: {key} is missing")));
        value[key].as_str().ok_or_else(missing)
    };
    Ok(Gvk::from_api_version(text("apiVersion")?, text("kind")?))
}

async fn address(context: &ScenarioContext, value: &Value) -> Result<ObjectRef, Failure> {
    let reference = reference(value).map_err(|error| Failure::new(error.to_string()));
    let (gvk, namespace, name) = reference?;
    context.object_ref(&gvk, namespace, name).await
}

fn get(
    cx: &NativeCallContext,
    gvk: &Gvk,
    namespace: Option<&str>,
    name: &str,
) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let found = wait(cx, async {
        let object = context.object_ref(gvk, namespace, name).await?;
        context.get(&object).await
    })?;
    Ok(found.as_ref().map(live).unwrap_or_default())
}

fn list(cx: &NativeCallContext, gvk: &Gvk, namespace: Option<&str>) -> ScriptResult<Array> {
    let context = context(cx)?;
    let found = wait(cx, expectation_check::objects(&context, gvk, namespace))?;
    Ok(found.iter().map(value::to_dynamic).collect())
}

fn change(
    cx: &NativeCallContext,
    object: &Dynamic,
    patch: &Dynamic,
    subresource: Option<&'static str>,
) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let (value, patch) = (json(object)?, json(patch)?);
    let written = wait(cx, async {
        let object = address(&context, &value).await?;
        let options = WriteOptions {
            subresource,
            ..WriteOptions::default()
        };
        let body = Bytes::from(patch.to_string());
        let written = context
            .cluster
            .patch(&object, PatchKind::Merge, body, &options);
        written
            .await
            .map_err(|error| Failure::from_cluster_error("cannot patch", &error))
    })?;
    Ok(live(&written.object))
}

/// Calls a function until it succeeds. Returns the last failure when the time is over.
fn retry(
    cx: &NativeCallContext,
    within: std::time::Duration,
    check: &FnPtr,
) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let deadline = clock::now() + within;
    loop {
        if context.environment.is_embedded() {
            wait(cx, context.settle())?;
        }
        let answer = check.call_within_context::<Dynamic>(cx, ());
        let over = clock::now() >= deadline;
        match answer {
            Ok(answer) if answer.as_bool() == Ok(false) => {
                if over {
                    let message = format!(
                        "the condition was not met within {}",
                        duration::format(within)
                    );
                    return Err(script_error(Failure::new(message)));
                }
            }
            Err(error) if over => return Err(error),
            Err(_) => {}
            Ok(answer) => return Ok(answer),
        }
        wait(cx, async {
            context.environment.wait_before_retry().await;
            Ok(())
        })?;
    }
}

/// An object of a script as a manifest without a file.
impl Manifest {
    /// Creates the manifest of a namespace.
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
