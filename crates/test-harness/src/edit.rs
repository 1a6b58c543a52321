//! Random edits of texts, and the configuration of fuzz tests.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;

/// Returns the configuration of a property test: as many random cases as `PROPTEST_CASES` sets, or a fixed
/// sample. A fixed sample does not fail the build of a change that did not cause the failure.
pub fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// An edit of a text.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Truncates the text.
    Cut(Index),
    /// Removes a number of bytes.
    Remove(Index, usize),
    /// Inserts bytes.
    Insert(Index, Vec<u8>),
    /// Inserts a word with a meaning to a parser.
    Word(Index, &'static str),
    /// Repeats a number of bytes a number of times.
    Repeat(Index, usize, usize),
    /// Replaces a line with another.
    Line(Index, Index),
}

/// Words with a meaning to the parsers of YAML, JSON, scripts, templates and HTTP.
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

fn edit() -> impl Strategy<Value = Edit> {
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

/// Returns a strategy for a list of edits.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 1..5)
}

/// Returns a text after its edits.
pub fn apply(text: &[u8], edits: &[Edit]) -> Vec<u8> {
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
