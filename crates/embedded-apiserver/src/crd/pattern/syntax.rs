//! Translates regular expressions from the syntax of Go to that of the `regex` crate.
//!
//! <https://github.com/google/re2/wiki/Syntax>
//! Go's syntax differs from that of the `regex` crate in rare cases: classes such as `\d` are ASCII, and a
//! bracket in a class and a brace that is not a repetition are literal.

use std::iter::Peekable;
use std::str::Chars;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, RepetitionKind, RepetitionRange};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::Translator;

/// The maximum count of a repetition, and the maximum product of the counts of nested repetitions.
/// <https://pkg.go.dev/regexp/syntax>
const MAX_REPEATS: u32 = 1000;

/// An expression in the syntax of the `regex` crate, and its tree.
pub(super) struct Translated {
    pub(super) text: String,
    pub(super) tree: Hir,
}

/// Translates an expression. Errors have Go's message where it is known.
pub(super) fn translate(source: &str) -> Result<Translated, String> {
    let text = translated(source);
    let fail = |why: String| format!("error parsing regexp: {why}");
    let tree = Parser::new().parse(&text).map_err(|error| {
        fail(match error.kind() {
            ast::ErrorKind::RepetitionCountInvalid => invalid_count(&text, error.span()),
            _ => wording(source, &error.to_string()),
        })
    })?;
    if let Some(repetition) = invalid_repetition(&tree) {
        return Err(fail(invalid_count(&text, repetition)));
    }
    let tree = Translator::new()
        .translate(&text, &tree)
        .map_err(|error| fail(wording(source, &error.to_string())))?;
    Ok(Translated { text, tree })
}

fn invalid_count(text: &str, span: &ast::Span) -> String {
    let repetition = text.get(span.start.offset..span.end.offset);
    format!("invalid repeat count: `{}`", repetition.unwrap_or(text))
}

/// Returns the first repetition that Go refuses. Go reads the inner ones first.
fn invalid_repetition(tree: &Ast) -> Option<&ast::Span> {
    let inner = children(tree).iter().find_map(invalid_repetition);
    inner.or_else(|| match tree {
        Ast::Repetition(it) if !repeats_at_most(tree, MAX_REPEATS) => Some(&it.op.span),
        _ => None,
    })
}

/// Returns whether the product of nested counts is at most `most`.
fn repeats_at_most(tree: &Ast, most: u32) -> bool {
    let mut most = most;
    if let Ast::Repetition(it) = tree
        && let RepetitionKind::Range(range) = &it.op.kind
    {
        let (count, last) = match *range {
            RepetitionRange::Exactly(0) | RepetitionRange::Bounded(0, 0) => return true,
            RepetitionRange::Exactly(count) | RepetitionRange::AtLeast(count) => (count, count),
            RepetitionRange::Bounded(least, last) => (last, least.max(last)),
        };
        if last > most {
            return false;
        }
        most /= count.max(1);
    }
    children(tree).iter().all(|it| repeats_at_most(it, most))
}

fn children(tree: &Ast) -> &[Ast] {
    match tree {
        Ast::Repetition(it) => std::slice::from_ref(&it.ast),
        Ast::Group(it) => std::slice::from_ref(&it.ast),
        Ast::Alternation(it) => &it.asts,
        Ast::Concat(it) => &it.asts,
        _ => &[],
    }
}

/// Returns the expression in the syntax of the `regex` crate.
fn translated(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(it) = chars.next() {
        match it {
            '\\' => escaped(&mut chars, false, &mut out),
            '[' => class(&mut chars, &mut out),
            '{' if !is_repetition(chars.clone()) => out.push_str("\\{"),
            _ => out.push(it),
        }
    }
    out
}

/// Translates the characters after a backslash.
fn escaped(chars: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(it) = chars.next() else {
        out.push('\\');
        return;
    };
    let set = match it {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        's' => r"\t\n\f\r ",
        'D' => "^0-9",
        'W' => "^0-9A-Za-z_",
        'S' => r"^\t\n\f\r ",
        'b' if !in_class => {
            out.push_str(r"(?-u:\b)");
            return;
        }
        // In the `regex` crate, `\<` and `\>` are word boundaries. In Go, they are punctuation.
        '<' | '>' => {
            out.push(it);
            return;
        }
        'Q' if !in_class => return quoted(chars, out),
        _ => {
            out.push('\\');
            out.push(it);
            return;
        }
    };
    out.push('[');
    out.push_str(set);
    out.push(']');
}

/// Translates `\Q…\E`, whose content is literal.
fn quoted(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    let rest: String = chars.by_ref().collect();
    let (literal, after) = rest.split_once("\\E").unwrap_or((&rest, ""));
    out.push_str(&regex::escape(literal));
    out.push_str(&translated(after));
}

