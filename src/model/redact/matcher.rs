//! Finds many spellings in a text in one pass. The time depends on the length of the text only.
//!
//! Aho-Corasick automata find spellings of twelve characters or more anywhere in the text. A search first
//! builds an automaton from the spellings that were added since the last search. Automata of similar size
//! are merged, so that alternate additions and searches build each spelling into an automaton a few times
//! only. Shorter spellings match whole words, in a lookup per word.
//!
//! An automaton contains only the first 128 characters of a long spelling, at about thirty bytes each. The
//! search compares the rest after a match. It also masks a text that quotes only the beginning.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, Input, MatchKind};

use super::words::{MIN_CHARS, is_word};

/// Shorter spellings match whole words only.
const ANYWHERE_CHARS: usize = 12;
/// The number of characters of a spelling in an automaton.
const HEAD_CHARS: usize = 128;
/// Larger automata are not merged, because a build temporarily takes about thirty times their bytes.
const MAX_SEGMENT_BYTES: usize = 512 << 10;
/// The maximum number of distinct continuations of one head.
const MAX_TAILS: usize = 8;
/// The maximum number of remembered values that share a spelling.
const MAX_VALUES: usize = 8;

/// The origin of a spelling, as fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The line, or the value itself.
    pub(super) line: u64,
    /// The value that contains the line.
    pub(super) value: u64,
}

/// The continuation of a spelling after its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The text must equal the spelling.
    Text,
    /// The text continues with base64 characters.
    Base64,
}

/// The spellings to search for.
#[derive(Default)]
pub(super) struct Matcher {
    spellings: Vec<Spelling>,
    by_head: HashMap<Arc<str>, usize>,
    /// The number of spellings that match whole words only.
    words: usize,
    /// Long spellings that no automaton contains yet.
    pending: Vec<usize>,
    segments: Vec<Segment>,
    head_bytes: usize,
    rest_bytes: usize,
    /// An automaton could not be built.
    is_broken: bool,
}

struct Spelling {
    head: Arc<str>,
    tails: Vec<Continuation>,
    /// There are more continuations than the maximum.
    is_crowded: bool,
}

struct Continuation {
    rest: Box<str>,
    form: Form,
    line: u64,
    values: Vec<u64>,
    /// There are more values than the maximum.
    is_crowded: bool,
}

struct Segment {
    automaton: AhoCorasick,
    spellings: Vec<usize>,
    bytes: usize,
}

impl Matcher {
    /// Adds a spelling in folded form.
    pub(super) fn add(&mut self, spelling: &str, form: Form, origin: Origin) {
        let head_end = spelling.char_indices().nth(HEAD_CHARS);
        let (head, rest) = spelling.split_at(head_end.map_or(spelling.len(), |(at, _)| at));
        let index = if let Some(index) = self.by_head.get(head) {
            *index
        } else {
            self.insert(head)
        };
        let rest = if form == Form::Base64 { "" } else { rest };
        if let Some(known) = self.spellings.get_mut(index) {
            self.rest_bytes += known.add(rest, form, origin);
        }
    }

    fn insert(&mut self, head: &str) -> usize {
        let index = self.spellings.len();
        let head: Arc<str> = head.into();
        if head.chars().nth(ANYWHERE_CHARS - 1).is_some() {
            self.pending.push(index);
        } else {
            self.words += 1;
        }
        self.head_bytes += head.len();
        self.by_head.insert(Arc::clone(&head), index);
        self.spellings.push(Spelling {
            head,
            tails: Vec::new(),
            is_crowded: false,
        });
        index
    }

    /// Returns the bytes of all heads.
    pub(super) fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    /// Returns the bytes of all heads and continuations.
    pub(super) fn bytes(&self) -> usize {
        self.head_bytes + self.rest_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spellings.is_empty()
    }

    /// Returns whether an automaton could not be built. A search is impossible then.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns whether the automata contain all spellings.
    pub(super) fn is_built(&self) -> bool {
        self.pending.is_empty()
    }

    /// Builds automata from the spellings that none contains yet.
    pub(super) fn build(&mut self) {
        let mut spellings = std::mem::take(&mut self.pending);
        // The size of a chunk is bounded, and with it the temporary memory of a build.
        while !spellings.is_empty() {
            let mut bytes = 0;
            let mut fits = |index: &usize| {
                bytes += self.head(*index).len();
                bytes <= MAX_SEGMENT_BYTES
            };
            let count = spellings.iter().take_while(|index| fits(index)).count();
            let rest = spellings.split_off(count.max(1));
            self.build_segment(spellings);
            spellings = rest;
        }
    }

