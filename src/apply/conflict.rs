//! Interprets refusals of the server, and makes another controller a plain owner.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Error, Owner};
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::Object;

/// Returns whether the server refused a second controller.
pub(super) fn is_second_controller(error: &cluster::Error) -> bool {
    error.kind == ErrorKind::Invalid
        && error
            .message
            .contains("Only one reference can have Controller")
}

/// Returns whether the server refused a write because the uid is that of another object of this name.
///
/// A server that checks the uid as a precondition returns a conflict; one that validates it as a field
/// returns an invalid-object error.
pub(super) fn is_uid_mismatch(error: &cluster::Error) -> bool {
    match error.kind {
        ErrorKind::Conflict => {
            error.message.contains("uid mismatch") || error.message.contains("UID in precondition")
        }
        ErrorKind::Invalid => error
            .causes
            .iter()
            .any(|cause| cause.field == "metadata.uid"),
        _ => false,
    }
}

/// Returns whether the server refused to change an immutable field. The API has no reason for this
/// error, only these texts.
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

/// Adds the missing permission to an error: the server does not name the one that owner references
/// require.
pub(super) async fn explain_refusal(
    cluster: &Cluster,
    owner: &Owner,
    error: cluster::Error,
) -> Error {
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

/// Makes every controller of an object a plain owner, so that another owner can become the controller.
/// Returns true if the write was planned only.
pub(super) async fn demote_controllers(
    cluster: &Cluster,
    owner: &Owner,
    live: &Object,
) -> Result<bool, Error> {
    let references = live.details().owner_references;
    let controllers = references.iter().enumerate();
    let mut steps = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": live.resource_version,
    })];
    steps.extend(
        controllers
            .filter(|(_, reference)| reference.controller)
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
    let written = cluster
        .patch(&live.object_ref(), PatchKind::Json, body, &options)
        .await?;
    Ok(written.planned)
}
