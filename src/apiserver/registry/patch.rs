//! Patches: JSON patch, merge patch, strategic merge patch, apply.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply>

use super::call::{Answer, Call};
use super::update::replace;
use super::{Transaction, admission, decode, encode, identity, metadata, rules};
use crate::apiserver::error::ApiError;

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902
    Json,
    /// RFC 7386
    Merge,
    /// Kubernetes' own, with merge keys.
    Strategic,
    /// Server-side apply (KEP-555).
    Apply,
}

/// Patches an object; an apply creates what is not there.
pub fn patch(
    tx: &mut Transaction<'_>,
    call: &Call,
    kind: PatchType,
    body: &[u8],
) -> Result<Answer, ApiError> {
    admission::update(tx, call)?;
    if kind == PatchType::Apply {
        let message = "the server does not implement server-side apply";
        return Err(ApiError::new(501, Some("NotImplemented"), message));
    }
    let patch = &rules::parse_patch(kind, body)?;
    let Some(live) = tx.live(call) else {
        return Err(call.not_found(&call.name));
    };
    let live = encode::presented(&call.resource, &call.version, &live);
    let mut object = rules::patched(call, kind, &live, patch)?;
    identity::shape(&mut object)?;
    if metadata::name(&object) != call.name {
        identity::name(call, &object)?;
    }
    identity::namespace(call, &mut object)?;
    identity::kind(call, &mut object)?;
    let warnings = decode::patched(call, &mut object, patch)?;
    let mut answer = replace(tx, call, &live, object, rules::track)?;
    answer.warnings.extend(warnings);
    Ok(answer)
}
