//! Formats parts of a definition for messages, which show them in the internal form of the real server.

use serde_json::Value;

use crate::error::{FieldError, FieldErrorKind};

/// Returns an error `Invalid value: <value>: <why>` for a value that is already formatted as JSON. The value
/// is a text because the order of its fields matters.
pub(super) fn invalid(path: String, value: &str, why: &str) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path,
        value: None,
        detail: format!("{value}: {why}"),
    }
}

/// Formats a rule of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    let text = |key: &str| json(&rule[key].as_str().unwrap_or_default().into());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\
         \"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        json(&rule["reason"]),
        text("fieldPath"),
        json(&rule["optionalOldSelf"]),
    )
}

/// Formats the versions of a definition. In the internal form, the parts that all versions share belong to
/// the definition. The parts that differ are omitted here.
pub(super) fn versions(versions: &Value) -> String {
    let Value::Array(all) = versions else {
        return "null".to_owned();
    };
    let one = |version: &Value| {
        let flag = |key: &str| version[key].as_bool().unwrap_or(false);
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\
             \"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\
             \"SelectableFields\":null}}",
            json(&version["name"].as_str().unwrap_or_default().into()),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
            json(&version["deprecationWarning"]),
        )
    };
    format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
}

/// Formats JSON like Go: escapes the characters that are special in HTML.
fn json(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
