//! The options of a deletion, from the body or the query.

use serde_json::Value;

use super::ReceivedRequest;
use super::negotiate;
use super::query::check_dry_run;
use crate::error::{ApiError, FieldError};
use crate::go;
use crate::protobuf;
use crate::registry::{DeleteOptions, Media, Preconditions, Propagation};
use crate::schema::decode;

/// Returns the options of a deletion, and true for a dry run.
pub(super) fn options(incoming: &ReceivedRequest) -> Result<(DeleteOptions, bool), ApiError> {
    of_body(incoming, &body(incoming)?)
}

/// Returns the options of a deletion that are part of another body.
pub(super) fn of_body(
    incoming: &ReceivedRequest,
    body: &Value,
) -> Result<(DeleteOptions, bool), ApiError> {
    let query = &incoming.query;
    // The options come from the body or from the query, not from both.
    let has_body = body.is_object();
    check_types(body)?;
    let text = |field: &str| -> Option<String> {
        let given = if has_body {
            body[field].as_str()
        } else {
            query.first(field).filter(|value| !value.is_empty())
        };
        given.map(str::to_owned)
    };
    let mut errors = Vec::new();
    let dry_run: Vec<&str> = if has_body {
        let list = body["dryRun"].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    } else {
        query.all("dryRun").filter(|one| !one.is_empty()).collect()
    };
    check_dry_run(&dry_run, &mut errors);
    let orphan = if has_body {
        body["orphanDependents"].as_bool()
    } else {
        query.flag("orphanDependents")
    };
    let policy = text("propagationPolicy");
    let propagation = propagation(policy.as_deref(), orphan, &mut errors);
    if !errors.is_empty() {
        let kind = "DeleteOptions";
        return Err(ApiError::invalid("meta.k8s.io", kind, "", &errors));
    }
    let grace = match query.get("gracePeriodSeconds") {
        _ if has_body => body["gracePeriodSeconds"].as_i64(),
        "" => None,
        text => Some(text.parse().map_err(|_| {
            let quoted = go::quote(text);
            ApiError::bad_request(format!(
                "strconv.ParseInt: parsing {quoted}: invalid syntax"
            ))
        })?),
    };
    let precondition = |field: &str| {
        let value = body["preconditions"][field].as_str();
        value.map(str::to_owned)
    };
    let options = DeleteOptions {
        grace_period: grace,
        propagation,
        preconditions: Preconditions {
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        },
    };
    Ok((options, !dry_run.is_empty()))
}

/// A function that tests the type of a field.
type IsOfType = fn(&Value) -> bool;

/// Returns an error for a field of a wrong type. A deletion cannot be undone, so the server does not ignore
/// the field.
fn check_types(body: &Value) -> Result<(), ApiError> {
    let kind = body["kind"].as_str().unwrap_or("DeleteOptions");
    if kind != "DeleteOptions" {
        let version = body["apiVersion"].as_str().unwrap_or("v1");
        return Err(ApiError::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    let fields: [(&str, &str, IsOfType); 5] = [
        ("gracePeriodSeconds", "int64", Value::is_i64),
        (
            "propagationPolicy",
            "v1.DeletionPropagation",
            Value::is_string,
        ),
        ("orphanDependents", "bool", Value::is_boolean),
        ("dryRun", "[]string", Value::is_array),
        ("preconditions", "v1.Preconditions", Value::is_object),
    ];
    for (field, wanted, fits) in fields {
        let value = &body[field];
        if value.is_null() || fits(value) {
            continue;
        }
        let given = go::json_kind(value);
        return Err(ApiError::bad_request(format!(
            "json: cannot unmarshal {given} into Go struct field DeleteOptions.{field} of type {wanted}"
        )));
    }
    Ok(())
}

/// Returns the body as an object, or null if there is none.
fn body(incoming: &ReceivedRequest) -> Result<Value, ApiError> {
    if incoming.body.is_empty() {
        return Ok(Value::Null);
    }
    let read = match negotiate::body_media(&incoming.headers, true)? {
        Media::Json => decode::json(&incoming.body),
        Media::Yaml => decode::yaml(&incoming.body),
        Media::Protobuf => return protobuf::decode(&incoming.body),
    };
    let refuse = |why: &str| {
        let parsing = "couldn't get version/kind; json parse error";
        ApiError::bad_request(format!("{parsing}: {why}"))
    };
    match read.map_err(|why| refuse(&why))?.value {
        value @ (Value::Object(_) | Value::Null) => Ok(value),
        other => {
            let kind = go::json_kind(&other);
            Err(refuse(&format!(
                "json: cannot unmarshal {kind} into Go value of type {}",
                go::TYPE_META
            )))
        }
    }
}

fn propagation(
    policy: Option<&str>,
    orphan: Option<bool>,
    errors: &mut Vec<FieldError>,
) -> Option<Propagation> {
    if orphan.is_some() && policy.is_some() {
        let text = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(
            "propagationPolicy",
            policy.unwrap_or_default(),
            text,
        ));
    }
    match (policy, orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (None, None) => None,
        (Some(other), _) => {
            let supported = &["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported(
                "propagationPolicy",
                other,
                supported,
            ));
            None
        }
    }
}
