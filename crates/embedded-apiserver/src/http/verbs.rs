//! The verbs that write: create, update, patch and delete.

use super::negotiate::{self, Form};
use super::outcome::{ResponseWithWarnings, require, respond};
use super::representation::Representation;
use super::strategy::strategy_of;
use super::{Exchange, authorize, deletion, respond, subresource};
use crate::error::{ApiError, FieldError};
use crate::registry::{self, PatchType, ResourceRequest, WriteOptions, scale};

/// The warning about deletions of Jobs without a propagation policy.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Returns the options of a write, whose field manager can be the user agent.
fn write_options(cx: &Exchange<'_>, kind: &str) -> Result<WriteOptions, ApiError> {
    let agent = cx.incoming.headers.get(http::header::USER_AGENT);
    let agent = agent
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    cx.incoming.query.write(kind, agent)
}

pub(super) fn create(
    cx: &Exchange<'_>,
    mut call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    if !call.name.is_empty() && call.subresource.is_empty() {
        return Err(ApiError::verb_not_allowed());
    }
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(ApiError::verb_not_allowed());
    }
    require(&call, "create")?;
    call.options = write_options(cx, "CreateOptions")?;
    let has_protobuf = strategy_of(&call.resource).has_protobuf();
    let media = negotiate::body_media(&cx.incoming.headers, has_protobuf)?;
    let decoded = registry::decode(&call, media, &cx.incoming.body)?;
    cx.warnings.borrow_mut().extend(decoded.warnings);
    if !call.subresource.is_empty() || !call.resource.is_stored() {
        let answer = subresource::create(cx, &call, decoded.object)?;
        return Ok(respond(cx, &call, form, answer));
    }
    let answer = cx
        .registry
        .write(|tx| registry::create(tx, &call, decoded.object))?;
    Ok(respond(cx, &call, form, answer))
}

/// Checks that the path contains the name of an object.
fn require_name(call: &ResourceRequest) -> Result<(), ApiError> {
    if call.name.is_empty() {
        return Err(strategy_of(&call.resource).missing_name());
    }
    Ok(())
}

pub(super) fn update(
    cx: &Exchange<'_>,
    mut call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    require_name(&call)?;
    require(&call, "update")?;
    call.options = write_options(cx, "UpdateOptions")?;
    if call.resource.strategy.create_on_update {
        authorize::creation(cx, &call)?;
    }
    let has_protobuf = strategy_of(&call.resource).has_protobuf();
    let media = negotiate::body_media(&cx.incoming.headers, has_protobuf)?;
    let decoded = registry::decode(&call, media, &cx.incoming.body)?;
    cx.warnings.borrow_mut().extend(decoded.warnings);
    let answer = cx.registry.write(|tx| match &*call.subresource {
        "scale" => scale::update(tx, &call, &decoded.object),
        "" | "status" | "finalize" | "approval" => registry::update(tx, &call, decoded.object),
        _ => Err(ApiError::operation_not_implemented()),
    })?;
    Ok(respond(cx, &call, form, answer))
}

pub(super) fn patch(
    cx: &Exchange<'_>,
    mut call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    require_name(&call)?;
    require(&call, "patch")?;
    let kind = negotiate::patch_type(&cx.incoming.headers, &call.resource)?;
    call.options = write_options(cx, "PatchOptions")?;
    if kind == PatchType::Apply && cx.incoming.query.get("fieldManager").is_empty() {
        let text = "is required for apply patch";
        let error = FieldError::required("fieldManager", text);
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[error],
        ));
    }
    if kind != PatchType::Apply && cx.incoming.query.first("force").is_some() {
        let text = "may not be specified for non-apply patch";
        let error = FieldError::forbidden("force", text);
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[error],
        ));
    }
    if kind == PatchType::Apply {
        authorize::creation(cx, &call)?;
    }
    let body = &cx.incoming.body;
    let answer = cx.registry.write(|tx| match &*call.subresource {
        "scale" => scale::patch(tx, &call, kind, body),
        "" | "status" | "approval" => registry::patch(tx, &call, kind, body),
        _ => Err(ApiError::operation_not_implemented()),
    })?;
    Ok(respond(cx, &call, form, answer))
}

pub(super) fn delete(
    cx: &Exchange<'_>,
    mut call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    let (options, dry_run) = deletion::options(cx.incoming)?;
    call.options.dry_run = dry_run;
    if call.name.is_empty() {
        require(&call, "deletecollection")?;
        if call.resource.namespaced && call.namespace.is_empty() {
            return Err(ApiError::verb_not_allowed());
        }
        let which = cx.incoming.query.list(&call)?;
        let deleted = cx
            .registry
            .write(|tx| registry::delete_collection(tx, &call, &which, &options))?;
        let show = Representation::new(form, &call, cx.registry.now());
        return Ok((respond::object(200, form, &show.list(&deleted)), Vec::new()));
    }
    require(&call, "delete")?;
    if &**call.resource.id() == "jobs.batch" && options.propagation.is_none() {
        cx.warnings.borrow_mut().push(ORPHANED_PODS.to_owned());
    }
    let answer = cx
        .registry
        .write(|tx| registry::delete(tx, &call, &options))?;
    Ok(respond(cx, &call, form, answer))
}
