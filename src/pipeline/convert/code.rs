//! Prints values, texts and tests as Rhai.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::tree::{Expression, Query, Test, TextPart, TextTemplate, Tree};

/// Returns a string literal.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(c));
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// Returns a key of a map literal.
fn key(name: &str) -> String {
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    if begins && letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        name.to_owned()
    } else {
        string(name)
    }
}

/// Returns a property: `.x`, or `["x y"]`.
pub(super) fn property(name: &str) -> String {
    match key(name) {
        quoted if quoted.starts_with('"') => format!("[{quoted}]"),
        plain => format!(".{plain}"),
    }
}

/// Returns a literal.
pub(super) fn value(given: &Value) -> String {
    match given {
        Value::Null => "()".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => list(items.iter().map(value)),
        Value::Object(map) => map_of(map.iter().map(|(name, item)| (&**name, value(item)))),
    }
}

/// Returns a list literal. A long one has a line for each item.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    braced("[", &items.collect::<Vec<_>>(), "]")
}

/// Returns a map literal. A long one has a line for each entry.
fn map(entries: impl Iterator<Item = String>) -> String {
    braced("#{", &entries.collect::<Vec<_>>(), "}")
}

fn braced(open: &str, items: &[String], close: &str) -> String {
    let line = format!("{open}{}{close}", items.join(", "));
    if line.len() <= 80 && !line.contains('\n') {
        return line;
    }
    let items = items.join(",\n").replace('\n', "\n    ");
    format!("{open}\n    {items},\n{close}")
}

/// Returns an expression as an operand.
pub(super) fn operand(expression: &Expression) -> String {
    let text = &expression.text;
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if text.chars().all(simple) {
        text.to_string()
    } else {
        format!("({text})")
    }
}

/// Returns the code of a text with slots.
pub(super) fn text(text: &TextTemplate) -> String {
    match text {
        TextTemplate::Constant(text) => string(text),
        TextTemplate::Parts(parts) => self::parts(parts),
    }
}

fn parts(parts: &[TextPart]) -> String {
    let literals = parts.iter().filter_map(|part| match part {
        TextPart::Literal(text) => Some(text),
        TextPart::Slot(_) => None,
    });
    let mut needs_quotes = literals.map(|text| text.contains(['`', '$']));
    if needs_quotes.any(|needs_quotes| needs_quotes) {
        let parts = parts.iter().map(|part| match part {
            TextPart::Literal(text) => string(text),
            TextPart::Slot(expression) => format!("`${{{}}}`", expression.text),
        });
        return parts.collect::<Vec<_>>().join(" + ");
    }
    let parts = parts.iter().map(|part| match part {
        TextPart::Literal(text) => text.to_string(),
        TextPart::Slot(expression) => format!("${{{}}}", expression.text),
    });
    format!("`{}`", parts.collect::<String>())
}

/// Returns the code of a value with slots.
pub(super) fn tree(tree: &Tree) -> String {
    match tree {
        Tree::Constant(value) => self::value(value),
        Tree::Slot(expression) => operand(expression),
        Tree::Text(parts) => self::parts(parts),
        Tree::List(items) => list(items.iter().map(self::tree)),
        Tree::Map(entries) => self::entries(entries, &mut |_, tree| self::tree(tree)),
    }
}

/// Returns the code of a map with slots. `code` returns that of an entry, given its name if it is constant.
pub(super) fn entries(
    entries: &[(TextTemplate, Tree)],
    code: &mut dyn FnMut(Option<&str>, &Tree) -> String,
) -> String {
    let constant = entries.iter().filter_map(|(name, tree)| {
        let name = name.constant()?;
        Some((name, code(Some(name), tree)))
    });
    let constant = map_of(constant);
    let computed = entries.iter().filter(|(name, _)| name.constant().is_none());
    let computed: Vec<_> = computed
        .map(|(name, tree)| format!("map[{}] = {};", text(name), code(None, tree)))
        .collect();
    if computed.is_empty() {
        return constant;
    }
    format!("{{ let map = {constant}; {} map }}", computed.join(" "))
}

/// Returns a map literal of names and code.
pub(super) fn map_of<'a>(entries: impl Iterator<Item = (&'a str, String)>) -> String {
    map(entries.map(|(name, code)| format!("{}: {code}", key(name))))
}

/// Returns a map of variables; `first` are entries that are code already.
pub(super) fn variables(first: &[(&str, &str)], variables: &[(Arc<str>, Tree)]) -> String {
    let first = first.iter().map(|(name, code)| (*name, (*code).to_owned()));
    let variables = variables.iter();
    map_of(first.chain(variables.map(|(name, tree)| (&**name, self::tree(tree)))))
}

/// Returns the code of the array that a query selects from `root`, or from a map of `all` variables.
pub(super) fn query(query: &Query, root: Option<&str>, all: &[&str]) -> String {
    let (root, path) = match (root, &query.variable) {
        (Some(root), _) => (root.to_owned(), &query.text),
        (None, Some((variable, path))) => (variable.to_string(), path),
        (None, None) => {
            let all = all.iter().map(|name| (*name, (*name).to_owned()));
            (map_of(all), &query.text)
        }
    };
    format!("jsonpath({root}, {})", string(path))
}

/// Returns a condition; `root` and `all` as for [`query`].
pub(super) fn test(test: &Test, root: Option<&str>, all: &[&str]) -> String {
    match test {
        Test::Constant(flag) => flag.to_string(),
        Test::Expression(expression) => expression.text.to_string(),
        Test::Query(query) => {
            let found = self::query(query, root, all);
            format!("{found}.some(|found| found != () && found != false)")
        }
    }
}
