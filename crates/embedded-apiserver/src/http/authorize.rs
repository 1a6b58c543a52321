//! Authorizes requests before any other check.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/authorization/>

use http::{HeaderMap, Method};

use super::path::{Path, Target};
use super::{Exchange, ReceivedRequest};
use crate::access::{self, Attributes, Rules};
use crate::error::ApiError;
use crate::registry::ResourceRequest;
use crate::user::User;

/// Returns a 403 if RBAC does not allow the request.
pub(super) fn check(cx: &Exchange<'_>, target: &Target) -> Result<(), ApiError> {
    let attributes = attributes(cx.incoming, target);
    let user = &cx.incoming.user;
    cx.registry
        .read(|store, _| access::authorize(user, &attributes, store))
}

/// Returns the action of a request.
pub(super) fn attributes(incoming: &ReceivedRequest, target: &Target) -> Attributes {
    match target {
        Target::Resource(path) => of_resource(incoming, path),
        Target::Discovery(_) | Target::Other(_) => Attributes {
            verb: incoming.method.as_str().to_lowercase(),
            path: Some(incoming.path.clone()),
            ..Attributes::default()
        },
    }
}

/// Checks the permission to create. A PUT or an apply also requires it if the object does not exist.
pub(super) fn creation(cx: &Exchange<'_>, call: &ResourceRequest) -> Result<(), ApiError> {
    let attributes = Attributes {
        verb: "create".to_owned(),
        group: call.resource.group.to_string(),
        resource: call.resource.plural.to_string(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        ..Attributes::default()
    };
    cx.registry.read(|store, _| {
        let there = Rules::get(store, call.resource.storage(), &call.namespace, &call.name);
        if there.is_some() || !call.subresource.is_empty() {
            return Ok(());
        }
        access::authorize(&call.user, &attributes, store)
    })
}

fn of_resource(incoming: &ReceivedRequest, path: &Path) -> Attributes {
    let mut name = path.name.clone();
    let watched = path.watch || incoming.query.flag("watch") == Some(true);
    let verb = match incoming.method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ if path.watch || name.is_empty() && watched => "watch",
        _ if name.is_empty() => "list",
        _ => "get",
    };
    if matches!(verb, "list" | "watch" | "deletecollection") && name.is_empty() {
        // A field selector for one name requires permission for that name only.
        let selector = incoming.query.get("fieldSelector");
        let mut parts = selector.split(',').filter_map(|part| part.split_once('='));
        let by_name = parts.find(|(field, _)| *field == "metadata.name");
        name = by_name.map_or(name, |(_, value)| value.trim_start_matches('=').to_owned());
    }
    let is_namespace = path.group.is_empty() && path.plural == "namespaces";
    Attributes {
        verb: verb.to_owned(),
        group: path.group.clone(),
        resource: path.plural.clone(),
        subresource: path.subresource.clone(),
        // The namespace of a Namespace object is its own name.
        namespace: if is_namespace {
            name.clone()
        } else {
            path.namespace.clone()
        },
        name,
        path: None,
    }
}

/// Returns whether a request impersonates another user.
pub(super) fn impersonates(headers: &HeaderMap) -> bool {
    let names = ["impersonate-user", "impersonate-group", "impersonate-uid"];
    names.iter().any(|name| headers.contains_key(*name))
}

/// Checks that the user has permission to impersonate the user and the groups of the request.
///
/// <https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/>
pub(super) fn impersonation(
    user: &User,
    headers: &HeaderMap,
    rules: &dyn Rules,
) -> Result<(), ApiError> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let wants = |group: &str, resource: &str, namespace: &str, name: &str| {
        let attributes = Attributes {
            verb: "impersonate".to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..Attributes::default()
        };
        access::authorize(user, &attributes, rules)
    };
    let Some(name) = value("impersonate-user") else {
        let groups = headers.get_all("impersonate-group").iter();
        let groups = groups.map(|group| format!("{:?}", group.to_str().unwrap_or_default()));
        let groups: Vec<String> = groups.collect();
        // The message of the real server prints its Go struct.
        let message = format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{:?}, Groups:[]string{{{}}}, \
             Extra:map[string][]string(nil)}} without impersonating a user name",
            value("impersonate-uid").unwrap_or_default(),
            groups.join(", "),
        );
        return Err(ApiError::bad_request(message));
    };
    let account = name.strip_prefix("system:serviceaccount:");
    match account.and_then(|rest| rest.split_once(':')) {
        Some((namespace, account)) => wants("", "serviceaccounts", namespace, account)?,
        None => wants("", "users", "", name)?,
    }
    for group in headers.get_all("impersonate-group") {
        wants("", "groups", "", group.to_str().unwrap_or_default())?;
    }
    match value("impersonate-uid") {
        Some(uid) => wants("authentication.k8s.io", "uids", "", uid),
        None => Ok(()),
    }
}
