//! Parts of a definition as messages show them: in the server's internal form.

use serde_json::Value;

use crate::error::{FieldError, FieldErrorKind};

/// `Invalid value: <value>: <why>` with a value that is JSON already. The order of its fields
/// counts, and so it is a part of the text.
pub(super) fn invalid(path: String, value: &str, why: &str) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path,
        value: None,
        detail: format!("{value}: {why}"),
    }
}

/// A rule of `x-kubernetes-validations`.
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

/// The versions of a definition. What they have in common stands above them in that form; what
/// they do not is left out here.
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

/// JSON as Go writes it: safe within HTML.
fn json(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
