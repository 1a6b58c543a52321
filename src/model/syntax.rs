//! Checks names as the API server does: groups, kinds, namespaces, labels.

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// A DNS label (RFC 1123): `team-a`. Namespaces are such.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(is_lower_alphanumeric)
        && text.ends_with(is_lower_alphanumeric)
        && text.chars().all(|c| is_lower_alphanumeric(c) || c == '-')
}

/// A DNS subdomain: `cache.example.com`. API groups are such, and the prefixes of labels.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// The longest name of an object. Most kinds allow 253 characters; those of RBAC set no limit, and the
/// path of a request has one.
const NAME_LIMIT: usize = 1024;

/// A name that can stand in a path as it is, which is what every kind asks for at least:
/// `system:node`.
pub fn is_path_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && text.len() <= NAME_LIMIT && !text.contains(['/', '%'])
}

/// A version of an API group: `v1alpha1`.
pub fn is_version(text: &str) -> bool {
    is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// A kind: `Memcached`.
pub fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// A name with an optional domain before a slash: `app`, `example.com/app`. The keys of labels and
/// annotations, and the names of finalizers.
pub fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_subdomain)
}

/// A label's value: empty, or `v1.2_x`.
pub fn is_label_value(text: &str) -> bool {
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
    fn names_are_told_from_what_is_none() {
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
