//! OpenAPI documents: `/openapi/v3`, its documents, and a minimal `/openapi/v2`.

use http::header::{ETAG, HeaderValue, LOCATION};
use http::{Method, Response};

use super::Exchange;
use super::negotiate;
use super::respond::{self, Body};
use crate::openapi::{self, CustomVersion};
use crate::resource::Catalogue;

/// Returns the response to a path below `openapi/`, if there is such a path.
pub(super) fn answer(cx: &Exchange<'_>, path: &str) -> Option<Response<Body>> {
    if !matches!(cx.incoming.method, Method::GET | Method::HEAD) {
        return None;
    }
    match path {
        "openapi/v2" => Some(v2(cx)),
        "openapi/v3" => Some(
            cx.registry
                .read(|_, catalogue| respond::json(200, &openapi::index(&custom(catalogue)))),
        ),
        _ => document(cx, path.strip_prefix("openapi/v3/")?),
    }
}

fn v2(cx: &Exchange<'_>) -> Response<Body> {
    let accept = negotiate::accept(&cx.incoming.headers);
    if accept.contains("proto-openapi") {
        return respond::response(200, "application/octet-stream", openapi::V2);
    }
    let text = cx
        .registry
        .read(|_, catalogue| openapi::v2(&custom(catalogue)));
    respond::response(200, "application/json", text)
}

fn document(cx: &Exchange<'_>, path: &str) -> Option<Response<Body>> {
    let asked = cx.incoming.query.get("hash");
    cx.registry.read(|_, catalogue| {
        let custom = custom(catalogue);
        let hash = openapi::hash(path, &custom)?;
        if !asked.is_empty() && asked != hash {
            let mut moved = respond::response(301, "text/html; charset=utf-8", "");
            let location = format!("/openapi/v3/{path}?hash={hash}");
            let location = HeaderValue::from_str(&location).ok()?;
            moved.headers_mut().insert(LOCATION, location);
            return Some(moved);
        }
        let text = openapi::document(path, &custom)?;
        let mut response = respond::response(200, "application/json", text.to_string());
        let tag = HeaderValue::from_str(&format!("\"{hash}\"")).ok()?;
        response.headers_mut().insert(ETAG, tag);
        Some(response)
    })
}

/// Returns the served custom resources, with one entry per version.
fn custom(catalogue: &Catalogue) -> Vec<CustomVersion<'_>> {
    let mut found = Vec::new();
    for resource in catalogue.custom() {
        for version in resource.versions.iter().filter(|one| one.served) {
            let schema = version.custom.as_ref();
            found.push(CustomVersion {
                group: &resource.group,
                version: &version.name,
                kind: &resource.kind,
                list_kind: &resource.list_kind,
                plural: &resource.plural,
                namespaced: resource.namespaced,
                schema: schema.and_then(|custom| custom.version.open_api_schema()),
                status: version.subresource("status").is_some(),
                scale: version.subresource("scale").is_some(),
            });
        }
    }
    found
}
