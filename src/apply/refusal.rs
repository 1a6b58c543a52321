//! Who else has a claim on an object, and what the server means by its refusals.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Error, Owner};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::Object;
use crate::model::annotations::{PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE};

/// Kind and name of another's controller, by owner reference or by our annotations.
///
/// Fields that our manager owns tell that the object is ours, whatever uid it names: the custom
/// resource was made anew under its name, and takes its former self's children over.
pub(super) fn controller(owner: &Owner, live: &Object) -> Option<String> {
    if live.owner_uid() == Some(&*owner.uid) || live.managed_by(&owner.manager, None).count() > 0 {
        return None;
    }
    let details = live.details();
    let mut references = details.owner_references.iter();
    if let Some(other) = references.find(|r| r.controller && r.uid != *owner.uid) {
        return Some(format!("{} {}", other.kind, other.name));
    }
    let name = details.annotations.get(PRIMARY_RESOURCE)?;
    let kind = details.annotations.get(PRIMARY_RESOURCE_TYPE)?;
    let ours = *name == owner.namespaced_name() && *kind == owner.cr.gvk.kind_group();
    (!ours).then(|| format!("{kind} {name}"))
}

/// Whether the server refused a second controller.
pub(super) fn is_second_controller(error: &cluster::Error) -> bool {
    error.kind == ErrorKind::Invalid
        && error
            .message
            .contains("Only one reference can have Controller")
}

/// Whether the server refused a change of what cannot be changed. There is no reason for it in the
/// API, only these words.
pub(super) fn is_immutable(error: &cluster::Error) -> bool {
    const WORDS: [&str; 6] = [
        "field is immutable",
        "is immutable",
        "may not change once set",
        "cannot change",
        "updates to statefulset spec for fields other than",
        "may not change fields other than",
    ];
    error.kind == ErrorKind::Invalid && WORDS.iter().any(|words| error.message.contains(words))
}

/// An error as it is to be told: the server does not say which right it wants for owner references.
pub(super) async fn explain(cluster: &Cluster, owner: &Owner, error: cluster::Error) -> Error {
    if error.kind != ErrorKind::Forbidden || !error.message.contains("blockOwnerDeletion") {
        return error.into();
    }
    match cluster.kind(&owner.cr.gvk).await {
        Ok(Some(kind)) => Error::OwnerFinalizers {
            resource: format!("{}/finalizers", kind.plural),
            error,
        },
        _ => error.into(),
    }
}

/// Makes every controller of an object a mere owner, so that there can be another.
pub(super) async fn demote_controllers(
    cluster: &Cluster,
    owner: &Owner,
    live: &Object,
) -> Result<(), Error> {
    let value = live.value();
    let references = value
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let controllers = references.into_iter().flatten().enumerate();
    let mut steps = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": live.resource_version,
    })];
    steps.extend(
        controllers
            .filter(|(_, reference)| reference["controller"] == true)
            .map(|(index, _)| {
                let path = format!("/metadata/ownerReferences/{index}/controller");
                json!({"op": "replace", "path": path, "value": false})
            }),
    );
    let options = WriteOptions {
        manager: owner.manager.to_string(),
        ..WriteOptions::default()
    };
    let body = Bytes::from(Value::from(steps).to_string());
    cluster
        .patch(&live.object_ref(), PatchKind::Json, body, &options)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    fn live(metadata: &Value) -> Object {
        let gvk = Gvk::new("", "v1", "ConfigMap");
        Object::from_value(&gvk, &json!({"metadata": metadata})).unwrap()
    }

    fn owner() -> Owner {
        let cr = json!({"metadata": {"name": "w", "namespace": "n", "uid": "u1"}});
        Owner::new(&Object::from_value(&Gvk::new("e.com", "v1", "Web"), &cr).unwrap())
    }

    #[test]
    fn another_controller_has_a_claim_and_a_mere_owner_has_none() {
        let reference = |controller: bool| {
            live(&json!({"ownerReferences": [{
                "apiVersion": "v1", "kind": "K", "name": "k", "uid": "u2", "controller": controller,
            }]}))
        };
        assert_eq!(
            controller(&owner(), &reference(true)),
            Some("K k".to_owned())
        );
        assert_eq!(controller(&owner(), &reference(false)), None);
    }

    #[test]
    fn annotations_of_another_are_a_claim() {
        let annotated = |name: &str| {
            live(&json!({"annotations": {
                PRIMARY_RESOURCE: name, PRIMARY_RESOURCE_TYPE: "Web.e.com",
            }}))
        };
        assert_eq!(controller(&owner(), &annotated("n/w")), None);
        let other = controller(&owner(), &annotated("n/other"));
        assert_eq!(other, Some("Web.e.com n/other".to_owned()));
    }

    #[test]
    fn children_of_a_former_self_are_taken_over() {
        let owner = owner();
        let former = live(&json!({
            "ownerReferences": [{
                "apiVersion": "e.com/v1", "kind": "Web", "name": "w", "uid": "u0", "controller": true,
            }],
            "managedFields": [{"manager": &*owner.manager, "operation": "Apply", "fieldsV1": {}}],
        }));
        assert_eq!(controller(&owner, &former), None);
    }
}
