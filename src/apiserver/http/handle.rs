//! From a request to its answer: what is asked, of which resource, in which form.

use std::sync::Arc;

use http::{Method, Response};

use super::negotiate::{self, Form};
use super::path::{Path, Target};
use super::respond::{self, Body};
use super::show::Show;
use super::{Incoming, deletion, health, stream};
use crate::apiserver::discovery;
use crate::apiserver::error::ApiError;
use crate::apiserver::registry::{self, Answer, Call, PatchType, Registry, Watch, WriteOptions};

/// An answer and the texts of its warnings.
type Handled = (Response<Body>, Vec<String>);

/// Answers a request.
pub(super) fn handle(registry: &Arc<Registry>, incoming: &Incoming) -> Handled {
    match Target::parse(&incoming.path) {
        Target::Discovery(document) => (discovered(registry, incoming, &document), Vec::new()),
        Target::Other(path) => (other(registry, incoming, &path), Vec::new()),
        Target::Resource(path) => resource(registry, incoming, &path),
    }
}

/// `404 page not found`, as Go's router says it.
fn no_page() -> Response<Body> {
    respond::text(404, "404 page not found\n")
}

fn other(registry: &Arc<Registry>, incoming: &Incoming, path: &str) -> Response<Body> {
    if let Some(answer) = health::answer(path) {
        return answer;
    }
    if path.is_empty() {
        let paths = registry.read(|_, catalogue| discovery::paths(catalogue));
        return respond::json(200, &paths);
    }
    let _ = incoming;
    no_page()
}

fn discovered(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    document: &super::path::Discovery,
) -> Response<Body> {
    use super::path::Discovery;
    if !matches!(incoming.method, Method::GET | Method::HEAD) {
        return respond::error(&not_allowed(), None);
    }
    let aggregated = negotiate::wants_aggregated(&negotiate::accept(&incoming.headers));
    registry.read(|_, catalogue| match document {
        Discovery::Core | Discovery::Groups if aggregated => {
            let core = *document == Discovery::Core;
            super::respond::tagged(
                &incoming.headers,
                discovery::AGGREGATED,
                &discovery::aggregated(catalogue, core),
            )
        }
        Discovery::Core => respond::json(200, &discovery::core_versions()),
        Discovery::Groups => respond::json(200, &discovery::groups(catalogue)),
        Discovery::Group(name) => match discovery::group(catalogue, name) {
            Some(group) => respond::json(200, &group),
            None => no_page(),
        },
        Discovery::Version(group, version) => {
            match discovery::resources(catalogue, group, version) {
                Some(list) => respond::json(200, &list),
                None => no_page(),
            }
        }
    })
}

fn resource(registry: &Arc<Registry>, incoming: &Incoming, path: &Path) -> Handled {
    let call = match call(registry, incoming, path) {
        Ok(Some(call)) => call,
        Ok(None) => return (no_page(), Vec::new()),
        Err(error) => return (respond::error(&error, None), Vec::new()),
    };
    let form = match Form::of(
        &incoming.headers,
        &incoming.query,
        call.resource.is_custom(),
    ) {
        Ok(form) => form,
        Err(error) => return (respond::error(&error, None), Vec::new()),
    };
    let mut warnings = Vec::new();
    warnings.extend(call.served().deprecation.clone());
    match verb(registry, incoming, path, &call, form) {
        Ok((response, more)) => {
            warnings.extend(more);
            (response, warnings)
        }
        Err(error) => (respond::error(&error, Some(form)), warnings),
    }
}

