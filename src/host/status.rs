//! Functions that set the status and the conditions, and send Events.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Dynamic, Map, NativeCallContext};
use serde_json::Value;

use super::session::{Event, RoleCondition, Session};
use super::{HostResult, arguments, invalid};
use crate::model::condition::Status;

/// Longer words are cut by the server's own rules for conditions.
const MAX_REASON_LENGTH: usize = 1024;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Sets fields of the custom resource's status. The operator writes the status once, at the end of
    /// the run, and only if it changed.
    ///
    /// - `values`: a map, laid deeply over what earlier calls of this run set; `()` removes a key. What
    ///   former runs set and a complete run does not set again is removed.
    ///
    /// Errors: `invalid` for `conditions` (use `set_condition`) and `observedGeneration` (the runtime
    /// sets it).
    ///
    /// ```rhai,no_run
    /// set_status(#{phase: "Installing"});
    /// set_status(#{phase: "Running", endpoints: #{web: `http://${meta.name}`}});
    /// ```
    #[rhai_fn(name = "set_status", volatile, return_raw)]
    pub fn set_status(cx: NativeCallContext, values: Map) -> HostResult<()> {
        put(&cx, values)
    }

    /// Sets a condition of the custom resource's status. The runtime sets its times and generation.
    ///
    /// - `kind`: its name, e.g. `"DatabaseReady"`. `"Ready"` has the last word on a run that completes.
    /// - `status`: true, false, `"True"`, `"False"` or `"Unknown"`.
    /// - `reason`: one `CamelCase` word.
    /// - `message`: a sentence for people.
    ///
    /// ```rhai,no_run
    /// set_condition("BackedUp", false, "NoBackupYet", "the first backup is due at midnight");
    /// ```
    #[rhai_fn(name = "set_condition", volatile, return_raw)]
    pub fn set_condition(
        cx: NativeCallContext,
        kind: &str,
        status: Dynamic,
        reason: &str,
        message: &str,
    ) -> HostResult<()> {
        condition(&cx, kind, &status, (reason, message))
    }

    /// Sends an Event about the custom resource. Repeated Events are counted.
    ///
    /// - `kind`: `"Normal"` or `"Warning"`.
    /// - `reason`: one `CamelCase` word.
    /// - `message`: a sentence for people.
    ///
    /// ```rhai,no_run
    /// event("Normal", "ScaledDown", "scaled to 1 replica for the night");
    /// ```
    #[rhai_fn(name = "event", volatile, return_raw)]
    pub fn event(cx: NativeCallContext, kind: &str, reason: &str, message: &str) -> HostResult<()> {
        add_event(&cx, kind, (reason, message))
    }
}

/// `set_status`.
pub(crate) fn put(cx: &NativeCallContext, values: Map) -> HostResult<()> {
    let session = Session::from_call(cx)?;
    for (key, hint) in [
        ("conditions", "use `set_condition`"),
        ("observedGeneration", "the runtime writes it"),
    ] {
        if values.contains_key(key) {
            return Err(invalid(format!(
                "set_status: `{key}` cannot be set; {hint}"
            )));
        }
    }
    if let Value::Object(values) = arguments::json(&values.into())? {
        merge(&mut session.unredacted().status, values);
    }
    Ok(())
}

/// `set_condition`.
pub(crate) fn condition(
    cx: &NativeCallContext,
    kind: &str,
    status: &Dynamic,
    (reason, message): (&str, &str),
) -> HostResult<()> {
    let condition = RoleCondition {
        kind: checked_type(kind)?,
        status: status_of(status)?,
        reason: checked_reason("set_condition", reason)?,
        message: message.to_owned(),
    };
    let session = Session::from_call(cx)?;
    let mut output = session.unredacted();
    output
        .conditions
        .retain(|known| known.kind != condition.kind);
    output.conditions.push(condition);
    Ok(())
}

