//! Functions that let a run wait, or end it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Dynamic, Map, NativeCallContext};
use serde_json::Value;

use super::arguments::{self, Reference};
use super::fence::fenced;
use super::session::{Ending, Included, Session, live};
use super::{HostResult, invalid, k8s, path, readiness};
use crate::clock;
use crate::model::{Object, ObjectRef};
use crate::role;
use crate::script::{self, HostError, value};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Returns whether an object is ready.
    ///
    /// For built-in kinds, the rules of kstatus decide: the replicas of a Deployment, the completion of a
    /// Job, and so on. For other kinds, the condition `Ready` or `Available` decides. An object without
    /// conditions is ready. `()` and an object that is being deleted are not ready.
    ///
    /// - `object`: an object as `k8s_apply`, `k8s_get` and `k8s_list` return it.
    ///
    /// ```rhai
    /// assert(ready(#{apiVersion: "v1", kind: "ConfigMap"}));
    /// assert(!ready(#{apiVersion: "v1", kind: "Pod", status: #{phase: "Pending"}}));
    /// assert(!ready(()));
    /// ```
    #[rhai_fn(name = "ready", return_raw)]
    pub fn ready(object: Dynamic) -> HostResult<bool> {
        Ok(!object.is_unit() && readiness::not_ready(&arguments::json(&object)?).is_none())
    }

    /// Waits until an object exists and is ready (see `ready`).
    ///
    /// The function does not sleep. If the object is not ready, the run ends as *waiting*, and the
    /// condition names the object. When the object changes, the role runs again from the beginning.
    ///
    /// - `object`: any object, or a map `#{apiVersion, kind, name, namespace}`. The object and its kind
    ///   do not have to exist yet.
    ///
    /// Returns the live object.
    ///
    /// ```rhai,no_run
    /// wait_ready(k8s_apply(template_objects("deployment.yaml")[0]));
    /// set_status(#{phase: "Running"});
    /// ```
    #[rhai_fn(name = "wait_ready", volatile, return_raw)]
    pub fn wait_ready(cx: NativeCallContext, object: Dynamic) -> HostResult<Dynamic> {
        await_condition(
            &cx,
            "wait_ready",
            &Reference::from_dynamic(&object)?,
            |found| {
                let found = found.ok_or("does not exist yet")?;
                match readiness::not_ready(&found.value()) {
                    Some(why) => Err(why.into()),
                    None => Ok(()),
                }
            },
        )
    }

    /// Waits until a field of an object has a value, in the same way as `wait_ready`.
    ///
    /// - `object`: as for `wait_ready`.
    /// - `query`: a JSONPath query; its first result counts.
    /// - `value`: the value to wait for.
    ///
    /// Returns the live object.
    ///
    /// ```rhai,no_run
    /// let claim = #{apiVersion: "v1", kind: "PersistentVolumeClaim", name: `${meta.name}-data`};
    /// wait_for(claim, "$.status.phase", "Bound");
    /// ```
    #[rhai_fn(name = "wait_for", volatile, return_raw)]
    pub fn wait_for(
        cx: NativeCallContext,
        object: Dynamic,
        query: &str,
        value: Dynamic,
    ) -> HostResult<Dynamic> {
        let wanted = arguments::json(&value)?;
        let reference = Reference::from_dynamic(&object)?;
        await_condition(&cx, "wait_for", &reference, |found| {
            let found = found.ok_or("does not exist yet")?;
            let first = path::first_match(&value::to_dynamic(&found.value()), query)?;
            match arguments::json(&first)? {
                value if value == wanted => Ok(()),
                Value::Null => Err(format!("{query} is not set, waiting for {wanted}").into()),
                value => Err(format!("{query} is {value}, waiting for {wanted}").into()),
            }
        })
    }

    /// Waits until an object is deleted, in the same way as `wait_ready`.
    ///
    /// - `object`: any object (then another of the same name does not count), or a map
    ///   `#{apiVersion, kind, name, namespace}`.
    ///
    /// ```rhai,no_run
    /// let old = #{apiVersion: "batch/v1", kind: "Job", name: "migration"};
    /// k8s_delete(old);
    /// wait_gone(old);
    /// ```
    #[rhai_fn(name = "wait_gone", volatile, return_raw)]
    pub fn wait_gone(cx: NativeCallContext, object: Dynamic) -> HostResult<()> {
        let reference = Reference::from_dynamic(&object)?;
        await_condition(&cx, "wait_gone", &reference, |found| {
            check_deleted(&reference, found)
        })
        .map(|_| ())
    }

    /// Waits until a condition is true that the script computes from objects that it has read.
    ///
    /// If the condition is false, the run ends as *waiting*. When an object changes that the run read or
    /// applied, the role runs again from the beginning.
    ///
    /// - `holds`: the condition.
    /// - `on`: a description of the condition, for the status.
    ///
    /// ```rhai,no_run
    /// let pods = k8s_list("v1", "Pod", #{labels: #{app: meta.name}});
    /// wait_until(pods.len >= 3, "3 Pods");
    /// ```
    #[rhai_fn(name = "wait_until", volatile, return_raw)]
    pub fn wait_until(cx: NativeCallContext, holds: bool, on: &str) -> HostResult<()> {
        let session = Session::from_call(&cx)?;
        if holds {
            session.trace("wait_until", clock::now(), || on, || "done");
            return Ok(());
        }
        session.trace("wait_until", clock::now(), || on, || "waiting");
        let (on, objects) = (on.to_owned(), session.effects().applied.clone());
        Err(script::end(&cx, Arc::new(Ending::Waiting { on, objects })))
    }

    /// Ends the run as failed, without a retry until an object changes that the run depends on. Use it
    /// for errors that only a user can fix, and `throw` for temporary errors.
    ///
    /// - `message`: a description of the error, for the condition and an Event.
    ///
    /// ```rhai,no_run
    /// if spec.replicas > 1 && spec.storage == () {
    ///     fail("more than one replica needs spec.storage");
    /// }
    /// ```
    #[rhai_fn(name = "fail", volatile, return_raw)]
    pub fn fail(cx: NativeCallContext, message: &str) -> HostResult<()> {
        let session = Session::from_call(&cx)?;
        session.trace("fail", clock::now(), || "", || message);
        Err(script::end(
            &cx,
            Arc::new(Ending::Failed(message.to_owned())),
        ))
    }

    /// Requests another run after some time, also if other triggers occur before. The current run
    /// continues. If a run calls this function several times, the earliest time counts.
    ///
    /// - `after`: a duration like `"1m30s"`, or seconds; one second at least.
    ///
    /// ```rhai,no_run
    /// requeue("10m");
    /// ```
    #[rhai_fn(name = "requeue", volatile, return_raw)]
    pub fn requeue(cx: NativeCallContext, after: Dynamic) -> HostResult<()> {
        let session = Session::from_call(&cx)?;
        let after = arguments::duration(&after)?;
        let mut effects = session.effects();
        let earlier = effects.requested_requeue.filter(|known| *known < after);
        effects.requested_requeue = Some(earlier.unwrap_or(after));
        Ok(())
    }

    /// Runs another role of the project within this run, on the same custom resource.
    ///
    /// The role sees the same `cr`, `spec`, `status` and `meta`, and its own files and templates. Its
    /// `vars` are its own defaults and variables, overridden by the argument. It has the permissions that
    /// both roles have.
    ///
    /// - `name`: the role.
    /// - `vars`: optional: a map.
    ///
    /// Returns the value of the role's last expression.
    ///
    /// Errors: `not_found` if the role does not exist; `invalid` if `vars` violate its inputs; and the
    /// errors of the role.
    ///
    /// ```rhai,no_run
    /// include_role("certificates", #{host: spec.host});
    /// ```
    #[rhai_fn(name = "include_role", volatile, return_raw)]
    pub fn include_role(cx: NativeCallContext, name: &str) -> HostResult<Dynamic> {
        include(&cx, name, &Map::new().into())
    }

    #[rhai_fn(name = "include_role", volatile, return_raw)]
    pub fn include_role_with(cx: NativeCallContext, name: &str, vars: Map) -> HostResult<Dynamic> {
        include(&cx, name, &vars.into())
    }
}

