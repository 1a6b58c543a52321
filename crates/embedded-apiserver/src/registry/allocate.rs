//! Allocates the addresses and ports of Services.

use serde_json::Value;

use super::metadata;
use super::request::ResourceRequest;
use super::transaction::Transaction;
use crate::builtin::service::{self, AllocatedAddresses};
use crate::error::ApiError;

/// Allocates the addresses and ports that a Service does not have yet.
pub(super) fn addresses(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &mut Value,
) -> Result<(), ApiError> {
    if &**call.resource.id() != "services" || !call.subresource.is_empty() {
        return Ok(());
    }
    let services = tx.list("services", None);
    let is_other = |one: &&Value| {
        metadata::name(one) != metadata::name(object)
            || metadata::namespace(one) != metadata::namespace(object)
    };
    let mut taken = AllocatedAddresses::collect(services.iter().map(|one| &**one).filter(is_other));
    service::allocate(object, &mut taken)
}