/// The call of a path; none where nothing of the kind is served.
fn call(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    path: &Path,
) -> Result<Option<Call>, ApiError> {
    let found = registry.read(|_, catalogue| {
        let resource = catalogue.lookup(&path.group, &path.version, &path.plural);
        let builtin = catalogue.builtin_groups().iter().any(|group| {
            group.name == path.group && group.versions.iter().any(|(v, _)| *v == path.version)
        });
        (resource.map(Arc::clone), builtin)
    });
    let (Some(resource), _) = found else {
        let message = "the server could not find the requested resource";
        let error = ApiError::new(404, Some("NotFound"), message);
        return if found.1 { Err(error) } else { Ok(None) };
    };
    if !resource.namespaced && !path.namespace.is_empty() {
        let message = "the server could not find the requested resource";
        return Err(ApiError::new(404, Some("NotFound"), message));
    }
    let call = Call {
        resource,
        version: path.version.as_str().into(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
        subresource: path.subresource.clone(),
        user: incoming.user.clone(),
        options: WriteOptions::default(),
    };
    if !call.subresource.is_empty() && call.served().subresource(&call.subresource).is_none() {
        return Err(if call.resource.is_custom() {
            call.not_found(&call.name)
        } else {
            let message = "the server could not find the requested resource";
            ApiError::new(404, Some("NotFound"), message)
        });
    }
    Ok(Some(call))
}

pub(super) fn not_allowed() -> ApiError {
    let message = "the server does not allow this method on the requested resource";
    ApiError::new(405, Some("MethodNotAllowed"), message)
}

fn not_implemented() -> ApiError {
    let message = "the server does not implement this operation";
    ApiError::new(501, Some("NotImplemented"), message)
}

fn verb(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    path: &Path,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    let collection = call.name.is_empty();
    let watch = path.watch || incoming.query.flag("watch") == Some(true);
    match incoming.method {
        Method::GET | Method::HEAD if (collection && watch) || path.watch => {
            require(call, "watch")?;
            begin_watch(registry, incoming, call, form)
        }
        Method::GET | Method::HEAD if collection => {
            require(call, "list")?;
            let options = incoming.query.list(call)?;
            let list = registry.read(|store, _| registry::list(store, call, &options))?;
            let show = Show::new(form, call, registry.now());
            Ok((respond::object(200, form, &show.list(&list)), Vec::new()))
        }
        Method::GET | Method::HEAD => {
            require(call, "get")?;
            let answer = registry.read(|store, _| registry::get(store, call))?;
            Ok(answered(registry, call, form, answer))
        }
        Method::POST => create(registry, incoming, call, form),
        Method::PUT => update(registry, incoming, call, form),
        Method::PATCH => patch(registry, incoming, call, form),
        Method::DELETE => delete(registry, incoming, call, form),
        _ => Err(not_allowed()),
    }
}

/// Whether the resource, or the subresource that is meant, knows the verb.
fn require(call: &Call, verb: &str) -> Result<(), ApiError> {
    let version = call.served();
    let verbs = match version.subresource(&call.subresource) {
        Some(subresource) => &subresource.verbs,
        None => &version.verbs,
    };
    if verbs.iter().any(|one| one == verb) {
        Ok(())
    } else {
        Err(not_allowed())
    }
}

fn answered(registry: &Arc<Registry>, call: &Call, form: Form, answer: Answer) -> Handled {
    let show = Show::new(form, call, registry.now());
    let response = respond::object(answer.code, form, &show.object(&answer.object));
    (response, answer.warnings)
}

fn begin_watch(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    let mut options = incoming.query.watch(call)?;
    if !call.name.is_empty() {
        options.selection = crate::apiserver::select::Selection::of_name(&call.name);
    }
    let show = Show::new(form, call, registry.now());
    let watch = Watch::open(registry, call.clone(), options);
    Ok((stream::response(watch, show), Vec::new()))
}

fn with_options(incoming: &Incoming, call: &Call, kind: &str) -> Result<Call, ApiError> {
    let agent = incoming.headers.get(http::header::USER_AGENT);
    let agent = agent
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    Ok(Call {
        options: incoming.query.write(kind, agent)?,
        ..call.clone()
    })
}

fn create(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    if !call.name.is_empty() && call.subresource.is_empty() {
        return Err(not_allowed());
    }
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(not_allowed());
    }
    require(call, "create")?;
    let call = with_options(incoming, call, "CreateOptions")?;
    let media = negotiate::body_media(&incoming.headers, call.resource.is_custom())?;
    let decoded = registry::decode(&call, media, &incoming.body)?;
    if !call.subresource.is_empty() || !call.resource.is_stored() {
        return Err(not_implemented());
    }
    let mut answer = registry.write(|tx| registry::create(tx, &call, decoded.object))?;
    answer.warnings.extend(decoded.warnings);
    Ok(answered(registry, &call, form, answer))
}

fn update(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    if call.name.is_empty() {
        return Err(not_allowed());
    }
    require(call, "update")?;
    let call = with_options(incoming, call, "UpdateOptions")?;
    let media = negotiate::body_media(&incoming.headers, call.resource.is_custom())?;
    let decoded = registry::decode(&call, media, &incoming.body)?;
    let mut answer = registry.write(|tx| registry::update(tx, &call, decoded.object))?;
    answer.warnings.extend(decoded.warnings);
    Ok(answered(registry, &call, form, answer))
}

fn patch(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    if call.name.is_empty() {
        return Err(not_allowed());
    }
    require(call, "patch")?;
    let kind = negotiate::patch_type(&incoming.headers, call.resource.is_custom())?;
    let call = with_options(incoming, call, "PatchOptions")?;
    if kind == PatchType::Apply && incoming.query.get("fieldManager").is_empty() {
        let text = "is required for apply patch";
        let error = crate::apiserver::error::FieldError::required("fieldManager", text);
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[error],
        ));
    }
    if kind != PatchType::Apply && incoming.query.first("force").is_some() {
        let text = "may not be specified for non-apply patch";
        let error = crate::apiserver::error::FieldError::forbidden("force", text);
        return Err(ApiError::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            &[error],
        ));
    }
    let answer = registry.write(|tx| registry::patch(tx, &call, kind, &incoming.body))?;
    Ok(answered(registry, &call, form, answer))
}

fn delete(
    registry: &Arc<Registry>,
    incoming: &Incoming,
    call: &Call,
    form: Form,
) -> Result<Handled, ApiError> {
    let (options, dry_run) = deletion::options(incoming)?;
    let mut call = call.clone();
    call.options.dry_run = dry_run;
    if call.name.is_empty() {
        require(&call, "deletecollection")?;
        if call.resource.namespaced && call.namespace.is_empty() {
            return Err(not_allowed());
        }
        let which = incoming.query.list(&call)?;
        let deleted =
            registry.write(|tx| registry::delete_collection(tx, &call, &which, &options))?;
        let show = Show::new(form, &call, registry.now());
        return Ok((respond::object(200, form, &show.list(&deleted)), Vec::new()));
    }
    require(&call, "delete")?;
    let answer = registry.write(|tx| registry::delete(tx, &call, &options))?;
    Ok(answered(registry, &call, form, answer))
}
