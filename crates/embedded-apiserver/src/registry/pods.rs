//! Binds Pods to nodes, and evicts them.

use serde_json::{Value, json};

use super::delete::{self, DeleteOptions};
use super::metadata;
use super::ownership::Ownership;
use super::request::{ObjectResponse, ResourceRequest};
use super::transaction::Transaction;
use super::update::replace;
use crate::error::ApiError;
use crate::labels::LabelSelector;

/// Binds a Pod to the node that a Binding names.
pub(crate) fn bind(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    binding: &Value,
) -> Result<ObjectResponse, ApiError> {
    let mut call = call.clone();
    if call.name.is_empty() {
        metadata::name(binding).clone_into(&mut call.name);
    }
    if let Some(pods) = tx.resource("pods") {
        call.resource = pods;
    }
    "binding".clone_into(&mut call.subresource);
    let live = tx.live(&call).ok_or_else(|| call.not_found(&call.name))?;
    let node = live["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        let why = format!("pod {} is already assigned to node {node:?}", call.name);
        return Err(ApiError::conflict("", "pods/binding", &call.name, &why));
    }
    let mut object = (*live).clone();
    object["spec"]["nodeName"] = binding["target"]["name"].clone();
    set_scheduled(&mut object, &tx.now_rfc3339());
    replace(tx, &call, &live, object, Ownership::Changed)?;
    Ok(ObjectResponse::with_code(201, success()))
}

fn set_scheduled(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let conditions = &mut pod["status"]["conditions"];
    match conditions.as_array_mut() {
        Some(list) => {
            list.retain(|one| one["type"] != "PodScheduled");
            list.push(condition);
        }
        None => *conditions = Value::Array(vec![condition]),
    }
}

/// Deletes a Pod unless a disruption budget forbids it.
///
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>
pub(crate) fn evict(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    options: &DeleteOptions,
) -> Result<ObjectResponse, ApiError> {
    let pod = tx.live(call).ok_or_else(|| call.not_found(&call.name))?;
    let budgets = tx.list("poddisruptionbudgets.policy", Some(&call.namespace));
    let labels = &pod["metadata"]["labels"];
    let mut covering = budgets.iter().filter(|budget| {
        let selector = LabelSelector::from_value(&budget["spec"]["selector"]);
        selector.is_ok_and(|selector| selector.matches(|name| labels.get(name)?.as_str()))
    });
    let budget = covering.next();
    if covering.next().is_some() {
        let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(ApiError::internal_error(message));
    }
    if let Some(budget) = budget
        && budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) <= 0
    {
        return Err(disrupted(budget));
    }
    let mut deleted = call.clone();
    deleted.subresource.clear();
    delete::delete(tx, &deleted, options)?;
    Ok(ObjectResponse::with_code(201, success()))
}

fn disrupted(budget: &Value) -> ApiError {
    let name = metadata::name(budget);
    let needed = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
    let healthy = budget["status"]["currentHealthy"].as_i64().unwrap_or(0);
    let cause = json!({
        "reason": "DisruptionBudget",
        "message": format!("The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"),
    });
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    ApiError::too_many_requests(message).with_detail("causes", Value::Array(vec![cause]))
}

fn success() -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    })
}
