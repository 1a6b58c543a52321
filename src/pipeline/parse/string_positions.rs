//! Finds the positions of the characters of a YAML string in the file. They differ because of quotes,
//! escapes, folding and indentation.

use crate::model::yaml::Position;
use crate::script::PositionMap;

/// Returns the positions of the characters of a string that begins at a position of a text. If they are
/// unknown (behind an alias), each is the position of the string.
pub(super) fn places(text: &str, at: Position, string: &str) -> PositionMap {
    let mut places = PositionMap::default();
    if align(text, at, string, &mut places).is_none() {
        places = PositionMap::default();
        for (index, _) in string.chars().enumerate() {
            places.add(index, at.line, at.column);
        }
    }
    places
}

/// The rest of a file, and the position of its first character.
#[derive(Clone)]
struct Cursor<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    column: usize,
    /// The indentation of the lines of a block scalar.
    indent: usize,
}

impl Cursor<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    /// Skips the indentation of a line of a block.
    fn skip_indentation(&mut self) {
        while self.column <= self.indent && self.peek() == Some(' ') {
            self.next();
        }
    }

    /// Skips characters while a condition is true.
    fn skip(&mut self, condition: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&condition) {
            self.next();
        }
    }
}

/// The style of a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Block,
}

/// Adds the position of each character of a string; none if the text does not contain the string.
fn align(text: &str, at: Position, string: &str, places: &mut PositionMap) -> Option<()> {
    let line = text.split('\n').nth(at.line.checked_sub(1)?)?;
    let before: usize = text
        .split('\n')
        .take(at.line - 1)
        .map(|l| l.len() + 1)
        .sum();
    let skipped = line.chars().take(at.column.checked_sub(1)?);
    let offset = before + skipped.map(char::len_utf8).sum::<usize>();
    let mut cursor = Cursor {
        rest: text.get(offset..)?.chars().peekable(),
        line: at.line,
        column: at.column,
        indent: 0,
    };
    let style = read_style(&mut cursor)?;
    for (index, expected) in string.chars().enumerate() {
        let (line, column) = advance(&mut cursor, style, expected)?;
        places.add(index, line, column);
    }
    Some(())
}

/// Reads the style of a scalar, and moves the cursor to its first character.
fn read_style(cursor: &mut Cursor<'_>) -> Option<Style> {
    let style = match cursor.peek()? {
        '\'' => Style::Single,
        '"' => Style::Double,
        '|' | '>' => Style::Block,
        '&' | '!' => {
            cursor.skip(|c| !c.is_whitespace());
            cursor.skip(char::is_whitespace);
            return read_style(cursor);
        }
        _ => return Some(Style::Plain),
    };
    cursor.next();
    if style == Style::Block {
        cursor.skip(|c| c != '\n');
        cursor.next();
        let mut ahead = cursor.clone();
        ahead.skip(char::is_whitespace);
        cursor.indent = ahead.column - 1;
        cursor.skip_indentation();
    }
    Some(style)
}

/// Moves past the source of a character of the string, and returns its position.
fn advance(cursor: &mut Cursor<'_>, style: Style, expected: char) -> Option<(usize, usize)> {
    let position = (cursor.line, cursor.column);
    // The last line end of a block may be the end of the file.
    let Some(found) = cursor.peek() else {
        return (expected == '\n').then_some(position);
    };
    match (style, found) {
        (Style::Double, '\\') => return advance_escape(cursor, expected),
        (Style::Single, '\'') => {
            cursor.next();
        }
        _ => {}
    }
    if found == expected {
        cursor.next();
        if style == Style::Block && found == '\n' {
            cursor.skip_indentation();
        }
        return Some(position);
    }
    // YAML folds line ends, with the indentation after them, into a space or fewer line ends.
    if expected.is_whitespace() && found.is_whitespace() {
        cursor.skip(char::is_whitespace);
        return Some(position);
    }
    if found == '\r' || found == '\n' || found == ' ' {
        cursor.skip(char::is_whitespace);
        return advance(cursor, style, expected);
    }
    None
}

/// Moves past an escape of a double-quoted string.
fn advance_escape(cursor: &mut Cursor<'_>, expected: char) -> Option<(usize, usize)> {
    let position = (cursor.line, cursor.column);
    cursor.next();
    match cursor.next()? {
        // An escaped line end adds no character.
        '\n' | '\r' => {
            cursor.skip(char::is_whitespace);
            return advance(cursor, Style::Double, expected);
        }
        'x' => skip_digits(cursor, 2),
        'u' => skip_digits(cursor, 4),
        'U' => skip_digits(cursor, 8),
        _ => {}
    }
    Some(position)
}

fn skip_digits(cursor: &mut Cursor<'_>, count: usize) {
    for _ in 0..count {
        cursor.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::yaml::{Content, parse_positioned};

    /// Checks the position of each `@` in the first string of a map.
    #[track_caller]
    fn check(text: &str) {
        let root = parse_positioned(text).unwrap();
        let Content::Map(entries) = root.content else {
            panic!("{root:?}")
        };
        let Content::String(string) = &entries[0].1.content else {
            panic!("{entries:?}")
        };
        let places = places(text, entries[0].1.position, string);
        let lines = text.split('\n').enumerate();
        let wanted: Vec<_> = lines
            .flat_map(|(line, text)| {
                let chars = text.chars().enumerate();
                let marks = chars.filter(|(_, c)| *c == '@');
                marks.map(move |(column, _)| (line + 1, column + 1))
            })
            .collect();
        let found: Vec<_> = string
            .chars()
            .enumerate()
            .filter(|(_, c)| *c == '@')
            .map(|(index, _)| places.position_at(index))
            .collect();
        assert_eq!(found, wanted, "{text}");
        assert!(!wanted.is_empty());
    }

    #[test]
    fn positions_are_found_in_each_style_of_string() {
        check("a: é@ b@\n");
        check("a: 'it''s @ ''@'\n");
        check("a: \"\\\"x\\\" \\u00e9@\\x41@\\n@\"\n");
        check("a: one @\n  two @\n\n  three @\n");
        check("a: \"one @\n  two @ \\\n  three @\"\n");
        check("a: |\n  one @\n    two @\n\n  three @\n");
        check("a: |-\n      one @\n      two @");
        check("a: >-\n  one @\n  two @\n\n  three @\n");
        check("a: &anchor x@\n");
        check("a: @@\n".replace("@@", "x@").as_str());
    }

    #[test]
    fn the_position_of_an_aliased_string_is_the_alias() {
        let text = "x: *a\n";
        let at = Position { line: 1, column: 4 };
        assert_eq!(places(text, at, "text").position_at(2), (1, 4));
    }
}
