//! Checks the names that a user gives to new parts of a project.

use crate::model::syntax::{is_dns_label, is_dns_subdomain, is_kind, is_version};

/// An invalid name, with the expected format and a hint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}{}", hint_line(hint))]
pub(crate) struct NameError {
    expected: &'static str,
    found: String,
    hint: String,
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() {
        return String::new();
    }
    format!("\n  hint: {hint}")
}

fn error(expected: &'static str, found: &str, hint: impl Into<String>) -> NameError {
    NameError {
        expected,
        found: found.to_owned(),
        hint: hint.into(),
    }
}

/// Checks the domain of a project: `shop.example.com`.
pub(crate) fn check_domain(text: &str) -> Result<(), NameError> {
    if is_dns_subdomain(text) && text.contains('.') {
        return Ok(());
    }
    let expected = "a domain in lower case such as shop.example.com";
    Err(error(expected, text, domain_hint(text)))
}

/// Checks an API group of custom resources: `web.shop.example.com`.
pub(crate) fn check_group(text: &str) -> Result<(), NameError> {
    let is_protected = text == "k8s.io"
        || text == "kubernetes.io"
        || text.ends_with(".k8s.io")
        || text.ends_with(".kubernetes.io");
    if is_protected {
        let hint = "use a domain that you own: Kubernetes protects this one";
        return Err(error(
            "a group outside k8s.io and kubernetes.io",
            text,
            hint,
        ));
    }
    if is_dns_subdomain(text) && text.contains('.') {
        return Ok(());
    }
    let expected = "an API group in lower case with a dot, such as web.shop.example.com";
    Err(error(expected, text, domain_hint(text)))
}

fn domain_hint(text: &str) -> String {
    let lower = text.to_lowercase();
    if lower != text && is_dns_subdomain(&lower) && lower.contains('.') {
        format!("write {lower}")
    } else if is_dns_subdomain(&lower) {
        format!("add a domain that you own: {lower}.example.com")
    } else {
        "use letters, digits, dots and hyphens".to_owned()
    }
}

/// Checks a kind: `WebSite`.
pub(crate) fn check_kind(text: &str) -> Result<(), NameError> {
    let is_camel_case = is_kind(text)
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    if is_camel_case {
        return Ok(());
    }
    let proposal: String = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect();
    let hint = if is_kind(&proposal) && proposal.starts_with(|c: char| c.is_ascii_uppercase()) {
        format!("write {proposal}")
    } else {
        "begin with a capital letter, and use letters and digits".to_owned()
    };
    Err(error("a kind in CamelCase such as WebSite", text, hint))
}

/// Checks a version of an API: `v1alpha1`.
pub(crate) fn check_version(text: &str) -> Result<(), NameError> {
    // The form that Kubernetes sorts by maturity.
    let is_ordered = text.strip_prefix('v').is_some_and(|rest| {
        let major = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let stage = ["alpha", "beta"]
            .iter()
            .find_map(|stage| major.strip_prefix(stage));
        let is_number = |text: &str| {
            !text.is_empty() && !text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit())
        };
        let number = &rest[..rest.len() - major.len()];
        is_number(number) && (major.is_empty() || stage.is_some_and(is_number))
    });
    if is_ordered && is_version(text) {
        return Ok(());
    }
    let expected = "a version such as v1alpha1, v1beta2 or v1";
    Err(error(expected, text, ""))
}

/// Checks the name of a folder: a role, a scenario or an operator.
pub(crate) fn check_folder(text: &str) -> Result<(), NameError> {
    let is_name =
        |text: &str| is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    if is_name(text) {
        return Ok(());
    }
    let proposal: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let hint = if is_name(&proposal) {
        format!("write {proposal}")
    } else {
        "begin with a letter".to_owned()
    };
    let expected = "a name of lower-case letters, digits and hyphens";
    Err(error(expected, text, hint))
}
