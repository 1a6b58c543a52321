//! The fields that a write to the object or to a subresource cannot change and therefore does not own.
//!
//! They are those of `GetResetFields` of the real server.

/// Paths of fields.
pub(crate) type Fields = &'static [&'static [&'static str]];

const NONE: Fields = &[];
const STATUS: Fields = &[&["status"]];
const SPEC: Fields = &[&["spec"]];
const SPEC_AND_METADATA: Fields = &[&["metadata"], &["spec"]];

/// The kinds for which a write to `/status` changes no metadata.
const STATUS_ALONE: [&str; 11] = [
    "APIService",
    "CustomResourceDefinition",
    "DeviceTaintRule",
    "FlowSchema",
    "MutatingAdmissionPolicy",
    "PriorityLevelConfiguration",
    "ResourceClaim",
    "ServiceCIDR",
    "StorageVersion",
    "ValidatingAdmissionPolicy",
    "VolumeAttachment",
];

/// Returns the reset fields of a built-in kind with a status, by subresource.
pub(crate) fn builtin(kind: &str, subresource: &str) -> Fields {
    match (kind, subresource) {
        ("CertificateSigningRequest", "") => &[&["spec"], &["status"]],
        ("CertificateSigningRequest", "status") => &[&["spec"], &["status", "conditions"]],
        ("CertificateSigningRequest", "approval") => &[&["spec"], &["status", "certificate"]],
        ("Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
        ("Pod", "status") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        (_, "status") if STATUS_ALONE.contains(&kind) => SPEC_AND_METADATA,
        (_, "status") => SPEC,
        (_, "" | "finalize") => STATUS,
        _ => NONE,
    }
}

/// Returns the reset fields of a custom resource.
pub(crate) fn custom(has_status: bool, subresource: &str) -> Fields {
    match subresource {
        "" if has_status => STATUS,
        "status" => SPEC_AND_METADATA,
        _ => NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_door_has_its_fields() {
        assert_eq!(builtin("Deployment", ""), STATUS);
        assert_eq!(builtin("Job", "status"), SPEC);
        assert_eq!(builtin("ServiceCIDR", "status"), SPEC_AND_METADATA);
        assert_eq!(builtin("Deployment", "scale"), NONE);
        assert_eq!(custom(false, ""), NONE);
        assert_eq!(custom(true, "status"), SPEC_AND_METADATA);
    }
}
