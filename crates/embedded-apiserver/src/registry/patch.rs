//! Patches: JSON patch, merge patch, strategic merge patch, apply.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply>

use serde_json::Value;

use super::ownership::{self, Ownership};
use super::request::{ObjectResponse, PatchType, ResourceRequest};
use super::shape::ensure_metadata;
use super::strategy::strategy_of;
use super::transaction::Transaction;
use super::update::{replace, unconditional};
use super::{admission, create, decode, encode, identity, metadata, pipeline, syntax};
use crate::error::ApiError;
use crate::schema::decode::DecodedBody;

/// Patches an object. An apply creates an object that does not exist.
pub(crate) fn patch(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    kind: PatchType,
    body: &[u8],
) -> Result<ObjectResponse, ApiError> {
    if kind == PatchType::Apply {
        return apply(tx, call, syntax::patch(call, kind, body)?);
    }
    admission::update(tx, call)?;
    let Some(live) = tx.live(call) else {
        return Err(call.not_found(&call.name));
    };
    let patch = syntax::patch(call, kind, body)?;
    let live = encode::presented(&call.resource, &call.version, &live);
    let mut object = decode::apply_patch(call, kind, &live, &patch.value)?;
    let shown = decode::document_of(call, kind, &patch.value, &object);
    identity::patched(call, &mut object, shown)?;
    let warnings = decode::patched(call, kind, &mut object, &patch.value, patch.duplicates)?;
    identity::name(call, &object)?;
    identity::namespace(call, &mut object)?;
    let conditional = !matches!(metadata::text(&object, "resourceVersion"), "" | "0");
    if !conditional && !call.resource.strategy.unconditional_update {
        return Err(unconditional(call));
    }
    let mut answer = replace(tx, call, &live, object, Ownership::Changed)?;
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// Performs a server-side apply: <https://kubernetes.io/docs/reference/using-api/server-side-apply/>
fn apply(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    patch: DecodedBody,
) -> Result<ObjectResponse, ApiError> {
    let mut configuration = syntax::configuration(patch.value)?;
    ensure_metadata(&mut configuration)?;
    if metadata::name(&configuration).is_empty() {
        metadata::of_mut(&mut configuration).insert("name".to_owned(), call.name.as_str().into());
    }
    identity::name(call, &configuration)?;
    // The check runs on a copy: the manager owns all applied fields, and the configuration must not get the
    // namespace of the URL.
    identity::namespace(call, &mut configuration.clone())?;
    let live = tx.live(call);
    if live.is_none() && !call.subresource.is_empty() {
        return Err(call.not_found(&call.name));
    }
    check_identity(call, live.as_deref(), &configuration)?;
    let live = live.map(|live| encode::presented(&call.resource, &call.version, &live));
    let now = tx.now_rfc3339();
    let mut object = ownership::applied(call, live.as_deref(), &configuration, &now)?;
    pipeline::identify(call, &mut object)?;
    if live.is_none() && strategy_of(&call.resource).ignores_revision_on_create() {
        metadata::of_mut(&mut object).remove("resourceVersion");
    }
    let kind = PatchType::Apply;
    let warnings = decode::patched(call, kind, &mut object, &configuration, patch.duplicates)?;
    let mut answer = match &live {
        None => create::create_owned(tx, call, object, Ownership::Applied),
        Some(live) => replace(tx, call, live, object, Ownership::Applied),
    }?;
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// Checks the uid and the resourceVersion that an applied configuration contains.
fn check_identity(
    call: &ResourceRequest,
    live: Option<&Value>,
    configuration: &Value,
) -> Result<(), ApiError> {
    let uid = metadata::text(configuration, "uid");
    if live.is_none() && !uid.is_empty() {
        let (group, plural) = (&*call.resource.group, &*call.resource.plural);
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(ApiError::conflict(group, plural, &call.name, &why));
    }
    let version = metadata::text(configuration, "resourceVersion");
    if live.is_some() && version == "0" && !call.resource.strategy.unconditional_update {
        return Err(unconditional(call));
    }
    Ok(())
}
