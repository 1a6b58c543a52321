//! From one version to another: without a webhook only the name of the version changes.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/>

use serde_json::Value;

use crate::apiserver::error::ApiError;

/// Rewrites a custom resource to another version of its definition. What the other version's
/// schema does not know is for [`super::Version::coerce`] to drop. A webhook is not called: where
/// one is asked for, and the versions differ, the answer is an error.
pub fn convert(crd: &Value, object: &mut Value, version: &str) -> Result<(), ApiError> {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let wanted = format!("{group}/{version}");
    let given = object["apiVersion"].as_str().unwrap_or_default();
    if given == wanted {
        return Ok(());
    }
    if crd["spec"]["conversion"]["strategy"] == "Webhook" {
        let kind = object["kind"].as_str().unwrap_or_default();
        let message = format!(
            "conversion webhook for {given}, Kind={kind} failed: webhooks are not supported"
        );
        return Err(ApiError::new(501, Some("NotImplemented"), message));
    }
    object["apiVersion"] = wanted.into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_name_of_the_version_changes() {
        let mut crd = json!({"spec": {"group": "ex.io", "conversion": {"strategy": "None"}}});
        let mut object = json!({"apiVersion": "ex.io/v1", "kind": "Widget", "spec": {"a": 1}});
        convert(&crd, &mut object, "v2").expect("conversion");
        let wanted = json!({"apiVersion": "ex.io/v2", "kind": "Widget", "spec": {"a": 1}});
        assert_eq!(object, wanted);

        crd["spec"]["conversion"]["strategy"] = "Webhook".into();
        convert(&crd, &mut object, "v2").expect("the same version");
        assert_eq!(
            convert(&crd, &mut object, "v1")
                .expect_err("a webhook")
                .code,
            501
        );
        assert_eq!(object, wanted);
    }
}
