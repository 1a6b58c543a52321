//! Substitutes `${NAME}` and `${NAME:-default}` in the strings of a tree; `$$` is a dollar.
//!
//! A string that consists of one substitution can be read as another scalar ([`Content::Substituted`]).
//! Substituted text is not substituted again. Keys stay unchanged.

use super::Environment;
use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::{Content, Node, Position, read_scalar};

/// Substitutes in all strings below a node. A string with an error becomes [`Content::Unknown`].
pub(super) fn substitute(node: Node, environment: &Environment, findings: &Diagnostics) -> Node {
    let below = |node| substitute(node, environment, findings);
    let content = match node.content {
        Content::String(text) => {
            let known = Substitution {
                environment,
                findings,
                at: node.position,
            };
            known.content(text)
        }
        Content::List(items) => Content::List(items.into_iter().map(below).collect()),
        Content::Map(entries) => {
            let entries = entries.into_iter();
            Content::Map(entries.map(|(key, value)| (key, below(value))).collect())
        }
        content => content,
    };
    Node { content, ..node }
}

struct Substitution<'a> {
    environment: &'a Environment,
    findings: &'a Diagnostics,
    at: Position,
}

impl Substitution<'_> {
    fn content(&self, text: String) -> Content {
        if !text.contains('$') {
            return Content::String(text);
        }
        let mut result = String::with_capacity(text.len());
        let mut failed = false;
        let mut whole = false;
        let mut rest = text.as_str();
        while let Some(dollar) = rest.find('$') {
            result.push_str(&rest[..dollar]);
            let after = &rest[dollar + 1..];
            if let Some(after) = after.strip_prefix('$') {
                result.push('$');
                rest = after;
            } else if let Some(reference) = after.strip_prefix('{') {
                let Some((reference, after)) = reference.split_once('}') else {
                    self.error(
                        "`${` is not closed",
                        "add the missing }, or write $$ for a dollar",
                    );
                    return Content::Unknown;
                };
                whole = reference.len() + 3 == text.len();
                match self.value(reference) {
                    Some(value) => result.push_str(value),
                    None => failed = true,
                }
                rest = after;
            } else {
                self.note_bare_variable(after);
                result.push('$');
                rest = after;
            }
        }
        result.push_str(rest);
        match (failed, whole) {
            (true, _) => Content::Unknown,
            (false, true) => Content::Substituted {
                read: Box::new(read_scalar(&result)),
                text: result,
            },
            (false, false) => Content::String(result),
        }
    }

    /// Returns the value of `NAME` or `NAME:-default`.
    fn value<'v>(&'v self, reference: &'v str) -> Option<&'v str> {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_name(name) {
            let message =
                format!("expected ${{NAME}} or ${{NAME:-default}}, found ${{{reference}}}");
            self.error(&message, "write $$ for a dollar");
            return None;
        }
        let set = self.environment.get(name);
        let value = match default {
            Some(default) => set.filter(|value| !value.is_empty()).or(Some(default)),
            None => set,
        };
        if value.is_none() {
            let message = format!("the environment variable {name} is not set");
            let hint = format!("set it, or write ${{{name}:-default}}");
            self.error(&message, &hint);
        }
        value
    }

    /// Notes a `$NAME`, which the Ansible operator substitutes too.
    fn note_bare_variable(&self, after: &str) {
        let end = after
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(after.len());
        let name = &after[..end];
        if is_name(name) {
            let message = format!("${name} is plain text; the Ansible operator substitutes it");
            let hint = format!("write ${{{name}}} for the variable, or $${name} for the text");
            self.findings.note(self.at, message, hint);
        }
    }

    fn error(&self, message: &str, hint: &str) {
        self.findings.error(self.at, message, hint);
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::yaml::parse_positioned;

    fn run(text: &str) -> (Value, Vec<String>) {
        let environment = [
            ("NAME", "web"),
            ("N", "5"),
            ("ON", "yes"),
            ("EMPTY", ""),
            ("LIST", "[a]"),
        ];
        let findings = Diagnostics::new("f");
        let node = parse_positioned(text).unwrap();
        let node = substitute(node, &environment.into_iter().collect(), &findings);
        let problems = findings.into_vec();
        (
            node.to_value(),
            problems.iter().map(ToString::to_string).collect(),
        )
    }

    #[track_caller]
    fn gives(text: &str, expected: Value) {
        assert_eq!(run(text), (expected, vec![]), "{text}");
    }

    #[test]
    fn a_variable_is_substituted_in_text() {
        gives("a-${NAME}-b", json!("a-web-b"));
        gives("${NAME}${N}", json!("web5"));
        gives("{a: ['x ${NAME}']}", json!({"a": ["x web"]}));
    }

    #[test]
    fn a_whole_substitution_is_read_as_a_scalar() {
        gives("${N}", json!(5));
        gives("'${ON}'", json!(true));
        gives("${LIST}", json!("[a]"));
        gives("${EMPTY}", json!(null));
        gives("${NO:-1.5}", json!(1.5));
        gives("x${N}", json!("x5"));
    }

    #[test]
    fn a_default_replaces_an_unset_or_empty_variable() {
        gives("a${NO:-b}", json!("ab"));
        gives("a${EMPTY:-b}", json!("ab"));
        gives("a${NAME:-b}", json!("aweb"));
        gives("a${NO:-}", json!("a"));
        gives("a${EMPTY}", json!("a"));
    }

    #[test]
    fn two_dollars_are_one() {
        gives("$${NAME} costs 5$", json!("${NAME} costs 5$"));
        gives("$$$$", json!("$$"));
    }

    #[test]
    fn keys_are_left_alone() {
        gives("{'${NAME}': 1}", json!({"${NAME}": 1}));
    }

    #[test]
    fn every_unset_variable_is_reported() {
        let (_, problems) = run("a: ${NO}-${NOT}\nb: ${1}\nc: ${open");
        assert_eq!(
            problems,
            [
                "f:1:4: error: the environment variable NO is not set\n  hint: set it, or write ${NO:-default}",
                "f:1:4: error: the environment variable NOT is not set\n  hint: set it, or write ${NOT:-default}",
                "f:2:4: error: expected ${NAME} or ${NAME:-default}, found ${1}\n  hint: write $$ for a dollar",
                "f:3:4: error: `${` is not closed\n  hint: add the missing }, or write $$ for a dollar",
            ]
        );
    }

    #[test]
    fn a_bare_variable_is_a_note() {
        let (value, problems) = run("a $NAME b");
        assert_eq!(value, json!("a $NAME b"));
        assert!(
            problems[0].starts_with("f:1:1: note: $NAME is plain text"),
            "{problems:?}"
        );
    }
}
