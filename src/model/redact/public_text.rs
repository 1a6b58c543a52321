//! Texts for people, without secrets of the run and without control characters.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

use serde::{Serialize, Serializer};

/// A text that anyone can read. A [`super::Redactor`] makes it from data; a literal contains no data.
///
/// Control characters are escaped, except line breaks and tabs. Characters that change the text direction
/// are escaped too, so that a terminal shows the text as it is.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicText(Cow<'static, str>);

impl PublicText {
    /// Wraps a text in which secrets are masked.
    pub(super) fn from_masked(masked: &str) -> Self {
        Self(escaped(masked).into_owned().into())
    }

    /// Escapes a text from outside a run, such as an error of a watch. Masks nothing, because no Secret
    /// was read for it.
    pub fn outside_runs(text: impl fmt::Display) -> Self {
        Self::from_masked(&text.to_string())
    }

    /// Concatenates texts.
    pub fn concat<const N: usize>(parts: [Self; N]) -> Self {
        Self(parts.map(|part| part.0).concat().into())
    }

    /// Cuts the text to a number of bytes and marks it as cut; a shorter one stays as it is.
    #[must_use]
    pub fn shorten(self, bytes: usize) -> Self {
        if self.len() <= bytes {
            return self;
        }
        let end = self.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
        Self(format!("{}…", &self[..end]).into())
    }
}

impl From<&'static str> for PublicText {
    fn from(literal: &'static str) -> Self {
        Self(literal.into())
    }
}

impl Deref for PublicText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for PublicText {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for PublicText {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl fmt::Display for PublicText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for PublicText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for PublicText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Escapes control characters and direction marks, as in `\u{1b}`, except line breaks and tabs.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_harmful) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmful(character) {
            // Writing to a string does not fail.
            let _ = write!(escaped, "{}", character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidirectional_characters_are_escaped() {
        let text = "a\u{1b}[2J\u{9b}b\r\u{202e}c\u{7f}\u{0}\u{2066}\td\né";
        assert_eq!(
            escaped(text),
            r"a\u{1b}[2J\u{9b}b\u{d}\u{202e}c\u{7f}\u{0}\u{2066}".to_owned() + "\td\né"
        );
        assert!(matches!(escaped("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_is_cut_at_a_character() {
        let text = PublicText::from("aäaäaäaä");
        assert_eq!(text.clone().shorten(6), "aä…");
        assert_eq!(text.clone().shorten(100), text);
    }
}
