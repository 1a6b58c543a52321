//! Regular expressions in the syntax of Go.
//!
//! <https://github.com/google/re2/wiki/Syntax>
//! Go's syntax differs from that of the `regex` crate in rare cases: classes such as `\d` are ASCII, and a
//! bracket in a class and a brace that is not a repetition are literal.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// The maximum size of a compiled expression. Go has no limit. This one is enough for repetitions of a
/// thousand.
const SIZE_LIMIT: usize = 64 << 20;

/// Compiles an expression. Errors have Go's message where it is known.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(&translated(text))
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| format!("error parsing regexp: {}", wording(text, &error)))
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

fn wording(text: &str, error: &regex::Error) -> String {
    let said = error.to_string();
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
        compile(pattern).expect(pattern).is_match(text)
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
    fn what_means_nothing_in_go_is_literal() {
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
        assert!(matches("^([0-9a-z]{1,63}){1,1000}$", "a"));
    }

    #[test]
    fn errors_are_in_the_words_of_go() {
        let error = |pattern: &str| compile(pattern).expect_err(pattern);
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
        let error = error("(?=a)");
        assert_eq!(
            error,
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
        );
    }
}
