//! Folds texts into the form in which the redactor compares them, and maps positions back to the original.
//!
//! White space becomes one space, and repeated single quotes become one quote. So the redactor finds a
//! value in any indentation, and as a YAML writer folds or quotes it. Decoding removes one level of the
//! escapes of JSON, YAML and Rust. Decoding twice gives the plain text of JSON within JSON.

use std::borrow::Cow;
use std::ops::Range;

/// A folded text, with the original position of each byte.
pub(super) struct FoldedText<'a> {
    text: Cow<'a, str>,
    /// The position by byte of `text`; `None` if the text is the original.
    starts: Option<Vec<usize>>,
    /// The length of the original.
    length: usize,
}

impl<'a> FoldedText<'a> {
    /// Folds a text.
    pub(super) fn new(text: &'a str) -> Self {
        if is_folded(text) {
            return Self {
                text: text.into(),
                starts: None,
                length: text.len(),
            };
        }
        let mut folder = Folder::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            folder.push(character, at);
        }
        folder.finish(text.len())
    }

    /// Decodes one level of escapes. Returns `None` if there are no escapes.
    pub(super) fn decoded(&self) -> Option<FoldedText<'static>> {
        if !self.text.contains('\\') {
            return None;
        }
        let mut folder = Folder::with_capacity(self.text.len());
        let mut is_changed = false;
        let mut rest = &*self.text;
        while let Some(character) = rest.chars().next() {
            let at = self.original(self.text.len() - rest.len());
            let escaped = (character == '\\').then(|| unescape(&rest[1..])).flatten();
            let (decoded, length) = match escaped {
                Some((decoded, length)) => (decoded, 1 + length),
                None => (character, character.len_utf8()),
            };
            is_changed |= escaped.is_some();
            folder.push(decoded, at);
            rest = &rest[length..];
        }
        is_changed.then(|| folder.finish(self.length))
    }

    /// Returns the folded text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the part of the original that corresponds to a part of the folded text.
    pub(super) fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.original(range.start)..self.original(range.end)
    }

    fn original(&self, at: usize) -> usize {
        match &self.starts {
            None => at,
            Some(starts) => starts.get(at).copied().unwrap_or(self.length),
        }
    }
}

/// Returns the folded form of a spelling.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    FoldedText::new(text).text
}

fn is_folded(text: &str) -> bool {
    let mut last = 'x';
    text.chars().all(|character| {
        let repeats = (character == ' ' || character == '\'') && character == last;
        last = character;
        !repeats && (character == ' ' || !character.is_whitespace())
    })
}

struct Folder {
    text: String,
    starts: Vec<usize>,
}

impl Folder {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            starts: Vec::with_capacity(capacity),
        }
    }

    fn push(&mut self, character: char, at: usize) {
        let character = if character.is_whitespace() {
            ' '
        } else {
            character
        };
        if (character == ' ' || character == '\'') && self.text.ends_with(character) {
            return;
        }
        self.text.push(character);
        self.starts.resize(self.text.len(), at);
    }

    fn finish(self, length: usize) -> FoldedText<'static> {
        FoldedText {
            text: self.text.into(),
            starts: Some(self.starts),
            length,
        }
    }
}

/// Returns the character of an escape, and the length of the escape without the backslash.
fn unescape(rest: &str) -> Option<(char, usize)> {
    let character = rest.chars().next()?;
    let decoded = match character {
        'n' | 'r' | 't' | 'v' | 'f' | 'N' | '_' | 'L' | 'P' => ' ',
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        '\\' | '"' | '\'' | '/' => character,
        'x' => return hex(&rest[1..], 2).map(|decoded| (decoded, 3)),
        'u' => return unicode(&rest[1..]).map(|(decoded, length)| (decoded, 1 + length)),
        'U' => return hex(&rest[1..], 8).map(|decoded| (decoded, 9)),
        _ => return None,
    };
    Some((decoded, 1))
}

/// Decodes `1f` of `\u{1f}`, `00e9` of `\u00e9`, and surrogate pairs.
fn unicode(rest: &str) -> Option<(char, usize)> {
    if let Some(braced) = rest.strip_prefix('{') {
        let end = braced.bytes().take(7).position(|byte| byte == b'}')?;
        return hex(braced, end).map(|decoded| (decoded, end + 2));
    }
    let first = number(rest, 4)?;
    if let Some(decoded) = char::from_u32(first) {
        return Some((decoded, 4));
    }
    let second = number(rest.get(4..)?.strip_prefix("\\u")?, 4)?;
    let units = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let decoded = char::decode_utf16(units).next()?.ok()?;
    Some((decoded, 10))
}

fn hex(rest: &str, digits: usize) -> Option<char> {
    number(rest, digits).and_then(char::from_u32)
}

fn number(rest: &str, digits: usize) -> Option<u32> {
    let digits = rest.get(..digits)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_quotes_fold_and_lead_back() {
        let text = "é:\n    a ''b''";
        let folded = FoldedText::new(text);
        assert_eq!(folded.text(), "é: a 'b'");
        let at = folded.text().find("'b'").unwrap();
        assert_eq!(&text[folded.range(&(at..at + 3))], "''b''");
        let plain = FoldedText::new("a b");
        assert_eq!(plain.range(&(2..3)), 2..3);
    }

    #[test]
    fn escapes_of_json_yaml_and_rust_are_undone_level_by_level() {
        let decoded = |text: &str| FoldedText::new(text).decoded().map(|d| d.text().to_owned());
        assert_eq!(decoded(r#"a\n\"b\"\u003c\/"#).unwrap(), r#"a "b"</"#);
        assert_eq!(
            decoded(r"\ud83d\ude00 \x41 \U00000042 \u{43}").unwrap(),
            "😀 A B C"
        );
        assert_eq!(decoded(r"\\n").unwrap(), r"\n");
        assert_eq!(decoded(r"\q \u12 \ud83d \u{110000} \"), None);
        assert_eq!(decoded("plain"), None);
        let twice = FoldedText::new(r#"{\"a\":\"b\\nc\"}"#);
        let once = twice.decoded().unwrap();
        assert_eq!(once.text(), r#"{"a":"b\nc"}"#);
        assert_eq!(once.decoded().unwrap().text(), r#"{"a":"b c"}"#);
    }

    #[test]
    fn a_decoded_part_covers_its_escapes() {
        let text = r#"x \"a\u0062\" y"#;
        let decoded = FoldedText::new(text).decoded().unwrap();
        let at = decoded.text().find("\"ab\"").unwrap();
        assert_eq!(&text[decoded.range(&(at..at + 4))], r#"\"a\u0062\""#);
    }
}
