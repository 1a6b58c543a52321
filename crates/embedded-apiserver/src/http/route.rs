//! Routes a request to its handler.

use std::sync::Arc;

use http::{Method, Response};

use super::negotiate::{self, Form};
use super::outcome::{ResponseWithWarnings, require, respond};
use super::path::{Path, Target};
use super::representation::Representation;
use super::respond::{self, Body};
use super::strategy::strategy_of;
use super::{Exchange, authorize, health, openapi, stream, verbs};
use crate::discovery;
use crate::error::ApiError;
use crate::registry::{self, ResourceRequest, Watch, WriteOptions, scale};
use crate::select::Selection;

/// Returns the response to a request.
pub(super) fn handle(cx: &Exchange<'_>) -> ResponseWithWarnings {
    let target = Target::parse(&cx.incoming.path);
    if let Err(error) = authorize::check(cx, &target) {
        return (respond::forbidden(&error), Vec::new());
    }
    match target {
        Target::Discovery(document) => (discovered(cx, &document), Vec::new()),
        Target::Other(path) => (other(cx, &path), Vec::new()),
        Target::Resource(path) => resource(cx, &path),
    }
}

/// Returns the 404 of Go's router.
fn no_page() -> Response<Body> {
    respond::text(404, "404 page not found\n")
}

fn other(cx: &Exchange<'_>, path: &str) -> Response<Body> {
    if path == "version" && cx.incoming.method != Method::GET {
        return respond::error(&ApiError::verb_not_allowed(), None);
    }
    if let Some(answer) = health::answer(path, cx.incoming.query.first("verbose").is_some()) {
        return answer;
    }
    if let Some(answer) = openapi::answer(cx, path) {
        return answer;
    }
    if path.is_empty() {
        let paths = cx.registry.read(|_, catalogue| discovery::paths(catalogue));
        return respond::json(200, &paths);
    }
    no_page()
}

