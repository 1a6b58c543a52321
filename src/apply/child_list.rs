//! The list of children that owner references cannot reach, in an annotation of the custom resource.
//!
//! The API accepts no owner reference from a child in another namespace, or from a cluster-scoped child,
//! to a namespaced custom resource. Two marks replace it: the list names the child, and the label and the
//! field manager of the child name the custom resource. Both are required. A tenant can edit the
//! annotations of their custom resource, and anyone who may patch an object can set its label.

use std::collections::BTreeSet;

use crate::model::annotations::CHILDREN;
use crate::model::{Object, ObjectRef};
use crate::telemetry::log;

/// Maximum size of the list in bytes: half of the API's limit for all annotations of an object.
const MAX_BYTES: usize = 128 * 1024;

/// The children that a custom resource lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildList(BTreeSet<String>);

impl ChildList {
    /// Reads the list of a custom resource. Logs a list that cannot be read and treats it as empty,
    /// because anyone who may edit the annotation could also empty it.
    pub fn read_from(cr: &Object) -> Self {
        // Most objects do not contain the key, and parsing their metadata has a cost.
        if !cr.json().contains(CHILDREN) {
            return Self::default();
        }
        let annotations = cr.details().annotations;
        let Some(list) = annotations.get(CHILDREN) else {
            return Self::default();
        };
        match serde_json::from_str(list) {
            Ok(entries) => Self(entries),
            Err(error) => {
                // Only the position: the text of the error would quote the annotation.
                let (line, column) = (error.line(), error.column());
                let object = cr.object_ref();
                log::warn!(
                    "cannot read the list of children: expected a JSON list of texts; \
                     children that it named are not cleaned up",
                    object = object,
                    annotation = CHILDREN,
                    line = line,
                    column = column,
                );
                Self::default()
            }
        }
    }

    /// Returns whether the list contains an object, in any version of its kind.
    pub fn contains(&self, object: &ObjectRef) -> bool {
        self.0.contains(&object.to_string())
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an object. Returns false if the list is then too long.
    pub(super) fn add(&mut self, object: &ObjectRef) -> bool {
        self.0.insert(object.to_string());
        self.annotation_value()
            .is_none_or(|text| text.len() <= MAX_BYTES)
    }

    /// Adds all objects of another list.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Keeps the objects that are in a set.
    pub(super) fn retain(&mut self, kept: &BTreeSet<String>) {
        self.0.retain(|entry| kept.contains(entry));
    }

    /// Returns the value of the annotation; `None` for no annotation.
    pub(super) fn annotation_value(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| serde_json::json!(self.0).to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Gvk;
    use crate::testing;

    fn cr(annotations: &Value) -> Object {
        let cr = json!({"metadata": {"name": "w", "annotations": annotations}});
        testing::custom_resource(&cr)
    }

    fn role(version: &str) -> ObjectRef {
        let gvk = Gvk::new("rbac.authorization.k8s.io", version, "ClusterRole");
        ObjectRef::new(gvk, None, "system:reader")
    }

    #[test]
    fn a_list_survives_a_round_trip_in_each_version() {
        let mut list = ChildList::default();
        assert_eq!(list.annotation_value(), None);
        assert!(list.add(&role("v1")));
        let text = list.annotation_value().unwrap();
        assert_eq!(
            text,
            r#"["ClusterRole.rbac.authorization.k8s.io system:reader"]"#
        );
        let read = ChildList::read_from(&cr(&json!({CHILDREN: text})));
        assert_eq!(read, list);
        assert!(read.contains(&role("v1beta1")));
    }

    #[test]
    fn a_list_written_by_a_tenant_is_ignored() {
        for text in ["", "{}", "[1]", "ClusterRole x", "[\"a\""] {
            assert!(ChildList::read_from(&cr(&json!({CHILDREN: text}))).is_empty());
        }
    }

    #[test]
    fn a_list_is_bounded() {
        let mut list = ChildList::default();
        let object = |n: usize| {
            let name = format!("{n}-{}", "x".repeat(240));
            ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some("far"), &name)
        };
        let fit = (0..10_000).take_while(|n| list.add(&object(*n))).count();
        assert!((400..600).contains(&fit), "{fit}");
    }
}
