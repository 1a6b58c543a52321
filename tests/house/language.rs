//! Rules of docs/CONTRIBUTING.md on doc comments and names.

use crate::source::{self, Source};

/// Words that do not begin a sentence with a verb, or a noun phrase that defines an item.
const OPENINGS: [&str; 22] = [
    "All that", "Whatever", "How", "Nobody", "Nothing", "Of a", "Of an", "Of the", "The same",
    "Those", "Until", "What", "When", "Where", "Whether", "Which", "Who", "Whoever", "Whom",
    "Whose", "Why", "Theirs",
];

/// Names that say nothing: participles, idioms, and words with several meanings.
const NAMES: [&str; 27] = [
    "around",
    "asking",
    "beside",
    "gone",
    "held",
    "judge",
    "judged",
    "let_go",
    "look",
    "made",
    "make_so",
    "memo",
    "news",
    "of",
    "patience",
    "place",
    "play",
    "said",
    "seen",
    "stagehands",
    "stand",
    "told",
    "twice",
    "typed",
    "unasked",
    "unseen",
    "walk",
];

/// Names that say too little for a type. A longer name says which: `ApiCall`, `WatchState`.
const TYPES: [&str; 7] = ["answer", "call", "found", "parts", "scan", "state", "wrong"];

/// Words that no name begins with. Names of tests state the behavior: not `what_is_no_json_says_so`, but
/// `invalid_json_is_an_error`. Limits are called `MAX_…`.
const FIRST_WORDS: [&str; 8] = [
    "deepest", "longest", "most", "what", "whatever", "who", "whoever", "whose",
];

/// Words that no name contains, in any position.
const WORDS: [&str; 12] = [
    "anew",
    "ground",
    "immortal",
    "nobody",
    "patience",
    "rival",
    "rivals",
    "scene",
    "somebody",
    "stagehand",
    "whoever",
    "world",
];

/// Returns the first lines of doc comments that begin with a banned word, each with its place.
fn openings(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let mut previous = None;
    for (number, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"]
            .into_iter()
            .find(|marker| line.starts_with(marker));
        let is_first = marker.is_some() && marker != previous;
        previous = marker;
        let Some(text) = marker.and_then(|marker| line.strip_prefix(marker)) else {
            continue;
        };
        if is_first
            && OPENINGS
                .iter()
                .any(|opening| begins_with(text.trim_start(), opening))
        {
            found.push(format!("{}:{}:{text}", source.path, number + 1));
        }
    }
    found
}

/// Returns whether a text begins with these words.
fn begins_with(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Returns the banned names of a source: of its file, its functions, its types, its modules and its
/// constants.
fn names(source: &Source) -> Vec<String> {
    let (_, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let mut found = Vec::new();
    if is_banned(stem) {
        found.push(source.path.clone());
    }
    for (number, line) in source.text.lines().enumerate() {
        let name = defined_name(line);
        if let Some(name) = name.filter(|name| is_banned(&snake_case(name)) || is_vague_type(name))
        {
            found.push(format!("{}:{}: {name}", source.path, number + 1));
        }
    }
    found
}

/// Returns the name of the function, type, module or constant that a line defines.
fn defined_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let words: Vec<&str> = line.split([' ', '(', '<', '{', ';', ':', '=']).collect();
    let is_keyword = |word: &&str| ["fn", "struct", "enum", "trait", "type", "mod"].contains(word);
    let is_constant = |word: &&str| ["const", "static"].contains(word);
    let at = words.iter().position(is_keyword);
    let at = at.or_else(|| words.iter().position(is_constant))?;
    let is_modifier =
        |word: &&str| ["pub", "async", "const", "unsafe", "crate)", "super)", ""].contains(word);
    let name = words.get(at + 1).filter(|name| !name.is_empty())?;
    words[..at].iter().all(is_modifier).then_some(*name)
}

fn snake_case(name: &str) -> String {
    if !name.contains(char::is_lowercase) {
        return name.to_lowercase();
    }
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

/// Returns true for a type (a name in camel case) with a name of [`TYPES`].
fn is_vague_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
        && name.contains(char::is_lowercase)
        && TYPES.contains(&&*snake_case(name))
}

fn is_banned(name: &str) -> bool {
    let first = name.split('_').next().unwrap_or_default();
    NAMES.contains(&name)
        || FIRST_WORDS.contains(&first)
        || name.split('_').any(|word| WORDS.contains(&word))
}

fn checked_sources() -> Vec<Source> {
    let mut sources = source::of_repository();
    // The lists above contain the forbidden names.
    sources.retain(|source| !source.path.starts_with("tests/house/"));
    sources
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let found: Vec<String> = checked_sources().iter().flat_map(openings).collect();
    assert!(
        found.is_empty(),
        "{} comments:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_banned_opening_is_found() {
    let source = Source::new(
        "src/a.rs",
        "//! What it is.\n//! Why is no opening here.\n\n/// Whatsoever.\n/// Of a kind.\nfn a() {}\n\
         /// Returns whether.\n\n    /// Whether it is so.\n// Why.\n",
    );
    assert_eq!(
        openings(&source),
        ["src/a.rs:1: What it is.", "src/a.rs:9: Whether it is so."]
    );
}

#[test]
fn names_say_what_a_thing_is_or_does() {
    let found: Vec<String> = checked_sources().iter().flat_map(names).collect();
    assert!(
        found.is_empty(),
        "{} names:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_banned_name_is_found() {
    let source = Source::new(
        "src/told.rs",
        "pub(crate) struct Unseen;\nfn of(x: u8) {}\nasync fn offer() {}\nenum NewWorld {\n\
         let type_of = 1;\n// fn held()\nmod background;\nconst MOST_USED: u8 = 1;\n\
         const fn almost() {}\nfn what_is_done_is_done() {}\n\
         struct State;\nfn state() {}\n",
    );
    assert_eq!(
        names(&source),
        [
            "src/told.rs",
            "src/told.rs:1: Unseen",
            "src/told.rs:2: of",
            "src/told.rs:4: NewWorld",
            "src/told.rs:8: MOST_USED",
            "src/told.rs:10: what_is_done_is_done",
            "src/told.rs:11: State"
        ]
    );
}
