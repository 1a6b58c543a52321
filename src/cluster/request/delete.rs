//! Deletes, with preconditions and propagation.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{DeleteOptions, DeleteResult, check_uid, parse, path, target};
use crate::cluster::Cluster;
use crate::cluster::api_call::{self, ApiCall};
use crate::cluster::error::{Error, ErrorKind, Target};
use crate::cluster::watch::{WriteGuard, WriteResult};
use crate::model::{Gvk, Object, ObjectRef};

impl Cluster {
    /// Deletes an object. An absent object is no error.
    pub async fn delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<DeleteResult, Error> {
        let kind = self.require_kind(&object.gvk).await?;
        let object = kind.scoped(object);
        let call = ApiCall {
            method: Method::DELETE,
            content_type: "application/json",
            body: delete_body(options, self.dry_run),
            ..ApiCall::get(
                target(&kind, "delete", &object, None),
                path(&kind, &object, None)?,
            )
        };
        let guard = (!self.dry_run).then(|| self.shared.watches.write(&object));
        let before = guard.as_ref().and_then(WriteGuard::before);
        let answer = match self.send(&call, options.deadline).await {
            Ok(answer) => answer,
            // The retry of a delete whose answer was lost finds the object absent.
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Ok(if error.repeated {
                    DeleteResult::Gone
                } else {
                    DeleteResult::Absent
                });
            }
            Err(error) => return Err(self.invalidate_if_absent(error, &object.gvk)),
        };
        let (deleted, answer) = deleted(&object.gvk, &answer, before.as_deref(), &call.target)?;
        if let DeleteResult::Marked(object) = &deleted {
            check_uid(object, options.uid.as_deref(), &call.target)?;
        }
        if let Some(guard) = guard {
            guard.finish(&answer);
        }
        Ok(deleted)
    }
}

fn delete_body(options: &DeleteOptions, dry_run: bool) -> Bytes {
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": options.propagation.as_str(),
    });
    // The server ignores the query of a delete that has a body.
    if dry_run {
        body["dryRun"] = json!(["All"]);
    }
    if let Some(uid) = &options.uid {
        body["preconditions"]["uid"] = json!(uid);
    }
    if let Some(version) = &options.resource_version {
        body["preconditions"]["resourceVersion"] = json!(version);
    }
    body.to_string().into()
}

/// Parses the answer to a delete: the object, which still exists or is the last state, or a Status.
fn deleted(
    gvk: &Gvk,
    answer: &api_call::ApiResponse,
    before: Option<&Object>,
    target: &Target,
) -> Result<(DeleteResult, WriteResult), Error> {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        details: Details,
    }
    #[derive(Deserialize, Default)]
    struct Details {
        #[serde(default)]
        uid: Box<str>,
    }
    if let Ok(status) = serde_json::from_slice::<Status>(&answer.body)
        && status.kind == "Status"
    {
        let uid = if status.details.uid.is_empty() {
            before.map(|before| before.uid.clone()).unwrap_or_default()
        } else {
            status.details.uid
        };
        return Ok((DeleteResult::Gone, WriteResult::Deleted(uid)));
    }
    let object = parse(gvk, &answer.body, target)?;
    if !object.deleting {
        return Ok((DeleteResult::Gone, WriteResult::Deleted(object.uid.clone())));
    }
    let taken = WriteResult::Object {
        object: Arc::clone(&object),
        own: true,
    };
    Ok((DeleteResult::Marked(object), taken))
}
