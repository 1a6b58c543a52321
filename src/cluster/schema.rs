//! The status fields that the CRD of a kind declares. The server drops all others, so the operator does
//! not send them.

use std::sync::Arc;

use serde_json::Value;

use super::discovery::{DeclaredFields, StatusFields};
use super::error::{Error, ErrorKind};
use super::{Cluster, crds};
use crate::model::redact::PublicText;
use crate::model::{Gvk, ObjectRef};
use crate::telemetry::log;

impl Cluster {
    /// Returns whether the status of a kind has a field of this name, according to its CRD. Returns true
    /// if there is no CRD, or if the operator must not read it. Requests the CRD once, and again after the
    /// watch on CRDs reports a change.
    pub async fn has_status_field(&self, gvk: &Gvk, field: &str) -> bool {
        let fields = match self.shared.discovery.status_fields(gvk) {
            Some(fields) => fields,
            None => self.fetch_fields_once(gvk).await,
        };
        fields.is_none_or(|fields| fields.accepts_others || fields.names.contains(field))
    }

    async fn fetch_fields_once(&self, gvk: &Gvk) -> StatusFields {
        let discovery = &self.shared.discovery;
        let _turn = self.shared.schemas.lock().await;
        if let Some(fields) = discovery.status_fields(gvk) {
            return fields;
        }
        match self.fetch_fields(gvk).await {
            Ok(fields) => {
                discovery.set_status_fields(gvk, fields.clone());
                fields
            }
            // The next call requests it again.
            Err(error) => {
                log::debug!(
                    "cannot read the status fields of a kind: keeping all fields",
                    error = PublicText::from(error.kind.as_str())
                );
                None
            }
        }
    }

    /// Returns whether the CRD of a kind declares a field of this name in its status. Returns false if
    /// there is no CRD, or if the operator must not read it.
    pub async fn declares_status_field(&self, gvk: &Gvk, field: &str) -> bool {
        self.has_status_field(gvk, field).await
            && self
                .shared
                .discovery
                .status_fields(gvk)
                .flatten()
                .is_some_and(|fields| fields.names.contains(field))
    }

    async fn fetch_fields(&self, gvk: &Gvk) -> Result<StatusFields, Error> {
        let Some(kind) = self.kind(gvk).await? else {
            return Ok(None);
        };
        let name = format!("{}.{}", kind.plural, gvk.group);
        let crd = ObjectRef::new(crds::crd_gvk(), None, &name);
        match self.unfenced().get(&crd).await {
            Ok(Some(crd)) => Ok(fields(&crd.value(), &gvk.version).map(Arc::new)),
            Ok(None) => Ok(None),
            Err(error) if error.kind == ErrorKind::Forbidden => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn fields(crd: &Value, version: &str) -> Option<DeclaredFields> {
    let versions = crd["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|one| one["name"] == version)?;
    let whole = &version["schema"]["openAPIV3Schema"];
    let status = &whole["properties"]["status"];
    let open = |schema: &Value| {
        schema["x-kubernetes-preserve-unknown-fields"] == true
            || !schema["additionalProperties"].is_null()
    };
    let declared = status["properties"].as_object().into_iter().flatten();
    Some(DeclaredFields {
        names: declared.map(|(name, _)| name.clone()).collect(),
        accepts_others: crd["spec"]["preserveUnknownFields"] == true || open(whole) || open(status),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declared(status: &Value) -> (Vec<String>, bool) {
        let crd = json!({"spec": {"versions": [
            {"name": "v1alpha1", "schema": {}},
            {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"status": status}}}},
        ]}});
        let fields = fields(&crd, "v1").unwrap();
        (fields.names.into_iter().collect(), fields.accepts_others)
    }

    #[test]
    fn declared_fields_are_known_and_open_schemas_accept_others() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let properties = json!({"properties": {"ready": {}, "nodes": {}}});
        assert_eq!(declared(&properties), (names(&["nodes", "ready"]), false));
        assert_eq!(declared(&json!({"type": "object"})), (names(&[]), false));
        assert_eq!(declared(&Value::Null), (names(&[]), false));
        let open = "x-kubernetes-preserve-unknown-fields";
        assert_eq!(declared(&json!({open: true})), (names(&[]), true));
        let both = json!({open: true, "properties": {"steps": {}}});
        assert_eq!(declared(&both), (names(&["steps"]), true));
        let map = json!({"additionalProperties": {"type": "string"}});
        assert_eq!(declared(&map), (names(&[]), true));
        assert_eq!(fields(&json!({}), "v1"), None);
    }
}
