//! `${expr}` in a text: where its slots are, and what is literal.

/// A part of a text; its place as an index of characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is, `$$` being `$` already.
    Literal(String),
    /// What is between `${` and `}`, and where it begins.
    Slot(String, usize),
}

/// Splits a text; a slot that is not closed is an error at the place of its `$`.
pub(super) fn split(text: &str) -> Result<Vec<Piece>, usize> {
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
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                let code = characters[at + 2..end].iter().collect();
                pieces.push(Piece::Slot(code, at + 2));
                at = end + 1;
            }
            _ => {
                literal.push(c);
                at += 1;
            }
        }
    }
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

/// The index of the brace that closes a slot: braces in strings, characters and comments do not count.
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

/// The index of the quote that ends a string.
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

/// The index of the backtick that ends a string with slots of its own.
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

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.to_owned())
    }

    fn slot(code: &str, at: usize) -> Piece {
        Piece::Slot(code.to_owned(), at)
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
    fn a_doubled_dollar_is_one_and_begins_no_slot() {
        assert_eq!(split("$$"), Ok(vec![literal("$")]));
        assert_eq!(split("$${a}"), Ok(vec![literal("${a}")]));
        assert_eq!(split("$$${a}"), Ok(vec![literal("$"), slot("a", 4)]));
        assert_eq!(split("5$"), Ok(vec![literal("5$")]));
    }

    #[test]
    fn braces_inside_of_code_do_not_end_it() {
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
    fn a_slot_that_is_not_closed_is_told_where_it_begins() {
        for text in ["a${b", "a${\"}", "a${`}", "a${'}", "a${/* }", "a${#{}"] {
            assert_eq!(split(text), Err(1), "{text}");
        }
    }
}
