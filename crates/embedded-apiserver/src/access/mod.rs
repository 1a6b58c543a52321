//! Authorization with RBAC: decisions, access reviews, and the prevention of privilege escalation.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>

pub(crate) mod escalation;
pub(crate) mod rbac;
pub(crate) mod review;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::error::ApiError;
use crate::store::{Key, Store};
use crate::user::User;

/// The API group of roles.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The attributes of a request that an authorizer checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `get`, `list`, `create`. For a non-resource path, the HTTP method in lower case.
    pub verb: String,
    /// The API group. Empty for the core group.
    pub group: String,
    /// `pods`
    pub resource: String,
    /// `log`. Empty for the resource itself.
    pub subresource: String,
    /// Empty for cluster-scoped resources and for all namespaces.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// A path that belongs to no resource. If it is set, the other fields but the verb are empty.
    pub path: Option<String>,
}

/// A source of roles and bindings.
pub(crate) trait Rules {
    /// Returns an object. `resource` is an id such as `roles.rbac.authorization.k8s.io`.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// Returns the objects of a namespace, or of all namespaces.
    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
}

impl Rules for Store {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let table = self.table(resource)?;
        table.get(&Key::new(namespace, name)).map(Arc::clone)
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let Some(table) = self.table(resource) else {
            return Vec::new();
        };
        let objects = table.list(namespace);
        objects.map(|(_, object)| Arc::clone(object)).collect()
    }
}

impl Attributes {
    /// Returns the resource with its subresource: `pods/log`, `pods`.
    fn qualified_resource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

/// Returns a 403 if RBAC does not allow the action.
pub(crate) fn authorize(
    user: &User,
    attributes: &Attributes,
    rules: &dyn Rules,
) -> Result<(), ApiError> {
    let decision = rbac::decide(user, attributes, rules);
    if decision.allowed {
        return Ok(());
    }
    Err(forbidden(user, attributes, &decision.reason))
}

/// Returns the 403 with the message of the real server.
pub(crate) fn forbidden(user: &User, attributes: &Attributes, reason: &str) -> ApiError {
    let Attributes {
        verb,
        group,
        resource,
        namespace,
        name,
        path,
        ..
    } = attributes;
    let why = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    let who = &user.name;
    if let Some(path) = path {
        let message = format!("forbidden: User {who:?} cannot {verb} path {path:?}{why}");
        let mut error = ApiError::forbidden(message);
        error.details = Some(serde_json::Map::new());
        return error;
    }
    let id = if group.is_empty() {
        resource.clone()
    } else {
        format!("{resource}.{group}")
    };
    let about = if name.is_empty() {
        id
    } else {
        format!("{id} {name:?}")
    };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {namespace:?}")
    };
    let what = attributes.qualified_resource();
    let message = format!(
        "{about} is forbidden: User {who:?} cannot {verb} resource {what:?} in API group {group:?} \
         {place}{why}"
    );
    ApiError::forbidden(message).about(group, resource, name)
}
