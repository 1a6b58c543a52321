//! Determines the owner of an existing object, and so whether to apply, refuse or wait.
//!
//! Anyone who may patch an object can set labels, annotations, owner references and the name of a field
//! manager. A claim must therefore never give more rights than garbage collection would: see
//! `docs/security.md`.

use super::Owner;
use crate::model::Object;
use crate::model::annotations::{PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE};
use crate::model::owner::OwnerReference;

/// The owner of an existing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The custom resource.
    Own,
    /// An earlier custom resource of the same kind and name: garbage collection removes the object.
    Former,
    /// Another owner, or none; the text describes it.
    Foreign(String),
}

impl Claim {
    /// Determines the owner of a live object, as seen from a custom resource.
    ///
    /// Another controller has precedence over all other marks. Our label counts only together with
    /// our field manager, because controllers copy labels. An object that a deletion run creates,
    /// or a run of a custom resource outside any cluster, has neither label nor reference: the
    /// field manager alone counts.
    pub fn determine(owner: &Owner, live: &Object) -> Self {
        let references = live.details().owner_references;
        let is_own = |reference: &OwnerReference| owner.is_live() && reference.uid == *owner.uid;
        let controller = references.iter().find(|reference| reference.controller);
        match controller {
            Some(reference) if is_own(reference) => return Self::Own,
            Some(reference) if is_former(owner, reference) => return Self::Former,
            Some(reference) => {
                let OwnerReference { kind, name, .. } = reference;
                return Self::Foreign(format!("{kind} {name} controls it"));
            }
            None => {}
        }
        if references.iter().any(is_own) || is_marked(owner, live) {
            return Self::Own;
        }
        if references
            .iter()
            .any(|reference| is_former(owner, reference))
        {
            return Self::Former;
        }
        Self::Foreign(describe(owner, live, &references))
    }
}

fn is_former(owner: &Owner, reference: &OwnerReference) -> bool {
    let group = reference
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    *group == *owner.cr.gvk.group
        && reference.kind == *owner.cr.gvk.kind
        && reference.name == *owner.cr.name
        && reference.uid != *owner.uid
        // Without a uid, the reference may name this custom resource.
        && owner.is_live()
}

fn is_marked(owner: &Owner, live: &Object) -> bool {
    let is_managed = live.managed_by(&owner.manager, None).next().is_some();
    let can_own = owner.is_live() && !owner.finalizing;
    is_managed && (!can_own || live.owner_uid() == Some(&*owner.uid))
}

fn describe(owner: &Owner, live: &Object, references: &[OwnerReference]) -> String {
    let annotations = live.details().annotations;
    let kind = annotations.get(PRIMARY_RESOURCE_TYPE);
    if let (Some(kind), Some(name)) = (kind, annotations.get(PRIMARY_RESOURCE)) {
        let same = *name == owner.namespaced_name() && *kind == owner.cr.gvk.kind_group();
        let earlier = if same { "an earlier " } else { "" };
        return format!("it belongs to {earlier}{kind} {name}");
    }
    match references.first() {
        Some(reference) => format!("{} {} owns it", reference.kind, reference.name),
        None => "it has no owner".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::annotations::OWNER_LABEL;
    use crate::testing;

    fn live(metadata: &Value) -> Object {
        testing::object("ConfigMap", &json!({"metadata": metadata}))
    }

    fn owner() -> Owner {
        Owner::new(&testing::owner(Some("n")))
    }

    fn reference(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
        json!({"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": uid, "controller": controller})
    }

    fn claim(metadata: &Value) -> Claim {
        Claim::determine(&owner(), &live(metadata))
    }

    fn foreign(words: &str) -> Claim {
        Claim::Foreign(words.to_owned())
    }

    fn managed(labels: &Value) -> Value {
        let manager = &*owner().manager;
        json!({"labels": labels, "managedFields": [
            {"manager": manager, "operation": "Update", "fieldsV1": {}},
        ]})
    }

    #[test]
    fn an_owner_reference_to_the_custom_resource_is_enough() {
        for controller in [true, false] {
            let own = reference("Web", "w", "u1", controller);
            assert_eq!(claim(&json!({"ownerReferences": [own]})), Claim::Own);
        }
    }

    #[test]
    fn another_controller_outweighs_every_mark() {
        let mut marked = managed(&json!({OWNER_LABEL: "u1"}));
        marked["ownerReferences"] = json!([
            reference("Web", "w", "u1", false),
            reference("Set", "s", "u2", true),
        ]);
        assert_eq!(claim(&marked), foreign("Set s controls it"));
    }

    #[test]
    fn the_label_counts_only_with_the_field_manager() {
        let label = json!({OWNER_LABEL: "u1"});
        assert_eq!(claim(&managed(&label)), Claim::Own);
        assert_eq!(claim(&json!({"labels": label})), foreign("it has no owner"));
        assert_eq!(claim(&managed(&json!({}))), foreign("it has no owner"));
    }

    #[test]
    fn children_of_a_deletion_run_are_found_by_their_manager() {
        let finalizing = Owner {
            finalizing: true,
            ..owner()
        };
        let claim = |metadata: &Value| Claim::determine(&finalizing, &live(metadata));
        assert_eq!(claim(&managed(&json!({}))), Claim::Own);
        assert_eq!(claim(&json!({})), foreign("it has no owner"));
    }

    #[test]
    fn children_of_an_earlier_custom_resource_are_recognized() {
        for controller in [true, false] {
            let former = reference("Web", "w", "u0", controller);
            assert_eq!(claim(&json!({"ownerReferences": [former]})), Claim::Former);
        }
        let other = json!({"ownerReferences": [reference("Web", "other", "u0", false)]});
        assert_eq!(claim(&other), foreign("Web other owns it"));
    }

    #[test]
    fn annotations_name_the_owner_and_prove_nothing() {
        let annotated = |name: &str| {
            claim(&json!({"annotations": {
                PRIMARY_RESOURCE: name, PRIMARY_RESOURCE_TYPE: "Web.example.com",
            }}))
        };
        assert_eq!(
            annotated("n/other"),
            foreign("it belongs to Web.example.com n/other")
        );
        assert_eq!(
            annotated("n/w"),
            foreign("it belongs to an earlier Web.example.com n/w")
        );
    }
}
