//! Functions that control the time and the simulated workloads, and that count runs and requests.

use rhai::plugin::export_module;
use rhai::{Map, NativeCallContext};
use serde_json::Value;

use super::call::{ScriptResult, context, json, parse_time, script_error, wait};
use crate::model::diagnostics::list_of;
use crate::scenario::context::ScenarioContext;
use crate::scenario::failure::Failure;
use embedded_apiserver::simulation::{self, Control, Target};

#[export_module]
pub(super) mod functions {
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

    /// Prevents Pods from starting and claims from being bound. A target selects them by kind, name and labels,
    /// and a Pod also by its controllers. Requires the embedded API.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn hold(cx: NativeCallContext, target: Map) -> ScriptResult<()> {
        control_workloads(&cx, target, Control::hold)
    }

    /// Ends `hold` and `fail` of the same target.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn release(cx: NativeCallContext, target: Map) -> ScriptResult<()> {
        control_workloads(&cx, target, |control, target| control.release(&target))
    }

    /// Makes Pods crash, or fail in the way that the second argument names.
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
}

/// The ways in which Pods can fail.
const FAILURES: [(&str, simulation::Failure); 4] = [
    ("CrashLoopBackOff", simulation::Failure::CrashLoopBackOff),
    ("Exit", simulation::Failure::Exit),
    ("ImagePullBackOff", simulation::Failure::ImagePullBackOff),
    ("NeverReady", simulation::Failure::NeverReady),
];

/// Passes a target to the simulation of workloads: `#{kind, name, namespace, labels}`, or an object.
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
    let message =
        "cannot control the workloads of a cluster: this function requires the embedded API";
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
