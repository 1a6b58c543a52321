//! The field managers of an object, from its `managedFields`.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::{path, target};
use crate::cluster::Cluster;
use crate::cluster::api_call::ApiCall;
use crate::cluster::error::{Error, ErrorKind};
use crate::model::owner::FIELD_MANAGER_PREFIX;
use crate::model::{ObjectRef, json};

/// The metadata of a live object that the server manages.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerMetadata {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.managedFields`, of all managers.
    pub managed_fields: Vec<Value>,
}

impl Cluster {
    /// Requests the metadata that the server manages and caches do not store; `None` for an absent object.
    pub async fn server_metadata(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<ServerMetadata>, Error> {
        let kind = self.require_kind(&object.gvk).await?;
        let target = target(&kind, "get", object, None);
        let call = ApiCall::get(target, path(&kind, object, None)?);
        match self.send(&call, None).await {
            Ok(answer) => metadata(&answer.body)
                .map(Some)
                .map_err(|cause| Error::local(ErrorKind::Malformed, cause, call.target)),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the foreign field managers of an object, without those of subresources. An absent object
    /// has none.
    pub async fn other_managers(&self, object: &ObjectRef) -> Result<BTreeSet<String>, Error> {
        let kept = self.server_metadata(object).await?.unwrap_or_default();
        Ok(others(&kept))
    }
}

fn metadata(body: &[u8]) -> Result<ServerMetadata, String> {
    let mut whole = json::parse_slice(body).map_err(|cause| cause.to_string())?;
    let metadata = whole.get_mut("metadata").map(Value::take);
    let metadata = metadata.ok_or("no metadata")?;
    serde_json::from_value(metadata).map_err(|cause| cause.to_string())
}

fn others(kept: &ServerMetadata) -> BTreeSet<String> {
    let entries = kept.managed_fields.iter();
    entries
        .filter(|entry| entry["subresource"].is_null())
        .filter_map(|entry| entry["manager"].as_str())
        .filter(|manager| !manager.starts_with(FIELD_MANAGER_PREFIX))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_those_of_subresources_are_left_out() {
        let body = br#"{"metadata":{"managedFields":[
            {"manager":"rhai-operator/0123","operation":"Apply"},
            {"manager":"kube-controller-manager","operation":"Update","subresource":"status"},
            {"manager":"autoscaler","operation":"Update","fieldsV1":{"f:spec":{}}}]}}"#;
        let kept = metadata(body).unwrap();
        assert_eq!(others(&kept), BTreeSet::from(["autoscaler".to_owned()]));
        for body in [&b""[..], b"{", b"[]", br#"{"metadata":7}"#] {
            assert!(metadata(body).is_err());
        }
    }
}