/// Translates a class up to its end. Only `]`, `\`, `^` and `-` are special in it.
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A bracket directly after the start is literal and does not close the class.
    if chars.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(it) = chars.next() {
        match it {
            ']' => {
                out.push(']');
                return;
            }
            '\\' => escaped(chars, true, out),
            '[' if chars.peek() == Some(&':') => named(chars, out),
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(it);
            }
            '-' if chars.peek() == Some(&'-') => out.push_str("\\-"),
            _ => out.push(it),
        }
    }
}

/// Translates `[:alpha:]` and similar classes.
fn named(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    for it in chars.by_ref() {
        out.push(it);
        if it == ']' {
            return;
        }
    }
}

/// Returns whether the text after a brace is `3}`, `3,}` or `3,5}`.
fn is_repetition(chars: Peekable<Chars<'_>>) -> bool {
    let inner: String = chars.take_while(|it| *it != '}').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    match inner.split_once(',') {
        None => is_number(&inner),
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
    }
}

/// Returns Go's message for an error of the `regex` crate.
fn wording(text: &str, said: &str) -> String {
    let from = |mark: char| text.find(mark).map_or(text, |at| &text[at..]);
    if said.contains("look-around") {
        let marks = ["(?=", "(?!", "(?<=", "(?<!"];
        let mark = marks.into_iter().find(|mark| text.contains(mark));
        format!(
            "invalid or unsupported Perl syntax: `{}`",
            mark.unwrap_or("(?")
        )
    } else if said.contains("unclosed character class") {
        format!("missing closing ]: `{}`", from('['))
    } else if said.contains("unclosed group") {
        format!("missing closing ): `{text}`")
    } else if said.contains("unopened group") {
        format!("unexpected ): `{text}`")
    } else if said.contains("repetition operator missing expression") {
        let mark = text.find(['*', '+', '?']).map_or("*", |at| &text[at..=at]);
        format!("missing argument to repetition operator: `{mark}`")
    } else {
        let last = said.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        let translated = translate(pattern).expect(pattern).text;
        regex::Regex::new(&translated)
            .expect(pattern)
            .is_match(text)
    }

    #[test]
    fn classes_are_of_ascii() {
        assert!(matches(r"^\d+$", "123"));
        assert!(!matches(r"^\d+$", "١٢٣"));
        assert!(matches(r"^[\w-]+$", "a-b_1"));
        assert!(!matches(r"^[\w-]+$", "é"));
        assert!(matches(r"^[^\s]+$", "ab"));
        assert!(matches(r"^[\S]+$", "ab"));
        assert!(!matches(r"^[\D]+$", "1"));
    }

    #[test]
    fn patterns_have_the_syntax_of_go() {
        assert!(matches("^[[]$", "["));
        assert!(matches("^[a[b]$", "["));
        assert!(matches("^[]a]$", "]"));
        assert!(matches("^[^]a]$", "b"));
        assert!(matches("^[a&&b]$", "&"));
        assert!(matches("^{a}$", "{a}"));
        assert!(matches("^a{,2}$", "a{,2}"));
        assert!(matches(r"^\<a\>$", "<a>"));
        assert!(matches(r"^\Qa.b\E+$", "a.bb"));
        assert!(matches(r"^https?:\/\/[a-z\.\-\/]+$", "http://a-b.c/d"));
        assert!(matches("^[[:alpha:]]{2,3}$", "ab"));
        assert!(matches(
            "^([0-9a-z]{1,60}){1,10}x{1000}?$",
            &"x".repeat(1001)
        ));
    }

    #[test]
    fn errors_are_in_the_words_of_go() {
        let error = |pattern: &str| translate(pattern).err().expect(pattern);
        assert_eq!(
            error("a[b"),
            "error parsing regexp: missing closing ]: `[b`"
        );
        assert_eq!(error("(a"), "error parsing regexp: missing closing ): `(a`");
        assert_eq!(error("a)"), "error parsing regexp: unexpected ): `a)`");
        assert_eq!(
            error("*"),
            "error parsing regexp: missing argument to repetition operator: `*`"
        );
        assert_eq!(
            error("(?=a)"),
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
        );
        for (pattern, repetition) in [
            ("a{1001}", "{1001}"),
            ("a{2,1}", "{2,1}"),
            ("a{1001,}", "{1001,}"),
            ("(a{1,63}){1,1000}", "{1,1000}"),
            ("((a{10}){10}b){11}", "{11}"),
        ] {
            assert_eq!(
                error(pattern),
                format!("error parsing regexp: invalid repeat count: `{repetition}`")
            );
        }
    }
}
