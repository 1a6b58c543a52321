//! Records the permissions that requests of the operator need in scenario tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use http::{Method, StatusCode, Uri};
use parking_lot::Mutex;

use crate::cluster::layer::parse_attributes;

/// Requests that each account may send.
const FREE_GROUPS: [&str; 2] = ["authorization.k8s.io", "authentication.k8s.io"];

/// A group and a resource with its subresource.
type Resource = (String, String);

/// The permissions that the requests of all scenarios needed.
#[derive(Debug, Default)]
pub(crate) struct PermissionRecorder(Mutex<BTreeMap<Resource, BTreeSet<&'static str>>>);

impl PermissionRecorder {
    /// Records a request that was answered.
    pub(super) fn record(&self, method: &Method, uri: &Uri, answer: StatusCode) {
        let Some(attributes) = parse_attributes(method, uri) else {
            return;
        };
        if FREE_GROUPS.contains(&attributes.group) {
            return;
        }
        let resource = match attributes.subresource {
            Some(subresource) => format!("{}/{subresource}", attributes.resource),
            None => attributes.resource.to_owned(),
        };
        let key = (attributes.group.to_owned(), resource);
        let mut recorded = self.0.lock();
        let verbs = recorded.entry(key).or_default();
        verbs.insert(attributes.verb);
        // A server-side apply of an absent object needs the permission to create it.
        if attributes.verb == "patch" && answer == StatusCode::CREATED {
            verbs.insert("create");
        }
    }

    /// Returns the permissions as rules of RBAC, for `recorded` of the settings. Leaves out lists without a watch: the
    /// operator looks for former children in all kinds that it may list, and needs no permission for that. What a role
    /// reads is watched too.
    pub(crate) fn rules(&self) -> String {
        let mut text = String::from("# Recorded by `rhai-operator test --record-rbac`.\n");
        for ((group, resource), verbs) in &*self.0.lock() {
            let is_watched = verbs.contains("watch");
            let verbs = verbs.iter().copied();
            let verbs: Vec<&str> = verbs.filter(|verb| is_watched || *verb != "list").collect();
            if verbs.is_empty() {
                continue;
            }
            let group = if group.is_empty() { "\"\"" } else { group };
            let _ = write!(
                text,
                "- apiGroups: [{group}]\n  resources: [{resource}]\n  verbs: [{}]\n",
                verbs.join(", ")
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_each_request_once() {
        let recorder = PermissionRecorder::default();
        let send = |method: Method, uri: &str, code| {
            recorder.record(
                &method,
                &uri.parse().unwrap(),
                StatusCode::from_u16(code).unwrap(),
            );
        };
        send(Method::GET, "/api/v1/namespaces/n/pods?watch=1", 200);
        send(Method::GET, "/api/v1/namespaces/n/pods", 200);
        send(Method::GET, "/api/v1/namespaces/n/pods", 200);
        send(
            Method::PATCH,
            "/apis/apps/v1/namespaces/n/deployments/d",
            201,
        );
        send(
            Method::PATCH,
            "/apis/apps/v1/namespaces/n/deployments/d/scale",
            200,
        );
        send(
            Method::POST,
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            201,
        );
        send(Method::GET, "/apis/apps/v1", 200);
        send(Method::GET, "/api/v1/secrets", 200);
        insta::assert_snapshot!(recorder.rules());
    }
}
