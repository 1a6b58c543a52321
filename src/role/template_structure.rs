//! Finds where a role seems to take the structure of YAML from data, which `template_objects` refuses, or
//! where data stays unprotected, as with `template`.
//!
//! Heuristics over tokens and lines. Of a `{{ }}` that stands alone on its line (outside of block
//! scalars), one expects several lines of YAML; they are structure only if a filter of [`STRUCTURE`], a
//! macro or a variable that the template itself renders made them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use regex::Regex;

/// Filters that make structure of their values.
const STRUCTURE: [&str; 9] = [
    "to_yaml",
    "to_nice_yaml",
    "toYaml",
    "toyaml",
    "to_json",
    "to_nice_json",
    "toJson",
    "tojson",
    "safe",
];

/// A warning at a place of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The offset of its first byte.
    pub(super) offset: usize,
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
}

/// Returns whether a template renders YAML, by its name.
pub(super) fn is_yaml(name: &str) -> bool {
    let name = name.strip_suffix(".j2").unwrap_or(name);
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// Finds the places of a well-formed YAML template at which data seems to be meant as structure.
pub(super) fn in_template(text: &str, syntax: &SyntaxConfig) -> Vec<Finding> {
    let tokens = tokenize(text, false, syntax.clone());
    let tokens: Vec<_> = tokens.map_while(Result::ok).collect();
    let rendered = rendered_names(&tokens);
    let blocks = block_scalars(text);
    let mut findings = Vec::new();
    let mut at = 0;
    while let Some(length) = tokens[at..]
        .iter()
        .position(|(token, _)| matches!(token, Token::VariableEnd))
    {
        let whole = &tokens[at..=at + length];
        at += length + 1;
        let start = whole
            .iter()
            .rposition(|(token, _)| matches!(token, Token::VariableStart));
        let value = Substitution {
            text,
            tokens: &whole[start.unwrap_or_default()..],
        };
        findings.extend(value.finding(&rendered, &blocks));
    }
    findings
}

/// Returns the variables whose value the template itself renders: `{% set x %}…{% endset %}`.
fn rendered_names<'a>(tokens: &[(Token<'a>, Span)]) -> BTreeSet<&'a str> {
    let names = tokens.windows(4).filter_map(|window| match window {
        [
            (Token::BlockStart, _),
            (Token::Ident("set"), _),
            (Token::Ident(name), _),
            (Token::BlockEnd | Token::Pipe, _),
        ] => Some(*name),
        _ => None,
    });
    names.collect()
}

/// For each line whether it is in a block scalar, as far as the template shows.
fn block_scalars(text: &str) -> Vec<bool> {
    static HEADER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(^|[:\-?\s])\s*[|>][-+0-9]*\s*(#.*)?$").ok());
    let mut within = None;
    let lines = text.lines().map(|line| {
        let trimmed = line.trim();
        let indentation = line.len() - line.trim_start().len();
        let is_tag = trimmed.starts_with("{%") && trimmed.ends_with("%}");
        // `{{ text | indent(4, true) }}` begins where it likes.
        let is_indented = trimmed.starts_with("{{") && trimmed.contains("indent");
        if let Some(parent) = within
            && !trimmed.is_empty()
            && !is_tag
            && !is_indented
            && indentation <= parent
        {
            within = None;
        }
        let is_in = within.is_some();
        if !is_in && HEADER.as_ref().is_some_and(|it| it.is_match(trimmed)) {
            within = Some(indentation);
        }
        is_in
    });
    lines.collect()
}

/// A `{{ }}` of a template.
struct Substitution<'a> {
    text: &'a str,
    tokens: &'a [(Token<'a>, Span)],
}

impl Substitution<'_> {
    fn finding(&self, rendered: &BTreeSet<&str>, blocks: &[bool]) -> Option<Finding> {
        let (first, last) = (self.tokens.first()?, self.tokens.last()?);
        let offset = first.1.start_offset as usize;
        let (before, rest) = self.text.split_at_checked(offset)?;
        let line = before.matches('\n').count();
        if blocks.get(line).copied().unwrap_or_default() {
            return None;
        }
        let before = before.rsplit('\n').next().unwrap_or_default();
        let length = last.1.end_offset as usize - offset;
        let after = rest.get(length..)?.lines().next().unwrap_or_default();
        let is_alone = before.trim().is_empty() && after.trim().is_empty();
        let is_structure = self.has_filter(&STRUCTURE) || self.is_rendered(rendered);
        let is_indented = self.has_filter(&["indent", "nindent"]);
        let is_lines = self.has_filter(&["nindent"])
            && !before.trim_end_matches(['-', '+']).ends_with(['|', '>']);
        if !is_structure && (is_alone && !self.is_in_brackets(offset) || is_lines) {
            return Some(Finding {
                offset,
                message: "a string is inserted as one value here, also if it has several lines",
                hint: "end with `to_yaml` for data, or with `safe` for a text that is YAML",
            });
        }
        let writes_lines = self.has_filter(&["to_yaml", "to_nice_yaml", "toYaml", "toyaml"]);
        (is_alone && writes_lines && !is_indented && !before.is_empty()).then_some(Finding {
            offset,
            message: "lines after the first are not indented",
            hint: "add `| indent(…)`",
        })
    }

    fn has_filter(&self, names: &[&str]) -> bool {
        self.tokens.windows(2).any(|window| match window {
            [(Token::Pipe, _), (Token::Ident(name), _)] => names.contains(name),
            _ => false,
        })
    }

    /// A call, as of a macro, or a variable that the template renders.
    fn is_rendered(&self, rendered: &BTreeSet<&str>) -> bool {
        let mut tokens = self.tokens.iter().map(|(token, _)| token).skip(1);
        let Some(Token::Ident(name)) = tokens.next() else {
            return false;
        };
        let next = tokens.find(|token| !matches!(token, Token::Dot | Token::Ident(_)));
        rendered.contains(name) || matches!(next, Some(Token::ParenOpen))
    }

    /// Returns true if the offset is within a list or map in brackets that began on an earlier line.
    fn is_in_brackets(&self, offset: usize) -> bool {
        let before = self.text.get(..offset).unwrap_or_default().trim_end();
        before.ends_with(['[', '{', ','])
    }
}

