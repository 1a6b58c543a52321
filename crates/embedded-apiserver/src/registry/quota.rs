//! Refuses objects that would use more than a quota of their namespace allows.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#resourcequota>

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::admission::forbidden;
use super::metadata;
use super::request::ResourceRequest;
use super::transaction::Transaction;
use crate::builtin::quota::{self, Amounts};
use crate::error::ApiError;

/// The id of the resource.
pub(crate) const QUOTAS: &str = "resourcequotas";

/// The resources whose updates can use more.
const GROWING: [&str; 2] = ["persistentvolumeclaims", "services"];

/// Checks a write against the quotas of its namespace.
pub(super) fn admit(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &Value,
    live: Option<&Value>,
) -> Result<(), ApiError> {
    let id = &**call.resource.id();
    let counts = call.subresource.is_empty() && (live.is_none() || GROWING.contains(&id));
    if !counts || !call.resource.namespaced || !call.resource.is_stored() {
        return Ok(());
    }
    for quota in tx.list(QUOTAS, Some(&call.namespace)) {
        let refusal = check(&quota, id, object, live);
        if let Some(why) = refusal {
            return Err(forbidden(call, metadata::name(object), &why));
        }
    }
    Ok(())
}

/// Returns the reason for which a quota does not allow an object.
fn check(quota: &Value, id: &str, object: &Value, live: Option<&Value>) -> Option<String> {
    let name = metadata::name(quota);
    let mut delta = quota::usage(id, object);
    let hard = quota::amounts(&quota["status"]["hard"]);
    let names: BTreeSet<&str> = hard.keys().map(String::as_str).collect();
    if !quota::limits(&names, id, &delta) || !quota::matches_scopes(quota, id, object) {
        return None;
    }
    if id == "pods" {
        let unnamed = quota::unnamed(&names, &object["spec"]);
        let list = unnamed.iter().map(|(resource, containers)| {
            let containers: Vec<&str> = containers.iter().map(String::as_str).collect();
            format!("{resource} for: {}", containers.join(","))
        });
        let list: Vec<String> = list.collect();
        if !list.is_empty() {
            return Some(format!(
                "failed quota: {name}: must specify {}",
                list.join("; ")
            ));
        }
    }
    if let Some(live) = live {
        let before = quota::usage(id, live);
        for (resource, amount) in &mut delta {
            if let Some(before) = before.get(resource) {
                *amount = amount.minus(*before);
            }
        }
    }
    delta.retain(|resource, amount| hard.contains_key(resource) && amount.nano() > 0);
    let used = quota::amounts(&quota["status"]["used"]);
    let mut wanted = used.clone();
    quota::add(&mut wanted, &delta);
    delta.retain(|resource, _| wanted[resource].nano() > hard[resource].nano());
    if delta.is_empty() {
        return None;
    }
    let shown = |amounts: &Amounts| {
        let shown = amounts
            .iter()
            .filter(|(resource, _)| delta.contains_key(*resource));
        let shown: Vec<String> = shown
            .map(|(resource, amount)| format!("{resource}={}", amount.canonical()))
            .collect();
        shown.join(",")
    };
    Some(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        shown(&delta),
        shown(&used),
        shown(&hard)
    ))
}

/// Returns the status of a quota: its limits, and what the objects of its namespace use of them.
pub(crate) fn quota_status(tx: &Transaction<'_>, quota: &Value) -> Value {
    let hard = &quota["spec"]["hard"];
    let namespace = metadata::namespace(quota);
    let mut total = Amounts::new();
    for resource in tx.resources().iter().filter(|one| one.namespaced) {
        for object in tx.list(resource.id(), Some(namespace)) {
            add(&mut total, quota, resource.id(), &object);
        }
    }
    let names = hard.as_object().into_iter().flat_map(Map::keys);
    let used = names.filter(|name| quota::is_known(name)).map(|name| {
        let amount = total
            .get(name)
            .map_or_else(|| "0".to_owned(), |amount| amount.canonical());
        (name.clone(), json!(amount))
    });
    json!({"hard": hard, "used": used.collect::<Map<_, _>>()})
}

fn add(total: &mut Amounts, quota: &Value, id: &str, object: &Arc<Value>) {
    let mut usage = quota::usage(id, object);
    let hard = &quota["spec"]["hard"];
    usage.retain(|name, _| hard.get(name).is_some());
    if !usage.is_empty() && quota::matches_scopes(quota, id, object) {
        quota::add(total, &usage);
    }
}
