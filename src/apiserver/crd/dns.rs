//! The names that DNS allows, and how the server says that something is none.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or \
    '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
    'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// What is wrong with a DNS-1035 label; several reasons are joined by commas.
pub(super) fn label_1035(text: &str) -> Option<String> {
    let starts = text
        .bytes()
        .next()
        .is_some_and(|first| first.is_ascii_lowercase());
    reasons(text, 63, starts && is_label(text), LABEL_1035)
}

/// What is wrong with a DNS-1123 subdomain.
pub(super) fn subdomain(text: &str) -> Option<String> {
    reasons(text, 253, text.split('.').all(is_label), SUBDOMAIN)
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn reasons(text: &str, most: usize, is_well_formed: bool, form: &str) -> Option<String> {
    let length = (text.len() > most).then(|| format!("must be no more than {most} bytes"));
    let form = (!is_well_formed).then(|| form.to_owned());
    let all: Vec<String> = length.into_iter().chain(form).collect();
    (!all.is_empty()).then(|| all.join(","))
}
