//! Restricts the requests of a role to the permissions that the role declares.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::cluster::layer::Fence;
use crate::model::access::{Access, AccessScope};
use crate::role::Role;

/// Returns a view of the cluster that refuses requests that the role's permissions do not allow. Existing
/// restrictions stay: an included role can only send requests that it and all roles that include it
/// declare. `own` is the custom resource's namespace.
pub fn fenced(cluster: &Cluster, role: &Arc<Role>, own: Option<&Arc<str>>) -> Cluster {
    if role.permissions.api.is_none() {
        return cluster.clone();
    }
    let (role, own) = (Arc::clone(role), own.cloned());
    cluster.with_fence(Arc::new(Fence::new(move |access| {
        refusal(&role, access, own.as_deref())
    })))
}

/// Returns the message for a request that a role must not send, with the rule that would allow it.
fn refusal(role: &Role, access: &Access<'_>, own: Option<&str>) -> Option<String> {
    if role.permissions.allows(access, own) {
        return None;
    }
    let place = role.permissions.nearest(access);
    let (line, column) = (place.line, place.column);
    let Access {
        verb,
        group,
        resource,
        scope: reach,
        ..
    } = access;
    let namespaces = match reach {
        AccessScope::Namespace(namespace) if own != Some(namespace) => {
            format!(", namespaces: [{namespace}]")
        }
        AccessScope::AllNamespaces => ", namespaces: [\"*\"]".to_owned(),
        AccessScope::Namespace(_) | AccessScope::Cluster => String::new(),
    };
    Some(format!(
        "role {0} cannot {access}: permissions.api of {0}/meta/main.yaml:{line}:{column} does not allow it; \
         hint: add {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verb}]{namespaces}}}",
        role.name
    ))
}
