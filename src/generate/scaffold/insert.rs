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

/// Appends rules to a text whose last document is a cluster role, which must end with its rules. Returns `None` if it
/// does not.
pub(crate) fn append_rules(text: &str, rules: &str) -> Option<String> {
    append(text, rules, |text| {
        let documents = yaml::parse_all(text).ok()?;
        documents.last()?["rules"].as_array().map(Vec::len)
    })
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

/// Adds a file to the resources of a kustomization, which are a block list. Returns `None` if they are not, and the
/// text itself if they contain the file.
pub(crate) fn insert_resource(text: &str, file: &str) -> Option<String> {
    let is_listed = |text: &str| {
        let value = yaml::parse(text).ok()?;
        let files = value["resources"].as_array()?;
        Some(files.iter().any(|item| item == file))
    };
    if is_listed(text)? {
        return Some(text.to_owned());
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let start = lines
        .iter()
        .position(|line| line.trim_end() == "resources:")?;
    let is_item = |line: &&str| line.trim_start().starts_with("- ");
    let below = lines[start + 1..].iter();
    let last = start
        + 1
        + below
            .take_while(|line| is_item(line) || is_comment(line))
            .count();
    let first_item = lines[start + 1..last].iter().find(|line| is_item(line));
    let indent = first_item.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let item = format!("{indent}- {file}");
    lines.insert(last, &item);
    let result = lines.join("\n") + "\n";
    is_listed(&result)?.then_some(result)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}