    fn build_segment(&mut self, mut spellings: Vec<usize>) {
        let mut bytes = self.bytes_of(&spellings);
        while let Some(last) = self.segments.last()
            && last.bytes <= 2 * bytes
            && last.bytes + bytes <= MAX_SEGMENT_BYTES
        {
            bytes += last.bytes;
            spellings.extend(
                self.segments
                    .pop()
                    .into_iter()
                    .flat_map(|last| last.spellings),
            );
        }
        match self.automaton(&spellings) {
            Ok(automaton) => self.segments.push(Segment {
                automaton,
                spellings,
                bytes,
            }),
            Err(_) => self.is_broken = true,
        }
    }

    fn bytes_of(&self, spellings: &[usize]) -> usize {
        spellings.iter().map(|index| self.head(*index).len()).sum()
    }

    fn head(&self, index: usize) -> &str {
        self.spellings.get(index).map_or("", |known| &known.head)
    }

    fn automaton(&self, spellings: &[usize]) -> Result<AhoCorasick, BuildError> {
        AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(spellings.iter().map(|index| self.head(*index)))
    }

    /// Adds the ranges of spellings in a folded text. `is_secret` selects the origins to find.
    pub(super) fn find(
        &self,
        text: &str,
        is_secret: &dyn Fn(Origin) -> bool,
        found: &mut Vec<Range<usize>>,
    ) {
        for segment in &self.segments {
            self.find_long(segment, text, is_secret, found);
        }
        if self.words > 0 {
            self.find_words(text, is_secret, found);
        }
    }

    fn find_long(
        &self,
        segment: &Segment,
        text: &str,
        is_secret: &dyn Fn(Origin) -> bool,
        found: &mut Vec<Range<usize>>,
    ) {
        let mut at = 0;
        while let Some(hit) = segment.automaton.find(Input::new(text).range(at..)) {
            let spelling = segment
                .spellings
                .get(hit.pattern().as_usize())
                .and_then(|index| self.spellings.get(*index));
            let length =
                spelling.and_then(|known| known.length_of_rest(&text[hit.end()..], is_secret));
            at = match length {
                Some(length) => {
                    found.push(hit.start()..hit.end() + length);
                    hit.end() + length
                }
                // A public text can contain or overlap a secret.
                None => next_char(text, hit.start()),
            };
        }
    }

    fn find_words(
        &self,
        text: &str,
        is_secret: &dyn Fn(Origin) -> bool,
        found: &mut Vec<Range<usize>>,
    ) {
        let mut at = 0;
        while at < text.len() {
            let end = if ends_word(text, at) {
                self.word_at(text, at, is_secret)
            } else {
                None
            };
            at = match end {
                Some(end) => {
                    found.push(at..end);
                    end
                }
                None => next_char(text, at),
            };
        }
    }

    /// Returns the end of the longest short spelling that begins at this position.
    fn word_at(
        &self,
        text: &str,
        start: usize,
        is_secret: &dyn Fn(Origin) -> bool,
    ) -> Option<usize> {
        let ends = text[start..]
            .char_indices()
            .take(ANYWHERE_CHARS - 1)
            .map(|(at, character)| start + at + character.len_utf8())
            .skip(MIN_CHARS - 1);
        let words = ends.filter(|end| {
            let is_bounded = text[*end..].chars().next().is_none_or(|c| !is_word(c));
            is_bounded
                && self.by_head.get(&text[start..*end]).is_some_and(|index| {
                    let known = self.spellings.get(*index);
                    known.is_some_and(|known| known.length_of_rest("", is_secret).is_some())
                })
        });
        words.last()
    }
}

impl Spelling {
    /// Adds a continuation. Returns the number of bytes that it takes.
    fn add(&mut self, rest: &str, form: Form, origin: Origin) -> usize {
        let same = |tail: &&mut Continuation| {
            *tail.rest == *rest && tail.line == origin.line && tail.form == form
        };
        if let Some(tail) = self.tails.iter_mut().find(same) {
            if !tail.values.contains(&origin.value) {
                if tail.values.len() < MAX_VALUES {
                    tail.values.push(origin.value);
                } else {
                    tail.is_crowded = true;
                }
            }
            return 0;
        }
        if self.tails.len() == MAX_TAILS {
            self.is_crowded = true;
            return 0;
        }
        self.tails.push(Continuation {
            rest: rest.into(),
            form,
            line: origin.line,
            values: vec![origin.value],
            is_crowded: false,
        });
        rest.len()
    }