/// The cause that a wait continues.
pub(crate) enum NotYet {
    /// The cause, for people.
    Because(String),
    /// It can never end well.
    Error(Box<rhai::EvalAltResult>),
}

impl From<&str> for NotYet {
    fn from(why: &str) -> Self {
        Self::Because(why.to_owned())
    }
}

impl From<String> for NotYet {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

impl From<Box<rhai::EvalAltResult>> for NotYet {
    fn from(error: Box<rhai::EvalAltResult>) -> Self {
        Self::Error(error)
    }
}

/// Returns `Ok` if an object is deleted. Another object with the same name does not count.
pub(crate) fn check_deleted(reference: &Reference, found: Option<&Object>) -> Result<(), NotYet> {
    let is_it = |found: &Object| {
        reference
            .uid
            .as_deref()
            .is_none_or(|uid| uid == &*found.uid)
    };
    match found {
        Some(found) if is_it(found) => Err("it still exists".into()),
        _ => Ok(()),
    }
}

/// The result of a condition on an object.
pub(crate) enum ConditionCheck {
    /// The condition is true. The object is absent if the condition allows that.
    Holds(Option<Arc<Object>>),
    /// The condition is false.
    NotYet {
        /// The object.
        object: ObjectRef,
        /// The cause, for people.
        why: String,
    },
}

/// Returns the object once a condition holds; else ends the run as waiting for it.
fn await_condition(
    cx: &NativeCallContext,
    function: &'static str,
    reference: &Reference,
    holds: impl Fn(Option<&Object>) -> Result<(), NotYet>,
) -> HostResult<Dynamic> {
    match check_condition(cx, function, reference, holds)? {
        ConditionCheck::Holds(found) => found.as_ref().map_or(Ok(Dynamic::UNIT), live),
        ConditionCheck::NotYet { object, why } => {
            let on = format!("{object}: {why}");
            let objects = BTreeSet::from([object]);
            Err(script::end(cx, Arc::new(Ending::Waiting { on, objects })))
        }
    }
}

/// Reads an object and evaluates a condition on it.
pub(crate) fn check_condition(
    cx: &NativeCallContext,
    function: &'static str,
    reference: &Reference,
    holds: impl Fn(Option<&Object>) -> Result<(), NotYet>,
) -> HostResult<ConditionCheck> {
    let session = Session::from_call(cx)?;
    let since = clock::now();
    let (object, found): (ObjectRef, Option<Arc<Object>>) =
        script::block_on(cx, k8s::read(&session, reference))?;
    match holds(found.as_deref()) {
        Ok(()) => {
            session.trace(function, since, || object, || "done");
            Ok(ConditionCheck::Holds(found))
        }
        Err(NotYet::Error(error)) => Err(error),
        Err(NotYet::Because(why)) => {
            session.trace(
                function,
                since,
                || object.clone(),
                || format!("waiting: {why}"),
            );
            Ok(ConditionCheck::NotYet { object, why })
        }
    }
}

/// Runs another role of the project.
pub(crate) fn include(cx: &NativeCallContext, name: &str, vars: &Dynamic) -> HostResult<Dynamic> {
    let session = Session::from_call(cx)?;
    let Some(role) = session.setup.roles.get(name) else {
        let message = format!("the project has no role {name}");
        return Err(HostError::new("not_found", message).into());
    };
    let Value::Object(over) = arguments::json(vars)? else {
        return Err(invalid("vars: expected a map"));
    };
    let wrong = role::violations(&role.inputs, &over, "vars");
    if !wrong.is_empty() {
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        let wrong = wrong.join("; ");
        return Err(invalid(format!("{wrong} (inputs of role {name})")));
    }
    let nothing = serde_json::Map::new();
    let vars = role::variables(role, &nothing, &over, None, false);
    let vars = value::to_dynamic(&Value::Object(vars));
    let mut variables = session.variables();
    variables.insert("vars", vars.clone());
    session.setup.redactor.exempt(&role.words);
    let own = session.setup.owner.cr.namespace.as_ref();
    let cluster = fenced(&session.cluster(), role, own);
    session.included.lock().push(Included {
        role: Arc::clone(role),
        cluster,
        vars,
    });
    let native = (session.setup.native)(&role.entry);
    let result = script::include(cx, role.entry.program(), native.as_ref(), variables);
    session.included.lock().pop();
    result
}