fn discovered(cx: &Exchange<'_>, document: &super::path::Discovery) -> Response<Body> {
    use super::path::Discovery;
    if !matches!(cx.incoming.method, Method::GET | Method::HEAD) {
        return respond::error(&ApiError::verb_not_allowed(), None);
    }
    let aggregated = negotiate::wants_aggregated(&negotiate::accept(&cx.incoming.headers));
    cx.registry.read(|_, catalogue| match document {
        Discovery::Core | Discovery::Groups if aggregated => {
            let core = *document == Discovery::Core;
            super::respond::tagged(
                &cx.incoming.headers,
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
            let builtin = catalogue.builtin_groups().iter();
            match discovery::resources(catalogue, group, version) {
                Some(list) => respond::json(200, &list),
                None if builtin.map(|one| &one.name).any(|name| name == group) => {
                    respond::error(&ApiError::no_resource(), None)
                }
                None => no_page(),
            }
        }
    })
}

fn resource(cx: &Exchange<'_>, path: &Path) -> ResponseWithWarnings {
    let call = match call(cx, path) {
        Ok(Some(call)) => call,
        Ok(None) => return (no_page(), Vec::new()),
        Err(error) => return (respond::error(&error, None), Vec::new()),
    };
    let form = match Form::negotiate(&cx.incoming.headers, &cx.incoming.query, &call.resource) {
        Ok(form) => form,
        Err(error) => {
            let form = Form::of_error(&cx.incoming.headers);
            return (respond::error(&error, Some(form)), Vec::new());
        }
    };
    let deprecation = call.served().deprecation.clone();
    cx.warnings.borrow_mut().extend(deprecation);
    let (response, more) = verb(cx, path, call, form)
        .unwrap_or_else(|error| (respond::error(&error, Some(form)), Vec::new()));
    let mut warnings = cx.warnings.take();
    warnings.extend(more);
    (response, warnings)
}

/// Returns the request for a path, or nothing if the server does not serve the resource.
fn call(cx: &Exchange<'_>, path: &Path) -> Result<Option<ResourceRequest>, ApiError> {
    let found = cx.registry.read(|_, catalogue| {
        let resource = catalogue.lookup(&path.group, &path.version, &path.plural);
        let builtin = catalogue
            .builtin_groups()
            .iter()
            .any(|group| group.name == path.group);
        (resource.map(Arc::clone), builtin)
    });
    let (Some(resource), _) = found else {
        return if found.1 {
            Err(ApiError::no_resource())
        } else {
            Ok(None)
        };
    };
    let strategy = strategy_of(&resource);
    let fits = match (resource.namespaced, path.namespace.is_empty()) {
        (true, true) => path.name.is_empty() && !strategy.needs_namespace(&cx.incoming.method),
        (false, false) => false,
        _ => true,
    };
    if !fits {
        return strategy.wrong_scope().map_or(Ok(None), Err);
    }
    let call = ResourceRequest {
        resource,
        version: path.version.as_str().into(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
        subresource: path.subresource.clone(),
        user: cx.incoming.user.clone(),
        options: WriteOptions::default(),
    };
    if !call.subresource.is_empty() && call.served().subresource(&call.subresource).is_none() {
        return Err(strategy.unknown_subresource(&call));
    }
    Ok(Some(call))
}

/// The subresources that require a kubelet.
const OF_CONTAINERS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// Returns a 501 for a request to a container, or a 404 if the Pod does not exist.
fn of_containers(cx: &Exchange<'_>, call: &ResourceRequest) -> ApiError {
    let verb = match cx.incoming.method {
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        _ => "delete",
    };
    let found = require(call, verb).and_then(|()| {
        let whole = ResourceRequest {
            subresource: String::new(),
            ..call.clone()
        };
        cx.registry.read(|store, _| registry::get(store, &whole))
    });
    let (plural, part) = (&call.resource.plural, &call.subresource);
    found.err().unwrap_or_else(|| {
        let message = format!("{plural}/{part} is not served: there are no containers here");
        ApiError::not_implemented(message)
    })
}

fn verb(
    cx: &Exchange<'_>,
    path: &Path,
    call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    let strategy = strategy_of(&call.resource);
    if OF_CONTAINERS.contains(&&*call.subresource) && strategy.has_containers() {
        return Err(of_containers(cx, &call));
    }
    let collection = call.name.is_empty();
    let watch = path.watch || cx.incoming.query.flag("watch") == Some(true);
    match cx.incoming.method {
        Method::GET | Method::HEAD if (collection && watch) || path.watch => {
            require(&call, "watch")?;
            begin_watch(cx, call, form)
        }
        Method::GET | Method::HEAD if collection => {
            require(&call, "list")?;
            let options = cx.incoming.query.list(&call)?;
            let list = cx
                .registry
                .read(|store, _| registry::list(store, &call, &options))?;
            let show = Representation::new(form, &call, cx.registry.now());
            Ok((respond::object(200, form, &show.list(&list)), Vec::new()))
        }
        Method::GET | Method::HEAD => {
            require(&call, "get")?;
            require_revision(cx)?;
            let answer = cx.registry.read(|store, _| match &*call.subresource {
                "scale" => scale::get(store, &call),
                "" | "status" => registry::get(store, &call),
                _ => registry::get(store, &call)
                    .and_then(|_| Err(ApiError::operation_not_implemented())),
            })?;
            Ok(respond(cx, &call, form, answer))
        }
        Method::POST => verbs::create(cx, call, form),
        Method::PUT => verbs::update(cx, call, form),
        Method::PATCH => verbs::patch(cx, call, form),
        Method::DELETE => verbs::delete(cx, call, form),
        _ => Err(strategy.unsupported_verb(&call, "")),
    }
}

/// Checks that the `resourceVersion` of a GET exists.
fn require_revision(cx: &Exchange<'_>) -> Result<(), ApiError> {
    let asked = cx
        .incoming
        .query
        .revision()
        .map_err(ApiError::without_class)?;
    let newest = cx.registry.read(|store, _| store.revision());
    match asked.filter(|asked| *asked > newest) {
        Some(asked) => Err(registry::too_large(asked, newest)),
        None => Ok(()),
    }
}

fn begin_watch(
    cx: &Exchange<'_>,
    call: ResourceRequest,
    form: Form,
) -> Result<ResponseWithWarnings, ApiError> {
    let mut options = cx.incoming.query.watch(&call)?;
    if !call.name.is_empty() {
        options.selection = Selection::of_name(&call.name);
    }
    let show = Representation::new(form, &call, cx.registry.now());
    let watch = Watch::open(cx.registry, call, options);
    Ok((stream::response(watch, show), Vec::new()))
}
