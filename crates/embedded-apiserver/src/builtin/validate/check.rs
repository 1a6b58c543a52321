//! Checks that many kinds share.

use serde_json::{Value, json};

use super::super::metadata::immutable;
use super::super::path::{at, items, text};
use crate::error::{FieldError, FieldErrorKind};
use crate::names;

/// The errors of a validation.
pub(crate) type Errors = Vec<FieldError>;

/// Joins two parts of a path: `a.b`, or `b` if the first part is empty.
pub(crate) fn join(base: &str, field: &str) -> String {
    if base.is_empty() {
        field.to_owned()
    } else {
        format!("{base}.{field}")
    }
}

/// Checks that numbers are not negative.
pub(super) fn not_negative(errors: &mut Errors, object: &Value, base: &str, fields: &[&str]) {
    for field in fields {
        let value = &object[*field];
        if value.as_i64().is_some_and(|number| number < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(
                join(base, field),
                value.clone(),
                detail,
            ));
        }
    }
}

/// Checks that a text is one of several options. Ignores a missing text.
pub(crate) fn one_of(errors: &mut Errors, path: String, value: &Value, options: &[&str]) {
    if let Some(text) = value.as_str()
        && !options.contains(&text)
    {
        errors.push(FieldError::not_supported(path, text, options));
    }
}

/// Adds an error for each reason.
pub(super) fn each(errors: &mut Errors, path: &str, value: &str, reasons: Vec<String>) {
    let error = |reason| FieldError::invalid(path, value, reason);
    errors.extend(reasons.into_iter().map(error));
}

/// Checks that a name is set and satisfies a rule.
pub(super) fn name(
    errors: &mut Errors,
    path: String,
    value: &str,
    rule: impl Fn(&str) -> Vec<String>,
) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else {
        each(errors, &path, value, rule(value));
    }
}

/// Checks that a text is set.
pub(crate) fn required(errors: &mut Errors, object: &Value, base: &str, field: &str) {
    if text(object, &[field]).is_empty() {
        errors.push(FieldError::required(join(base, field), ""));
    }
}

/// Checks a port: a number within bounds, or a name.
pub(super) fn port(errors: &mut Errors, path: &str, value: &Value) {
    match value {
        Value::String(name) => each(errors, path, name, names::port_name(name)),
        Value::Number(number) => {
            let reasons = names::port_number(number.as_i64().unwrap_or_default());
            let error = |reason| FieldError::invalid(path, value.clone(), reason);
            errors.extend(reasons.into_iter().map(error));
        }
        _ => {}
    }
}

/// Checks that a field does not change.
pub(super) fn unchanged(errors: &mut Errors, object: &Value, old: &Value, path: &[&str]) {
    let new = at(object, path);
    if new != at(old, path) {
        errors.push(immutable(path.join("."), new.clone()));
    }
}

/// Returns the index and the name of each item whose name an earlier item has.
pub(super) fn duplicates<'a>(list: &'a Value, field: &str) -> Vec<(usize, &'a str)> {
    let mut seen = std::collections::HashSet::new();
    let mut again = Vec::new();
    for (at, item) in items(list).iter().enumerate() {
        let name = text(item, &[field]);
        if !name.is_empty() && !seen.insert(name) {
            again.push((at, name));
        }
    }
    again
}

/// Checks that the names of the items of a list are unique.
pub(super) fn unique_names(errors: &mut Errors, list: &Value, path: &str) {
    for (at, name) in duplicates(list, "name") {
        errors.push(FieldError::duplicate(format!("{path}[{at}].name"), name));
    }
}

/// Checks the protocol of a port.
pub(super) fn protocol(errors: &mut Errors, path: &str, port: &Value) {
    let path = join(path, "protocol");
    one_of(errors, path, &port["protocol"], &["SCTP", "TCP", "UDP"]);
}

/// Checks an absolute number, or a percentage of at most 100%.
pub(super) fn int_or_percent(errors: &mut Errors, path: &str, value: &Value, most: Option<i64>) {
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(path, value.clone(), detail));
        }
        Value::String(text) => match (percent(text), most) {
            (None, _) => {
                let detail = "a valid percent string must be a numeric string followed by an \
                              ending '%' (e.g. '1%',  or '93%', regex used for validation is \
                              '[0-9]+%')";
                errors.push(FieldError::invalid(path, value.clone(), detail));
            }
            (Some(percent), Some(most)) if percent > most => {
                let detail = format!("must not be greater than {most}%");
                errors.push(FieldError::invalid(path, value.clone(), detail));
            }
            _ => {}
        },
        _ => {}
    }
}

/// Parses the number of a percentage such as `25%`.
fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let all = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Returns whether a number or percentage is zero.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::String(text) => percent(text) == Some(0),
        other => *other == json!(0),
    }
}

/// Formats an update strategy like Go.
pub(super) fn strategy(kind: &str) -> String {
    format!("{{\"Type\":{},\"RollingUpdate\":null}}", json!(kind))
}

/// Returns the error `Not found: "x"`.
pub(super) fn not_found(path: String, value: &str) -> FieldError {
    FieldError::new(FieldErrorKind::NotFound, path, value, "")
}

/// Checks an IP address.
pub(super) fn address(errors: &mut Errors, path: String, value: &str) {
    if value.parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(path, value, detail));
    }
}

/// Checks a network such as `10.9.8.0/24`.
pub(super) fn network(errors: &mut Errors, path: String, value: &str) {
    let good = value.split_once('/').is_some_and(|(address, bits)| {
        let most = if address.contains(':') { 128 } else { 32 };
        let bits = bits.parse::<u8>();
        address.parse::<std::net::IpAddr>().is_ok() && bits.is_ok_and(|bits| bits <= most)
    });
    if !good {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        errors.push(FieldError::invalid(path, value, detail));
    }
}
