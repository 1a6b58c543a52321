//! The attributes of a write that policies see.

use serde_json::{Value, json};

use crate::resource::Resource;
use crate::user::User;

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// Returns the name in rules and in `request.operation`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A write before it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a Resource,
    pub(crate) version: &'a str,
    pub(crate) subresource: &'a str,
    /// Empty for a new object that has only `generateName`, and for a deletion of a collection.
    pub(crate) name: &'a str,
    /// Empty for cluster-scoped resources.
    pub(crate) namespace: &'a str,
    pub(crate) user: &'a User,
    pub(crate) dry_run: bool,
    /// The new object. Null for a deletion.
    pub(crate) object: &'a Value,
    /// The live object. Null for a creation.
    pub(crate) old: &'a Value,
    /// The namespace of the object. Null for cluster-scoped resources.
    pub(crate) namespace_object: &'a Value,
}

impl Attributes<'_> {
    /// Returns the variable `request`, an `admission.k8s.io/v1` `AdmissionRequest`.
    pub(super) fn request(&self) -> Value {
        let Resource {
            group,
            kind,
            plural,
            ..
        } = self.resource;
        let version = self.version;
        let kind = json!({"group": group, "version": version, "kind": kind});
        let resource = json!({"group": group, "version": version, "resource": plural});
        let options = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
        };
        let mut request = json!({
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation.name(),
            "userInfo": {
                "username": self.user.name,
                "uid": self.user.uid,
                "groups": self.user.groups,
                "extra": self.user.extra,
            },
            "dryRun": self.dry_run,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": options},
        });
        if !self.subresource.is_empty() {
            request["subResource"] = self.subresource.into();
            request["requestSubResource"] = self.subresource.into();
        }
        request
    }
}
