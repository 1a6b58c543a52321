//! What is done to a text before it is parsed.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One edit of bytes.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// The text ends here.
    Cut(Index),
    /// So many bytes go.
    Remove(Index, usize),
    /// Bytes come in.
    Insert(Index, Vec<u8>),
    /// A word that means something to some parser comes in.
    Word(Index, &'static str),
    /// So many bytes come again, so many times.
    Repeat(Index, usize, usize),
    /// A line takes the place of another.
    Line(Index, Index),
}

/// What means something to the parsers of YAML, JSON, scripts, templates and HTTP.
const WORDS: [&str; 54] = [
    "\n",
    "\r\n",
    "\t",
    "\0",
    " ",
    "  ",
    "\u{feff}",
    "é",
    "\u{10ffff}",
    "\"",
    "'",
    "`",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "${",
    "{{",
    "}}",
    "{%",
    "%}",
    ": ",
    "- ",
    ", ",
    "? ",
    "#",
    "//",
    "/*",
    "*/",
    "&a ",
    "*a",
    "<<: ",
    "!!map ",
    "| ",
    "> ",
    "---\n",
    "...\n",
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    "\"a\":",
    "loop {",
    "fn f() {",
    "|x|",
    "import \"",
    "../",
    ";",
    "=",
    "\u{2028}",
];

pub(crate) fn strategy() -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    prop_oneof![
        1 => place().prop_map(Edit::Cut),
        3 => (place(), 1..40_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        2 => (place(), prop::collection::vec(any::<u8>(), 1..4))
            .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        6 => (place(), select(&WORDS[..])).prop_map(|(at, word)| Edit::Word(at, word)),
        1 => (place(), 1..20_usize, select(&[2, 5_000][..]))
            .prop_map(|(at, count, times)| Edit::Repeat(at, count, times)),
        3 => (place(), place()).prop_map(|(from, to)| Edit::Line(from, to)),
    ]
}

/// Some edits, one after the other.
pub(crate) fn some() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(strategy(), 1..5)
}

/// The text after the edits.
pub(crate) fn edited(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut text = text.to_vec();
    for edit in edits {
        edit.apply(&mut text);
    }
    text
}

impl Edit {
    fn apply(&self, text: &mut Vec<u8>) {
        let place = |at: &Index| at.index(text.len() + 1);
        match self {
            Self::Cut(at) => {
                let at = place(at);
                text.truncate(at);
            }
            Self::Remove(at, count) => {
                let at = place(at);
                let end = (at + count).min(text.len());
                text.drain(at..end);
            }
            Self::Insert(at, bytes) => {
                let at = place(at);
                text.splice(at..at, bytes.iter().copied());
            }
            Self::Word(at, word) => {
                let at = place(at);
                text.splice(at..at, word.bytes());
            }
            Self::Repeat(at, count, times) => {
                let at = place(at);
                let end = (at + count).min(text.len());
                let again = text[at..end].repeat(*times);
                text.splice(at..at, again);
            }
            Self::Line(from, to) => {
                let mut lines: Vec<Vec<u8>> = text
                    .split(|byte| *byte == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect();
                let line = lines[from.index(lines.len())].clone();
                let to = to.index(lines.len());
                lines[to] = line;
                *text = lines.join(&b'\n');
            }
        }
    }
}