/// `event`.
pub(crate) fn add_event(
    cx: &NativeCallContext,
    kind: &str,
    (reason, message): (&str, &str),
) -> HostResult<()> {
    let warning = match kind {
        "Normal" => false,
        "Warning" => true,
        other => {
            return Err(invalid(format!(
                "event: expected Normal or Warning, found {other}"
            )));
        }
    };
    let event = Event {
        warning,
        reason: checked_reason("event", reason)?,
        message: message.to_owned(),
    };
    Session::from_call(cx)?.unredacted().events.push(event);
    Ok(())
}

/// Merges values into a merge patch. A null stays, because it removes the field in the cluster.
fn merge(base: &mut serde_json::Map<String, Value>, over: serde_json::Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, mut value) => {
                leave_out(&mut value, false);
                base.insert(key, value);
            }
        }
    }
}

/// Takes nulls out of the maps in lists, as the server does: there is nothing that they could remove.
fn leave_out(value: &mut Value, in_list: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leave_out(item, true)),
        Value::Object(map) => {
            if in_list {
                map.retain(|_, value| !value.is_null());
            }
            map.values_mut().for_each(|value| leave_out(value, in_list));
        }
        _ => {}
    }
}

fn status_of(status: &Dynamic) -> HostResult<Status> {
    if let Ok(holds) = status.as_bool() {
        return Ok(holds.into());
    }
    let word = status.clone().into_string().unwrap_or_default();
    Status::parse(&word).ok_or_else(|| {
        let expected = "expected true, false, \"True\", \"False\" or \"Unknown\"";
        invalid(format!("set_condition: status: {expected}, found {status}"))
    })
}

fn checked_type(kind: &str) -> HostResult<String> {
    let name = kind.rsplit_once('/').map_or(kind, |(_, name)| name);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.chars().all(fits) {
        Ok(kind.to_owned())
    } else {
        Err(invalid(format!(
            "set_condition: expected a type such as DatabaseReady, found {kind:?}"
        )))
    }
}

/// The server refuses other reasons, and with them the whole status.
fn checked_reason(function: &str, reason: &str) -> HostResult<String> {
    let begins = reason.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    let ends = !reason.ends_with([',', ':']);
    if begins && ends && reason.len() <= MAX_REASON_LENGTH && reason.chars().all(fits) {
        Ok(reason.to_owned())
    } else {
        Err(invalid(format!(
            "{function}: expected a reason such as QuotaExceeded, found {reason:?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_removal_stays_a_removal() {
        let mut status = serde_json::Map::new();
        for value in [
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": null}, "d": null}),
        ] {
            let Value::Object(map) = value else { continue };
            merge(&mut status, map);
        }
        assert_eq!(
            Value::Object(status),
            json!({"a": {"b": null, "c": 2}, "d": null})
        );
    }

    #[test]
    fn a_null_in_a_list_removes_nothing() {
        let mut status = serde_json::Map::new();
        let nodes = json!({"list": [{"a": null, "b": [{"c": null}, null]}], "map": {"d": null}});
        let Value::Object(map) = json!({"nodes": nodes}) else {
            return;
        };
        merge(&mut status, map);
        assert_eq!(
            Value::Object(status),
            json!({"nodes": {"list": [{"b": [{}, null]}], "map": {"d": null}}})
        );
    }

    #[test]
    fn a_status_is_a_bool_or_a_word() {
        assert_eq!(status_of(&true.into()).unwrap(), Status::True);
        assert_eq!(status_of(&"Unknown".into()).unwrap(), Status::Unknown);
        assert!(status_of(&"maybe".into()).is_err());
        assert!(status_of(&Dynamic::UNIT).is_err());
    }

    #[test]
    fn words_that_the_server_would_refuse_are_refused_here() {
        assert!(checked_reason("event", "QuotaExceeded").is_ok());
        for reason in ["", "two words", "1st", "ends:"] {
            assert!(checked_reason("event", reason).is_err(), "{reason}");
        }
        assert!(checked_type("example.com/Ready").is_ok());
        assert!(checked_type("not ready").is_err());
    }
}
