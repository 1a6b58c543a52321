//! Who else writes an object.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{path, target};
use crate::cluster::Cluster;
use crate::cluster::call::Call;
use crate::cluster::error::{Error, ErrorKind};
use crate::model::ObjectRef;
use crate::model::owner::FIELD_MANAGER_PREFIX;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    managed_fields: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    manager: String,
    subresource: Option<String>,
}

impl Cluster {
    /// Field managers of an object that are not ours, those of subresources apart; caches do not keep
    /// them. None for an object that is absent.
    pub async fn other_managers(&self, object: &ObjectRef) -> Result<BTreeSet<String>, Error> {
        let kind = self.served(&object.gvk).await?;
        let target = target(&kind, "get", object, None);
        let call = Call::get(target, path(&kind, object, None)?);
        match self.send(&call, None).await {
            Ok(answer) => Ok(others(&answer.body)),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }
}

fn others(body: &[u8]) -> BTreeSet<String> {
    let Answer { metadata } = serde_json::from_slice(body).unwrap_or_default();
    let entries = metadata.managed_fields.into_iter();
    entries
        .filter(|entry| entry.subresource.is_none())
        .map(|entry| entry.manager)
        .filter(|manager| !manager.starts_with(FIELD_MANAGER_PREFIX))
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
        assert_eq!(others(body), BTreeSet::from(["autoscaler".to_owned()]));
        assert!(others(b"").is_empty());
    }
}
