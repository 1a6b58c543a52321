//! Checks names, labels, keys and ports, with the messages of apimachinery.
//!
//! Each check returns the reasons that a value is invalid. A valid value has none.

/// The regular expression of an RFC 1123 label.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// Returns a message with the regular expression and examples.
fn expected(text: &str, examples: &str, format: &str) -> String {
    format!("{text} (e.g. {examples}, regex used for validation is '{format}')")
}

/// Returns the error for a text that is too long.
pub(crate) fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

/// Returns the error for a label that is too long. Its message differs from that of older checks.
fn too_many_bytes(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn is_label(value: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !value.is_empty()
        && value.bytes().all(inner)
        && !value.starts_with('-')
        && !value.ends_with('-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

/// Checks an RFC 1123 subdomain, which most kinds require as name.
pub(crate) fn subdomain(value: &str) -> Vec<String> {
    let text = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                '-' or '.', and must start and end with an alphanumeric character";
    let mut reasons = longer(value, 253);
    if !is_subdomain(value) {
        reasons.push(expected(text, "'example.com'", SUBDOMAIN));
    }
    reasons
}

/// Checks an RFC 1123 label, which is required for the names of namespaces, containers and volumes.
pub(crate) fn label(value: &str) -> Vec<String> {
    let text = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                '-', and must start and end with an alphanumeric character";
    let mut reasons = longer(value, 63);
    if !is_label(value) {
        reasons.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            expected(text, "'my-name',  or '123-abc'", LABEL)
        });
    }
    reasons
}

/// Checks an RFC 1035 label, which is required for the names of Services.
pub(crate) fn label_1035(value: &str) -> Vec<String> {
    let text = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
                with an alphabetic character, and end with an alphanumeric character";
    let mut reasons = longer(value, 63);
    if !is_label(value) || value.starts_with(|c: char| c.is_ascii_digit()) {
        let format = "[a-z]([-a-z0-9]*[a-z0-9])?";
        reasons.push(expected(text, "'my-name',  or 'abc-123'", format));
    }
    reasons
}

/// Checks a segment of a path. A prefix can be `.` or `..`.
pub(crate) fn path_segment(value: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    let held = |one: &&str| value.contains(*one);
    let held = ["/", "%"].into_iter().filter(held);
    held.map(|one| format!("may not contain '{one}'")).collect()
}

/// Checks a label key or a finalizer: a name with an optional prefix and slash.
pub(crate) fn qualified(value: &str) -> Vec<String> {
    let text = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                with an alphanumeric character";
    let examples = "'MyName',  or 'my.name',  or '123-abc'";
    let mut reasons = Vec::new();
    let name = match value.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                reasons.push("prefix part must be non-empty".to_owned());
            } else {
                let mut wrong = subdomain(prefix);
                if prefix.len() > 253 {
                    wrong[0] = too_many_bytes(253);
                }
                reasons.extend(wrong.iter().map(|reason| format!("prefix part {reason}")));
            }
            name
        }
        _ => {
            let text = expected(text, examples, QUALIFIED);
            return vec![format!(
                "a valid label key {text} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        reasons.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        reasons.push(format!("name part {}", too_many_bytes(63)));
    }
    if !is_qualified_name(name) {
        reasons.push(format!("name part {}", expected(text, examples, QUALIFIED)));
    }
    reasons
}

fn is_qualified_name(name: &str) -> bool {
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    let edge = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.iter().copied().all(inner) && edge(bytes.first()) && edge(bytes.last())
}

/// Checks the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let text = "a valid label must be an empty string or consist of alphanumeric characters, '-', \
                '_' or '.', and must start and end with an alphanumeric character";
    let mut reasons = Vec::new();
    if value.len() > 63 {
        reasons.push(too_many_bytes(63));
    }
    if !value.is_empty() && !is_qualified_name(value) {
        let examples = "'MyValue',  or 'my_value',  or '12345'";
        reasons.push(expected(text, examples, &format!("({QUALIFIED})?")));
    }
    reasons
}

/// Checks a key of a ConfigMap or Secret.
pub(crate) fn config_key(value: &str) -> Vec<String> {
    let text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    let mut reasons = longer(value, 253);
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(inner) {
        let examples = "'key.name',  or 'KEY_NAME',  or 'key-name'";
        reasons.push(expected(text, examples, "[-._a-zA-Z0-9]+"));
    }
    match value {
        "." | ".." => reasons.push(format!("must not be '{value}'")),
        _ if value.starts_with("..") => reasons.push("must not start with '..'".to_owned()),
        _ => {}
    }
    reasons
}

/// Checks the name of a port of a container or of a Service's target.
pub(crate) fn port_name(value: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if value.len() > 15 {
        reasons.push(too_long(15));
    }
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if !value.bytes().all(inner) {
        reasons.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !value.bytes().any(|c| c.is_ascii_lowercase()) {
        reasons.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        reasons.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        reasons.push("must not begin or end with a hyphen".to_owned());
    }
    reasons
}

/// Checks the number of a port.
pub(crate) fn port_number(value: i64) -> Vec<String> {
    if (1..=65535).contains(&value) {
        Vec::new()
    } else {
        vec!["must be between 1 and 65535, inclusive".to_owned()]
    }
}

/// Checks the name of an environment variable: printable ASCII without `=`.
pub(crate) fn env_name(value: &str) -> Vec<String> {
    let wrong = |c: char| !(' '..='~').contains(&c) || c == '=';
    if value.contains(wrong) || value.is_empty() {
        vec![
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .to_owned(),
        ]
    } else {
        Vec::new()
    }
}

fn longer(value: &str, most: usize) -> Vec<String> {
    if value.len() > most {
        vec![too_long(most)]
    } else {
        Vec::new()
    }
}
