//! Values, texts and tests as Rhai.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::role::pipeline::{Expression, Part, Query, Test, Text, Tree};

/// A string literal.
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

/// A key of a map literal.
fn key(name: &str) -> String {
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    if begins && letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        name.to_owned()
    } else {
        string(name)
    }
}

/// A property: `.x`, or `["x y"]`.
pub(super) fn property(name: &str) -> String {
    match key(name) {
        quoted if quoted.starts_with('"') => format!("[{quoted}]"),
        plain => format!(".{plain}"),
    }
}

/// A literal of a value.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "()".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => list(items.iter().map(self::value)),
        Value::Object(map) => {
            let entries = map.iter();
            self::map(entries.map(|(name, item)| format!("{}: {}", key(name), self::value(item))))
        }
    }
}

/// A list literal; a long one has a line for each item.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    braced("[", &items.collect::<Vec<_>>(), "]")
}

/// A map literal of entries; a long one has a line for each.
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

/// An expression as an operand.
pub(super) fn operand(expression: &Expression) -> String {
    let text = &expression.text;
    let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if text.chars().all(simple) {
        text.to_string()
    } else {
        format!("({text})")
    }
}

/// A text with slots.
pub(super) fn text(text: &Text) -> String {
    match text {
        Text::Constant(text) => string(text),
        Text::Parts(parts) => self::parts(parts),
    }
}

fn parts(parts: &[Part]) -> String {
    let literals = parts.iter().filter_map(|part| match part {
        Part::Literal(text) => Some(text),
        Part::Slot(_) => None,
    });
    let mut literals = literals.map(|text| text.contains(['`', '$']));
    if literals.any(|odd| odd) {
        let parts = parts.iter().map(|part| match part {
            Part::Literal(text) => string(text),
            Part::Slot(expression) => format!("`${{{}}}`", expression.text),
        });
        return parts.collect::<Vec<_>>().join(" + ");
    }
    let parts = parts.iter().map(|part| match part {
        Part::Literal(text) => text.to_string(),
        Part::Slot(expression) => format!("${{{}}}", expression.text),
    });
    format!("`{}`", parts.collect::<String>())
}

/// A value with slots.
pub(super) fn tree(tree: &Tree) -> String {
    in_object(tree, &[])
}

/// A value with slots; `texts` are the ways to maps in it that hold nothing but texts.
pub(super) fn in_object(tree: &Tree, texts: &[&[&str]]) -> String {
    match tree {
        Tree::Constant(value) => self::value(value),
        Tree::Slot(expression) => operand(expression),
        Tree::Text(parts) => self::parts(parts),
        Tree::List(items) => list(items.iter().map(self::tree)),
        Tree::Map(entries) => self::entries(entries, |name, tree| {
            let ways = texts.iter().filter_map(|way| way.split_first());
            let below = ways.filter(|(first, _)| Some(**first) == name);
            let below: Vec<&[&str]> = below.map(|(_, rest)| rest).collect();
            if below.contains(&&[][..]) {
                map_of_texts(tree)
            } else {
                in_object(tree, &below)
            }
        }),
    }
}

/// A map of texts: a number or a bool in it is meant as its text.
fn map_of_texts(tree: &Tree) -> String {
    let Tree::Map(entries) = tree else {
        return self::tree(tree);
    };
    self::entries(entries, |_, tree| match tree {
        Tree::Slot(expression) => format!("text({})", expression.text),
        other => self::tree(other),
    })
}

fn entries(entries: &[(Text, Tree)], code: impl Fn(Option<&str>, &Tree) -> String) -> String {
    let fixed = entries.iter().filter_map(|(name, tree)| {
        let name = name.constant()?;
        Some(format!("{}: {}", key(name), code(Some(name), tree)))
    });
    let fixed = map(fixed);
    let computed = entries.iter().filter(|(name, _)| name.constant().is_none());
    let computed: Vec<_> = computed
        .map(|(name, tree)| format!("map[{}] = {};", text(name), code(None, tree)))
        .collect();
    if computed.is_empty() {
        return fixed;
    }
    format!("{{ let map = {fixed}; {} map }}", computed.join(" "))
}

/// Variables as a map, after some that are code already.
pub(super) fn variables(first: &[(&str, &str)], variables: &[(Arc<str>, Tree)]) -> String {
    let first = first.iter();
    let first = first.map(|(name, code)| format!("{}: {code}", key(name)));
    let variables = variables.iter();
    let variables = variables.map(|(name, tree)| format!("{}: {}", key(name), self::tree(tree)));
    map(first.chain(variables))
}

/// What a query selects, as an array.
pub(super) fn query(query: &Query, root: Option<&str>) -> String {
    let (root, path) = match (root, &query.variable) {
        (Some(root), _) => (root.to_owned(), &query.text),
        (None, Some((variable, path))) => (variable.to_string(), path),
        (None, None) => {
            let names = [
                "cr",
                "spec",
                "status",
                "meta",
                "vars",
                "finalizing",
                "reason",
            ];
            let names = names.iter().chain(&["results"]);
            let all = map(names.map(|name| format!("{name}: {name}")));
            (all, &query.text)
        }
    };
    format!("jsonpath({root}, {})", string(path))
}

/// A condition; `root` is what a query is asked of, if not the variables.
pub(super) fn test(test: &Test, root: Option<&str>) -> String {
    match test {
        Test::Constant(flag) => flag.to_string(),
        Test::Expression(expression) => expression.text.to_string(),
        Test::Query(query) => {
            let found = self::query(query, root);
            format!("{found}.some(|found| found != () && found != false)")
        }
    }
}

/// Conditions that all have to hold.
pub(super) fn all(tests: &[Test]) -> String {
    match tests {
        [one] => test(one, None),
        tests => {
            let tests = tests.iter().map(|one| format!("({})", test(one, None)));
            tests.collect::<Vec<_>>().join(" && ")
        }
    }
}
