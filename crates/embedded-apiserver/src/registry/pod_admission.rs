//! Admits Pods whose ServiceAccount and `PriorityClass` exist.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#priority>

use serde_json::{Value, json};

use super::admission::forbidden;
use super::metadata;
use super::request::ResourceRequest;
use super::transaction::Transaction;
use crate::builtin::path::text;
use crate::error::ApiError;

/// Checks that the ServiceAccount and the `PriorityClass` of a new Pod exist, and sets the priority.
pub(super) fn admit(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    pod: &mut Value,
) -> Result<(), ApiError> {
    if &**call.resource.id() != "pods" || !call.subresource.is_empty() {
        return Ok(());
    }
    // The message shows `generateName`, because the generated name differs on each attempt.
    let name = match metadata::text(pod, "generateName") {
        "" => metadata::name(pod).to_owned(),
        base => base.to_owned(),
    };
    let account = match text(pod, &["spec", "serviceAccountName"]) {
        "" => "default",
        account => account,
    };
    if tx
        .get("serviceaccounts", &call.namespace, account)
        .is_none()
    {
        let namespace = &call.namespace;
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        );
        return Err(forbidden(call, &name, &why));
    }
    prioritize(tx, pod).map_err(|why| forbidden(call, &name, &why))
}

/// Sets the priority of a Pod to that of its class.
fn prioritize(tx: &Transaction<'_>, pod: &mut Value) -> Result<(), String> {
    let classes = "priorityclasses.scheduling.k8s.io";
    let name = text(pod, &["spec", "priorityClassName"]);
    let class = if name.is_empty() {
        let classes = tx.list(classes, None);
        classes
            .into_iter()
            .find(|one| one["globalDefault"] == json!(true))
    } else {
        let class = tx.get(classes, "", name);
        Some(class.ok_or_else(|| format!("no PriorityClass with name {name} was found"))?)
    };
    let value = class.as_ref().map(|class| class["value"].clone());
    let value = value.unwrap_or_else(|| 0.into());
    let spec = &mut pod["spec"];
    let asked = &spec["priority"];
    if !asked.is_null() && *asked != value {
        return Err(format!(
            "the integer value of priority ({asked}) must not be provided in pod spec; priority \
             admission controller computed {value} from the given PriorityClass name"
        ));
    }
    let Some(class) = class else {
        return Ok(());
    };
    spec["priority"] = value;
    spec["priorityClassName"] = metadata::name(&class).into();
    if spec["preemptionPolicy"].is_null() {
        let policy = text(&class, &["preemptionPolicy"]);
        let policy = if policy.is_empty() {
            "PreemptLowerPriority"
        } else {
            policy
        };
        spec["preemptionPolicy"] = policy.into();
    }
    Ok(())
}
