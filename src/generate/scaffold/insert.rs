//! Adds entries to files of a project that users edit. Comments and the order of a file stay.

use crate::model::yaml;

/// Appends an entry to the text of watches.yaml. Returns `None` if the file does not contain a list.
pub(crate) fn append_watch(text: &str, entry: &str) -> Option<String> {
    let value = yaml::parse(text).ok()?;
    let is_empty = match &value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(items) => items.is_empty(),
        _ => return None,
    };
    if !is_empty {
        return append(text, &format!("\n{entry}"), watches);
    }
    let without_list: String = text
        .split_inclusive('\n')
        .filter(|line| line.trim() != "[]")
        .collect();
    append(&without_list, entry, watches)
}

/// Returns the number of watches in the text of watches.yaml.
fn watches(text: &str) -> Option<usize> {
    match yaml::parse(text).ok()? {
        serde_json::Value::Null => Some(0),
        value => value.as_array().map(Vec::len),
    }
}

/// Appends a text to a file, if the list in it gets longer by that.
fn append(text: &str, more: &str, length: impl Fn(&str) -> Option<usize>) -> Option<String> {
    let before = length(text)?;
    let separator = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let result = format!("{text}{separator}{more}");
    let after = length(&result)?;
    (after > before).then_some(result)
}
