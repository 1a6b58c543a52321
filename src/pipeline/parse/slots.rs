//! Splits a text into literals and slots, `${expression}`.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextPiece {
    /// Text; `$$` is already replaced by `$`.
    Literal(String),
    /// The code between `${` and `}`, and the index of its first character.
    Slot(String, usize),
}

/// Splits a text. The error is the index of the `$` of a slot that is not closed.
pub(super) fn split(text: &str) -> Result<Vec<TextPiece>, usize> {
    let characters: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(&c) = characters.get(at) {
        match (c, characters.get(at + 1)) {
            ('$', Some('$')) => {
                literal.push('$');
                at += 2;
            }
            ('$', Some('{')) => {
                let end = end_of_slot(&characters, at + 2).ok_or(at)?;
                if !literal.is_empty() {
                    pieces.push(TextPiece::Literal(std::mem::take(&mut literal)));
                }
                let code = characters[at + 2..end].iter().collect();
                pieces.push(TextPiece::Slot(code, at + 2));
                at = end + 1;
            }
            _ => {
                literal.push(c);
                at += 1;
            }
        }
    }
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(TextPiece::Literal(literal));
    }
    Ok(pieces)
}

/// Returns the index of the brace that closes a slot. Braces in strings, characters and comments do not count.
fn end_of_slot(characters: &[char], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *characters.get(at)? {
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            '{' => depth += 1,
            '"' => at = end_of_string(characters, at + 1, '"')?,
            '\'' => at = end_of_string(characters, at + 1, '\'')?,
            '`' => at = end_of_template(characters, at + 1)?,
            '/' if characters.get(at + 1) == Some(&'*') => {
                let mut pairs = characters.windows(2).skip(at + 2);
                at += 3 + pairs.position(|pair| pair == ['*', '/'])?;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the index of the quote that ends a string.
fn end_of_string(characters: &[char], mut at: usize, quote: char) -> Option<usize> {
    loop {
        match *characters.get(at)? {
            '\\' => at += 1,
            c if c == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

/// Returns the index of the backtick that ends a string with slots of its own.
fn end_of_template(characters: &[char], mut at: usize) -> Option<usize> {
    loop {
        match (*characters.get(at)?, characters.get(at + 1)) {
            ('`', Some('`')) => at += 1,
            ('`', _) => return Some(at),
            ('$', Some('{')) => at = end_of_slot(characters, at + 2)?,
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> TextPiece {
        TextPiece::Literal(text.to_owned())
    }

    fn slot(code: &str, at: usize) -> TextPiece {
        TextPiece::Slot(code.to_owned(), at)
    }

    #[test]
    fn literals_and_slots_alternate() {
        assert_eq!(split(""), Ok(vec![literal("")]));
        assert_eq!(split("a $b {c}"), Ok(vec![literal("a $b {c}")]));
        assert_eq!(split("${a}"), Ok(vec![slot("a", 2)]));
        assert_eq!(
            split("é${a}-${b}"),
            Ok(vec![literal("é"), slot("a", 3), literal("-"), slot("b", 8)])
        );
    }

    #[test]
    fn two_dollars_are_one_literal_dollar() {
        assert_eq!(split("$$"), Ok(vec![literal("$")]));
        assert_eq!(split("$${a}"), Ok(vec![literal("${a}")]));
        assert_eq!(split("$$${a}"), Ok(vec![literal("$"), slot("a", 4)]));
        assert_eq!(split("5$"), Ok(vec![literal("5$")]));
    }

    #[test]
    fn braces_in_code_do_not_close_the_slot() {
        for code in [
            "#{a: #{b: 1}}.a",
            "\"}\"",
            "\"\\\"}\"",
            "'}'",
            "`a ${b + \"}\"} }`",
            "a /* } */ + b",
            "if a { b } else { c }",
        ] {
            assert_eq!(
                split(&format!("${{{code}}}")),
                Ok(vec![slot(code, 2)]),
                "{code}"
            );
        }
    }

    #[test]
    fn the_error_of_an_unclosed_slot_is_its_index() {
        for text in ["a${b", "a${\"}", "a${`}", "a${'}", "a${/* }", "a${#{}"] {
            assert_eq!(split(text), Err(1), "{text}");
        }
    }
}
