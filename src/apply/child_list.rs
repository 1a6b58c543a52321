//! The children of a custom resource that owner references cannot reach, as the custom resource lists
//! them in an annotation.
//!
//! An object in another namespace, or a cluster-scoped child of a namespaced custom resource, cannot name
//! its owner so that the API would prove it. The list says which objects the runtime made; their label
//! and field manager say the same from the other side. Neither is enough alone: a tenant can edit the
//! annotations of their own custom resource, and whoever may patch an object can set its label.

use std::collections::BTreeSet;

use crate::model::annotations::CHILDREN;
use crate::model::{Object, ObjectRef};
use crate::telemetry::log;

/// The longest list, in bytes: half of what the API allows for all annotations together.
const MAX_BYTES: usize = 128 * 1024;

/// The children that a custom resource lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildList(BTreeSet<String>);

impl ChildList {
    /// Returns the list of a custom resource. A list that cannot be read is reported in the log and lists
    /// nothing: whoever may edit the annotation may empty it, too.
    pub fn read_from(cr: &Object) -> Self {
        // Most objects have not even the word in them; parsing their metadata is not free.
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
                // The place alone: the error's text would quote the annotation.
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

    /// Returns whether it names an object, in whatever version of its kind.
    pub fn contains(&self, object: &ObjectRef) -> bool {
        self.0.contains(&object.to_string())
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an object; `false` if the list is too long for that.
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

    /// The annotation's value; `None` for no annotation.
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
    fn a_list_comes_back_as_it_was_written_whatever_the_version() {
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
    fn what_a_tenant_wrote_instead_lists_nothing() {
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
