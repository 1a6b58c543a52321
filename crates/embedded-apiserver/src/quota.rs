//! Keeps the status of quotas up to date.
//!
//! <https://kubernetes.io/docs/concepts/policy/resource-quotas/>

use serde_json::Value;

use crate::builtin::path::text;
use crate::registry::{Controller, QUOTAS, Transaction, quota_status};
use crate::store::Event;

/// Counts what the objects of a namespace use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuotaCounter;

impl Controller for QuotaCounter {
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        if !event.resource.namespaced {
            return;
        }
        let namespace = text(&event.object, &["metadata", "namespace"]);
        for quota in tx.list(QUOTAS, Some(namespace)) {
            count(tx, &quota);
        }
    }
}

fn count(tx: &mut Transaction<'_>, quota: &Value) {
    let status = quota_status(tx, quota);
    if quota["status"] == status {
        return;
    }
    let mut quota = quota.clone();
    quota["status"] = status;
    if let Err(error) = tx.update(QUOTAS, "status", quota) {
        tracing::warn!(%error, "cannot update the status of a quota");
    }
}
