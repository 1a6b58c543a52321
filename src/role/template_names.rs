//! Finds filters, tests and functions that a template uses and that do not exist. They are errors when the
//! role is loaded, and not only when a run executes them.
//!
//! The search reads tokens, not the syntax tree: the neighbors of a name determine its use. It ignores
//! methods, and functions whose name is also a variable of the template: only a run knows its value.

use std::collections::BTreeSet;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::{Environment, ErrorKind};

use crate::model::diagnostics::nearest;

/// Keywords that can precede a parenthesis.
const WORDS: [&str; 12] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "elif",
    "else",
    "for",
    "call",
    "set",
    "recursive",
];
/// Functions that exist only within certain blocks.
const LOCAL: [&str; 4] = ["caller", "loop", "super", "self"];

/// Filters that may have been meant: an environment does not say which it has.
pub(crate) const FILTERS: [&str; 61] = [
    "abs",
    "attr",
    "b64decode",
    "b64encode",
    "batch",
    "bool",
    "combine",
    "count",
    "default",
    "dict2items",
    "dictsort",
    "escape",
    "first",
    "float",
    "format",
    "from_json",
    "from_yaml",
    "from_yaml_all",
    "groupby",
    "hash",
    "indent",
    "int",
    "items",
    "items2dict",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "mandatory",
    "map",
    "max",
    "min",
    "nindent",
    "quote",
    "regex_replace",
    "regex_search",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "sort",
    "split",
    "string",
    "sum",
    "ternary",
    "title",
    "to_json",
    "to_nice_json",
    "to_nice_yaml",
    "to_yaml",
    "trim",
    "unique",
    "upper",
    "zip",
    "lines",
    "toJson",
    "toYaml",
];
/// Tests that may have been meant.
pub(crate) const TESTS: [&str; 18] = [
    "boolean",
    "defined",
    "eq",
    "even",
    "false",
    "float",
    "ge",
    "gt",
    "in",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "odd",
    "string",
    "true",
    "undefined",
];

/// A filter, test or function that does not exist.
#[derive(Debug)]
pub(super) struct UnknownName {
    /// The offset of its first byte.
    pub(super) offset: usize,
    /// `unknown filter "x"`
    pub(super) message: String,
    /// A similar name that exists.
    pub(super) near: Option<String>,
}

/// The names of a well-formed template that its environment does not know, in their order.
pub(super) fn unknown(environment: &Environment<'_>, text: &str) -> Vec<UnknownName> {
    let tokens = tokenize(text, false, environment.syntax().clone());
    let tokens: Vec<_> = tokens.map_while(Result::ok).collect();
    let scan = TokenScan {
        environment,
        text,
        tokens: &tokens,
    };
    (0..tokens.len()).filter_map(|at| scan.at(at)).collect()
}

struct TokenScan<'a> {
    environment: &'a Environment<'a>,
    text: &'a str,
    tokens: &'a [(Token<'a>, Span)],
}