    /// Returns the length of the secret text after the head, or `None` if it is not secret.
    fn length_of_rest(&self, after: &str, is_secret: &dyn Fn(Origin) -> bool) -> Option<usize> {
        if self.is_crowded {
            let may_go_on = self.tails.iter().any(|tail| !tail.rest.is_empty());
            return Some(if may_go_on { after.len() } else { 0 });
        }
        let secret = self.tails.iter().filter(|tail| tail.is_secret(is_secret));
        secret.map(|tail| tail.agrees(after)).max()
    }
}

impl Continuation {
    fn is_secret(&self, is_secret: &dyn Fn(Origin) -> bool) -> bool {
        let line = self.line;
        let mut values = self.values.iter();
        values.any(|value| is_secret(Origin { line, value: *value }))
            // Some values are not stored, so this text cannot be known as public.
            || self.is_crowded && is_secret(Origin { line, value: 0 })
    }

    /// Returns the number of bytes of a text that equal this continuation.
    fn agrees(&self, text: &str) -> usize {
        match self.form {
            Form::Base64 => {
                let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/-_=".contains(c);
                text.find(|c| !is_base64(c)).unwrap_or(text.len())
            }
            Form::Text => {
                let pairs = text.chars().zip(self.rest.chars());
                let same = pairs.take_while(|(a, b)| a == b);
                same.map(|(character, _)| character.len_utf8()).sum()
            }
        }
    }
}

/// Returns whether a word can begin at a position.
fn ends_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_none_or(|character| !is_word(character))
}

fn next_char(text: &str, at: usize) -> usize {
    text[at..]
        .chars()
        .next()
        .map_or(text.len(), |c| at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(number: u64) -> Origin {
        Origin {
            line: number,
            value: number,
        }
    }

    fn matcher(spellings: &[&str]) -> Matcher {
        let mut matcher = Matcher::default();
        for (number, spelling) in (1..).zip(spellings) {
            matcher.add(spelling, Form::Text, origin(number));
        }
        matcher.build();
        matcher
    }

    fn found(matcher: &Matcher, text: &str, is_secret: impl Fn(Origin) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        matcher.find(text, &is_secret, &mut found);
        found
            .into_iter()
            .map(|range| text[range].to_owned())
            .collect()
    }

    #[test]
    fn short_spellings_match_whole_words_and_the_longest_of_them() {
        let matcher = matcher(&["hunter", "hunter-22"]);
        let of = |text| found(&matcher, text, |_| true);
        assert_eq!(of("hunter, hunter-22!"), ["hunter", "hunter-22"]);
        assert_eq!(of("hunter-22x"), ["hunter"]);
        assert!(of("hunters xhunter _hunter hunteré").is_empty());
    }

    #[test]
    fn public_values_do_not_hide_secrets() {
        let matcher = matcher(&["abcdefghijkl-hunter", "hunter2hunter2"]);
        let text = "abcdefghijkl-hunter2hunter2";
        assert_eq!(found(&matcher, text, |o| o.line == 2), ["hunter2hunter2"]);
        assert!(found(&matcher, text, |_| false).is_empty());
    }

    #[test]
    fn the_rest_of_a_long_spelling_is_masked_as_far_as_it_agrees() {
        let long = "0123456789".repeat(30);
        let matcher = matcher(&[&long]);
        let of = |text: &str| found(&matcher, text, |_| true);
        assert_eq!(of(&format!("<{long}>")), [&*long]);
        assert_eq!(of(&format!("{}…", &long[..200])), [&long[..200]]);
        assert!(of(&long[..100]).is_empty());
    }

    #[test]
    fn a_head_with_many_continuations_masks_what_follows() {
        let head = "0123456789abcdef".repeat(8);
        let spellings: Vec<String> = (0..20).map(|n| format!("{head}{n}")).collect();
        let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
        let matcher = matcher(&spellings);
        let text = format!("a {head}15 b");
        assert_eq!(found(&matcher, &text, |_| true), [format!("{head}15 b")]);
    }

    #[test]
    fn adding_and_searching_by_turns_builds_each_spelling_a_few_times_only() {
        let mut matcher = Matcher::default();
        for number in 0..1000 {
            matcher.add(
                &format!("a-long-secret-{number:06}"),
                Form::Text,
                origin(number),
            );
            matcher.build();
        }
        // Sizes at least double from the last to the first.
        assert!(matcher.segments.len() < 15, "{}", matcher.segments.len());
        let text = "a-long-secret-000000 a-long-secret-000999";
        assert_eq!(found(&matcher, text, |_| true).len(), 2);
    }
}