/// Finds calls of `template` with the name of a YAML template, in a script or in steps.
pub(super) fn in_script(text: &str) -> Vec<Finding> {
    static CALL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?m)^.*?\b(template\s*\(\s*["'`]([^"'`\n]+)["'`])"#).ok());
    let calls = CALL.iter().flat_map(|call| call.captures_iter(text));
    let findings = calls.filter_map(|call| {
        let (whole, call, name) = (call.get(0)?, call.get(1)?, call.get(2)?);
        let before = &text[whole.start()..call.start()];
        let is_comment = before.contains("//") || before.trim_start().starts_with('#');
        (is_yaml(name.as_str()) && !is_comment).then_some(Finding {
            offset: call.start(),
            message: "`template` writes data into YAML as it is: it may change the structure",
            hint: "use `template_objects`, and `to_yaml` of its objects for a text",
        })
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the findings, with the first words.
    fn found(text: &str) -> Vec<usize> {
        let findings = in_template(text, &SyntaxConfig::default());
        let lines = findings
            .iter()
            .map(|it| text[..it.offset].matches('\n').count() + 1);
        lines.collect()
    }

    #[test]
    fn data_alone_on_a_line_is_found() {
        for text in [
            "a:\n  {{ labels }}\n",
            "a:\n  {{- labels | indent(2) }}\n",
            "a: 1\n{{ labels | default('') | indent(2, true) }}\n",
            "a:\n  b:{{ labels | nindent(4) }}\n",
            "a: |\n  text\nb:\n  {{ labels }}\n",
            "a:\n  {{ labels | to_yaml }}\n",
            "{% if x %}\na:\n  {{ extra }}\n{% endif %}\n",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
        assert_eq!(
            found("a: 1\nb:\n  {{ c }}\nd: {{ e }}\n  {{ f }}\n"),
            [3, 5]
        );
    }

    #[test]
    fn structure_and_text_are_not() {
        for text in [
            "a: {{ b }}\nc: {{ d }}-{{ e }}\n- {{ f }}\n{{ g }}: 1\n",
            "a:\n  {{ b | to_yaml | indent(2) }}\n  {{ b | to_json }}\n{{ c | safe }}\n",
            "a:{{ b | toYaml | nindent(2) }}\n",
            "a:\n  {{ labels() | indent(2) }}\n  {{ other.labels(1, b) }}\n",
            "{% set l %}a: 1\n{% endset %}\nb:\n  {{ l | indent(2) }}\n",
            "a: |\n  {{ b | indent(2) }}\n  c\n\n  {{ d }}\n",
            "a: |-\n{{ b | indent(2, true) }}\n  {{ c }}\n",
            "- >+\n  {{ b }}\n",
            "a: |{{ b | nindent(2) }}\nc: |-{{ d | nindent(2) }}\n",
            "a: [\n  {{ b }},\n  {{ c }}\n]\n",
            "{{ to_yaml(a) }}\n",
            "{# {{ a }} #}{% raw %}\n{{ b }}\n{% endraw %}\n",
        ] {
            assert_eq!(found(text), [0; 0], "{text}");
        }
    }

    #[test]
    fn text_of_a_yaml_template_in_a_script_is_found() {
        let script = "k8s_apply(template(\"a.yaml\"));\n// template(\"b.yaml\")\n\
            let t = template( `c.yml.j2`, #{});\ntemplate_objects(\"d.yaml\");\ntemplate(\"e.conf\");\n";
        let findings = in_script(script);
        let lines: Vec<_> = findings
            .iter()
            .map(|it| script[..it.offset].matches('\n').count() + 1)
            .collect();
        assert_eq!(lines, [1, 3]);
    }
}
