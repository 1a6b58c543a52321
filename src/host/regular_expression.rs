//! Regular expressions whose searches are short.
//!
//! A search of the `regex` crate cannot be interrupted. At worst it takes the length of the text times the
//! positions of the pattern: the characters and classes that it can be at, each as often as repetitions
//! repeat it. So the product is limited before a search begins.

use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use super::compile_cache::CompileCache;

/// The maximum work of one search. A unit takes 10 ns at worst, so a search takes about a second at worst.
const MAX_WORK: u64 = 100_000_000;
/// The maximum length of a pattern: a class takes up to 0.1 ms to parse (`\pL` without case).
const MAX_PATTERN: usize = 16 << 10;
/// The maximum compiled size of a pattern, a tenth of the crate's default: a few hundred alternatives fit.
const COMPILED_BYTES: usize = 1 << 20;
/// The maximum cache of a pattern's search: a quarter of the crate's default.
const CACHE_BYTES: usize = 512 << 10;
/// The maximum length of a text to search: more than an object can have.
const MAX_TEXT: usize = 2 << 20;
/// The number of groups that double the work of a search: each position copies the bounds of all groups.
const GROUPS_PER_COPY: u64 = 25;

/// The reason that a text cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// The pattern is not a regular expression, or is too large for any text.
    #[error("not a regular expression: {0}")]
    Pattern(String),
    /// The text is too long for any pattern.
    #[error(
        "cannot search a text of more than {} MiB with a regular expression",
        MAX_TEXT >> 20
    )]
    Text,
    /// The search could take more than a second.
    #[error(
        "a search for this pattern could take too long: with {positions} positions it can search {} of \
         text, found {}; search a shorter text, or repeat less in the pattern",
        bytes(*longest),
        bytes(*found)
    )]
    Work {
        /// The positions of the pattern.
        positions: u64,
        /// The length of the longest text that the pattern can search.
        longest: usize,
        /// The length of the text.
        found: usize,
    },
}

/// Formats a number of bytes.
fn bytes(count: usize) -> String {
    match count {
        0..10_240 => format!("{count} bytes"),
        _ => format!("{} KiB", count >> 10),
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    positions: u64,
    /// The work of a search for each byte of the text.
    work: u64,
}

impl Pattern {
    /// Returns the pattern, compiled once per thread.
    pub(super) fn new(text: &str) -> Result<Rc<Self>, Error> {
        thread_local! {
            static PATTERNS: CompileCache<Pattern> = CompileCache::new();
        }
        PATTERNS.with(|known| known.get(text, Self::compile))
    }

    fn compile(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_PATTERN {
            let most = MAX_PATTERN >> 10;
            return Err(Error::Pattern(format!("longer than {most} KiB")));
        }
        let tree = regex_syntax::parse(text).map_err(|error| Error::Pattern(cause(&error)))?;
        let positions = positions(&tree);
        let groups = u64::try_from(tree.properties().explicit_captures_len()).unwrap_or(u64::MAX);
        drop(tree);
        let regex = RegexBuilder::new(text)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .build()
            .map_err(|error| Error::Pattern(cause(&error)))?;
        let copies = 1 + groups / GROUPS_PER_COPY;
        Ok(Self {
            regex,
            positions,
            work: positions.saturating_mul(copies).max(1),
        })
    }

    /// Returns the work of a search in a text, in units of 10 ns at worst.
    pub(super) fn work(&self, text: &str) -> u64 {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.work.saturating_mul(length)
    }

    /// Returns the regular expression to search a text with.
    pub(super) fn search(&self, text: &str) -> Result<&Regex, Error> {
        if text.len() > MAX_TEXT {
            return Err(Error::Text);
        }
        if self.work(text) > MAX_WORK {
            return Err(Error::Work {
                positions: self.positions,
                longest: usize::try_from(MAX_WORK / self.work).unwrap_or(usize::MAX),
                found: text.len(),
            });
        }
        Ok(&self.regex)
    }
}

/// Returns the cause of an error in one line. The crates show it below the pattern, however long that is.
fn cause(error: &dyn std::error::Error) -> String {
    let drawn = error.to_string();
    let last = drawn.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ")
        .trim_end_matches('.')
        .to_owned()
}

/// Returns how many positions of a pattern a search can be at, at most.
fn positions(tree: &Hir) -> u64 {
    match tree.kind() {
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => u64::try_from(literal.0.len()).unwrap_or(u64::MAX),
        HirKind::Capture(group) => positions(&group.sub).saturating_add(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            // Each time may be the last.
            let each = positions(&repetition.sub).saturating_add(1);
            each.saturating_mul(u64::from(times))
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, u64::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pattern: &str, text: &str) -> String {
        let pattern = Pattern::new(pattern);
        let error = pattern.and_then(|pattern| pattern.search(text).map(drop));
        error.unwrap_err().to_string()
    }

    #[test]
    fn positions_count_each_repetition() {
        for (pattern, expected) in [
            ("", 1),
            ("abc", 3),
            ("[a-z]", 1),
            (r"\w", 1),
            ("(?:ab|c)", 3),
            ("(ab)", 3),
            ("a*", 2),
            ("a{3}", 6),
            ("a{2,5}", 10),
            ("(?:a{10}){10}", 210),
            (r"^\b$", 3),
        ] {
            let tree = regex_syntax::parse(pattern).unwrap();
            assert_eq!(positions(&tree), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_of_roles_search_long_texts() {
        let long = "x".repeat(MAX_TEXT);
        for pattern in [r"(\w+)-x", r"(?m)^name: (\S+)$", "[0-9]+", "(?i)error"] {
            assert!(
                Pattern::new(pattern).unwrap().search(&long).is_ok(),
                "{pattern}"
            );
        }
        let short = "x".repeat(4096);
        let many = vec!["registry.example.com/some/image"; 400].join("|");
        assert!(Pattern::new(&many).unwrap().search(&short).is_ok());
        assert!(error("x", &(long + "x")).contains("more than 2 MiB"));
    }

    /// `(?:[01]{0,n}1)*2` in random digits makes the crate look at each position for each byte.
    #[test]
    fn a_search_that_could_take_long_is_refused() {
        let slow = |repetitions: usize| format!("(?:[01]{{0,{repetitions}}}1)*2");
        let text = "01".repeat(32 << 10);
        assert_eq!(
            error(&slow(5_000), &text),
            "a search for this pattern could take too long: with 10003 positions it can search 9997 bytes \
             of text, found 64 KiB; search a shorter text, or repeat less in the pattern"
        );
        assert!(Pattern::new(&slow(500)).unwrap().search(&text).is_ok());
        // Groups are copied at each position.
        let groups = "(1)|".repeat(300) + &slow(100);
        assert!(error(&groups, &text).contains("too long"));
    }

    #[test]
    fn a_pattern_that_is_too_large_is_refused_with_the_cause_in_one_line() {
        assert_eq!(
            error("(((a", ""),
            "not a regular expression: unclosed group"
        );
        let huge = error("((a{1,1000}){1,1000}){1,1000}", "");
        assert!(huge.contains("Compiled regex exceeds size limit"), "{huge}");
        let long = error(&"a".repeat(MAX_PATTERN + 1), "");
        assert_eq!(long, "not a regular expression: longer than 16 KiB");
    }
}