impl TokenScan<'_> {
    fn at(&self, at: usize) -> Option<UnknownName> {
        let (Token::Ident(name), span) = &self.tokens[at] else {
            return None;
        };
        let offset = span.start_offset as usize;
        let what = match (self.before(at, 1), self.before(at, 2)) {
            (Some(Token::Pipe), _) | (Some(Token::Ident("filter")), Some(Token::BlockStart)) => {
                "filter"
            }
            (Some(Token::Ident("is")), _) if *name != "not" => "test",
            (Some(Token::Ident("not")), Some(Token::Ident("is"))) => "test",
            (Some(Token::Dot | Token::BlockStart), _) => return None,
            _ if self.is_call(at) && !WORDS.contains(name) => "function",
            _ => return None,
        };
        let dotted = self.dotted(at);
        if self.is_known(what, dotted) {
            return None;
        }
        Some(UnknownName {
            offset,
            message: format!("unknown {what} {dotted:?}"),
            near: match what {
                "filter" => nearest(dotted, &FILTERS).map(str::to_owned),
                "test" => nearest(dotted, &TESTS).map(str::to_owned),
                _ => self.near(name),
            },
        })
    }

    fn before(&self, at: usize, steps: usize) -> Option<&Token<'_>> {
        Some(&self.tokens.get(at.checked_sub(steps)?)?.0)
    }

    fn is_call(&self, at: usize) -> bool {
        matches!(self.tokens.get(at + 1), Some((Token::ParenOpen, _)))
    }

    /// The name with what dots add to it: names of filters and tests may have some.
    fn dotted(&self, at: usize) -> &str {
        let mut end = at;
        while let Some([(Token::Dot, _), (Token::Ident(_), _)]) = self.tokens.get(end + 1..end + 3)
        {
            end += 2;
        }
        let (start, end) = (
            self.tokens[at].1.start_offset,
            self.tokens[end].1.end_offset,
        );
        self.text
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    fn is_known(&self, what: &str, name: &str) -> bool {
        let mut state = self.environment.empty_state();
        // Called without arguments, which is an error, but another one.
        let refusal = match what {
            "filter" => state.apply_filter(name, &[]).err(),
            "test" => state.perform_test(name, &[]).err(),
            _ => return self.is_function(name),
        };
        let kind = refusal.map(|error| error.kind());
        !matches!(
            kind,
            Some(ErrorKind::UnknownFilter | ErrorKind::UnknownTest)
        )
    }

    fn is_function(&self, name: &str) -> bool {
        let global = self.environment.globals().any(|(known, _)| known == name);
        global || LOCAL.contains(&name) || self.own_names().contains(name)
    }

    /// Returns the macros of the template, and the names that it also uses as variables.
    fn own_names(&self) -> BTreeSet<&str> {
        let names = self.tokens.iter().enumerate();
        let names = names.filter_map(|(at, (token, _))| match token {
            Token::Ident(name) => {
                let defined = matches!(self.before(at, 1), Some(Token::Ident("macro")));
                let attribute = matches!(self.before(at, 1), Some(Token::Dot));
                (defined || !attribute && !self.is_call(at)).then_some(*name)
            }
            _ => None,
        });
        names.collect()
    }

    fn near(&self, name: &str) -> Option<String> {
        let own = self.own_names();
        let globals: Vec<_> = self.environment.globals().collect();
        let known = globals.iter().map(|(name, _)| *name).chain(own);
        nearest(name, &known.collect::<Vec<_>>()).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let environment = Environment::new();
        let unknown = unknown(&environment, text);
        unknown
            .iter()
            .map(|it| format!("{} {}", it.offset, it.message))
            .collect()
    }

    #[test]
    fn unknown_names_are_reported_with_their_position() {
        assert_eq!(found("{{ a | nosuch }}"), ["7 unknown filter \"nosuch\""]);
        assert_eq!(
            found("{{ a | upper | ansible.builtin.b64(x) }}"),
            ["15 unknown filter \"ansible.builtin.b64\""]
        );
        assert_eq!(
            found("{% filter nosuch %}{% endfilter %}"),
            ["10 unknown filter \"nosuch\""]
        );
        assert_eq!(
            found("{% if a is nosuch and b is not neither %}{% endif %}"),
            ["11 unknown test \"nosuch\"", "31 unknown test \"neither\""]
        );
        assert_eq!(
            found("{{ lookup('env', 'X') }}"),
            ["3 unknown function \"lookup\""]
        );
    }

    #[test]
    fn known_names_are_not_reported() {
        for text in [
            "{{ a | default('x') | upper }}{{ range(3) }}{{ dict(a=1) }}",
            "{% if (a) and not (b) or c in (1, 2) %}{% elif (a is defined) %}{% endif %}",
            "{% for x in (y) if (x) %}{{ loop.index }}{% endfor %}",
            "{% macro m(a) %}{{ caller() }}{% endmacro %}{{ m(1) }}{% call(x) m(2) %}{% endcall %}",
            "{% from 'other' import f, g as h %}{{ f() }}{{ h() }}",
            "{% import 'other' as other %}{{ other.f() }}{{ a.items() }}",
            "{% set f = other %}{{ f() }}",
            "{% raw %}{{ a | nosuch }}{% endraw %}{# b | nosuch #} | nosuch is nosuch f()",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_near_name_is_suggested() {
        let environment = Environment::new();
        for (text, near) in [
            ("{{ rnage(3) }}", "range"),
            ("{{ a | to_yml }}", "to_yaml"),
            ("{{ a | b64_encode }}", "b64encode"),
            ("{{ a is defind }}", "defined"),
        ] {
            let unknown = unknown(&environment, text);
            assert_eq!(unknown[0].near.as_deref(), Some(near), "{text}");
        }
    }
}
