//! Allocates the addresses and ports of Services.

use serde_json::Value;

use super::call::Call;
use super::metadata;
use super::transaction::Transaction;
use crate::builtin::service::{self, Taken};
use crate::error::ApiError;

/// Gives a Service what it does not have yet.
pub(super) fn addresses(
    tx: &Transaction<'_>,
    call: &Call,
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
    let mut taken = Taken::of(services.iter().map(|one| &**one).filter(is_other));
    service::allocate(object, &mut taken)
}
