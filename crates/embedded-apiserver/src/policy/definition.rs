//! Properties that all policies have.

use serde_json::Value;

/// The group of policies and of their bindings, which no policy selects.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// Returns whether errors of the policy refuse a write. They do so unless `failurePolicy` is `Ignore`.
pub(crate) fn fails_closed(policy: &Value) -> bool {
    policy["spec"]["failurePolicy"] != "Ignore"
}
