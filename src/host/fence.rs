//! A role's permissions as a fence around the cluster, and around the environment.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::cluster::layer::Fence;
use crate::model::access::{Access, AccessScope};
use crate::role::Role;

/// The cluster as far as the role's permissions reach, within what the cluster was fenced to before: an
/// included role may do what it and all the roles around it may. `own`: the custom resource's namespace.
pub fn fenced(cluster: &Cluster, role: &Arc<Role>, own: Option<&Arc<str>>) -> Cluster {
    if role.permissions.api.is_none() {
        return cluster.clone();
    }
    let (role, own) = (Arc::clone(role), own.cloned());
    cluster.with_fence(Arc::new(Fence::new(move |access| {
        refusal(&role, access, own.as_deref())
    })))
}

/// The reason that a role must not send a request, and the rule that would allow it.
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
        "role {0} may not {access}: permissions.api of {0}/meta/main.yaml:{line}:{column} does not allow it; \
         hint: add {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verb}]{namespaces}}}",
        role.name
    ))
}
