//! Checks the approval annotation of definitions in the API groups of Kubernetes.
//!
//! <https://github.com/kubernetes/enhancements/pull/1111>

use serde_json::Value;

use crate::error::FieldError;

const ANNOTATION: &str = "api-approved.kubernetes.io";

/// The meaning of the approval annotation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

/// Returns the status, reason and message of the approval condition of a definition in a protected group.
pub(super) fn condition(crd: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(crd) {
        return None;
    }
    let (approval, message) = read(crd);
    let (status, reason) = match approval {
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    Some((status, reason, message))
}

/// Returns the error for a missing or invalid annotation. An update tolerates an annotation that was already
/// wrong.
pub(super) fn error(crd: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !is_protected(crd) {
        return None;
    }
    let (approval, message) = read(crd);
    if old.is_some_and(|old| read(old).0 == approval) {
        return None;
    }
    let path = format!("metadata.annotations[{ANNOTATION}]");
    match approval {
        Approval::Missing => Some(FieldError::required(path, message)),
        Approval::Invalid => Some(FieldError::invalid(path, annotation(crd), message)),
        Approval::Bypassed | Approval::Approved => None,
    }
}

fn is_protected(crd: &Value) -> bool {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    ["k8s.io", "kubernetes.io"].iter().any(|owned| {
        group
            .strip_suffix(owned)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn annotation(crd: &Value) -> &str {
    crd["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .unwrap_or_default()
}

fn read(crd: &Value) -> (Approval, String) {
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = format!("protected groups must have approval annotation {ANNOTATION:?}");
    match annotation(crd) {
        "" => (Approval::Missing, format!("{must}, {see}")),
        text if text.starts_with("unapproved") => {
            (Approval::Bypassed, format!("not approved: {text:?}"))
        }
        text if url::Url::parse(text).is_ok_and(|url| url.has_host()) => {
            (Approval::Approved, format!("approved in {text}"))
        }
        _ => (
            Approval::Invalid,
            format!("{must} with either a URL or a reason starting with \"unapproved\", {see}"),
        ),
    }
}
