//! Checks names as the API server does: groups, kinds, namespaces, labels.

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// Returns whether a text is a DNS label (RFC 1123), as a namespace must be: `team-a`.
pub(crate) fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(is_lower_alphanumeric)
        && text.ends_with(is_lower_alphanumeric)
        && text.chars().all(|c| is_lower_alphanumeric(c) || c == '-')
}

/// Returns whether a text is a DNS subdomain, as an API group or the prefix of a label must be:
/// `cache.example.com`.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// The maximum length of an object's name. Most kinds allow 253 characters. Those of RBAC set no limit,
/// but the path of a request has one.
const NAME_LIMIT: usize = 1024;

/// Returns whether a name can be a segment of a path, which is the minimum that all kinds require:
/// `system:node`.
pub(crate) fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && text.len() <= NAME_LIMIT && !text.contains(['/', '%'])
}

/// Returns whether a text is a version of an API group: `v1alpha1`.
pub(crate) fn is_version(text: &str) -> bool {
    is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Returns whether a text is a kind: `Memcached`.
pub(crate) fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns whether a text is a name with an optional domain, as the key of a label or annotation, or a
/// finalizer, must be: `app`, `example.com/app`.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_subdomain)
}

/// Returns whether a text is the value of a label: empty, or `v1.2_x`.
pub(crate) fn is_label_value(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.is_empty()
        || (text.len() <= 63
            && text.starts_with(alphanumeric)
            && text.ends_with(alphanumeric)
            && text
                .chars()
                .all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(valid: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(valid(text), "{text:?} is valid");
        }
        for text in bad {
            assert!(!valid(text), "{text:?} is not valid");
        }
    }

    #[test]
    fn valid_names_are_recognized() {
        let long = "a".repeat(64);
        check(
            is_dns_label,
            &["a", "team-a", "1"],
            &["", "-a", "a-", "A", "a.b", "a b", &long],
        );
        let longest = "a".repeat(NAME_LIMIT);
        check(
            is_path_segment,
            &["a", "system:node", "A b", &longest],
            &["", ".", "..", "a/b", "%2e", &format!("{longest}a")],
        );
        check(
            is_dns_subdomain,
            &["apps", "a.b-c.d"],
            &["", ".a", "a..b", "a/b", "A.b"],
        );
        check(is_version, &["v1", "v1alpha1"], &["", "1", "V1", "apps/v1"]);
        check(
            is_kind,
            &["Memcached", "k8s"],
            &["", "1A", "My Kind", "a.b", "Ä"],
        );
        check(
            is_qualified_name,
            &["app", "example.com/app", "App_1.x"],
            &["", "/", "a/", "/a", "a/b/c", "-a", "Ex.com/a"],
        );
        check(
            is_label_value,
            &["", "a", "v1.2_x-y"],
            &["-a", "a b", "a/b", "ä", &long],
        );
    }
}
