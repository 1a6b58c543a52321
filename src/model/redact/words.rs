//! Public words: those of Kubernetes, and those of public texts.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use twox_hash::XxHash3_64;

/// The fingerprint of a word. Words are stored and compared as fingerprints.
pub(super) fn fingerprint(word: &str) -> u64 {
    XxHash3_64::oneshot(word.as_bytes())
}

/// Words of public texts, such as a role's files. Takes eight bytes per word.
#[derive(Clone, Default)]
pub struct WordSet(HashSet<u64>);

impl WordSet {
    /// Adds the words of a text: its lines, its parts between white space or quotes, and the names,
    /// addresses and identifiers in these parts.
    pub fn add_text(&mut self, text: &str) {
        let is_quote = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
        let is_structure = |c: char| {
            is_quote(c) || matches!(c, ',' | ';' | '=' | '(' | ')' | '[' | ']' | '{' | '}')
        };
        let is_no_name = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.');
        for line in text.lines() {
            self.add(line);
            line.split(is_quote).for_each(|word| self.add(word));
            line.split(is_structure).for_each(|word| self.add(word));
            line.split(is_no_name).for_each(|word| self.add(word));
            line.split(|c: char| !is_word(c))
                .for_each(|word| self.add(word));
        }
    }

    /// Adds one word.
    pub fn add(&mut self, word: &str) {
        let word = word.trim();
        if word.len() >= MIN_CHARS {
            self.0.insert(fingerprint(word));
        }
    }

    pub(super) fn contains(&self, fingerprint: u64) -> bool {
        self.0.contains(&fingerprint)
    }
}

impl fmt::Debug for WordSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WordSet({} words)", self.0.len())
    }
}

/// The words of Kubernetes, and defaults of common software, in lower case.
static VOCABULARY: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("vocabulary.txt").lines();
    let words = lines.filter(|line| !line.starts_with('#'));
    words.flat_map(str::split_whitespace).collect()
});

/// Returns whether a text is a word that Kubernetes and common software use, in any case.
pub(super) fn is_common(text: &str) -> bool {
    // No word of the list is longer.
    text.len() <= 40 && VOCABULARY.contains(&*text.to_ascii_lowercase())
}

/// Returns whether a line of a longer text is structure only, such as `kind: Secret` and the first line of a
/// certificate: it consists of common words.
pub(super) fn is_structure(line: &str) -> bool {
    if let Some(inner) = line.strip_prefix("-----") {
        let label = inner.strip_suffix("-----");
        return label.is_some_and(|label| {
            let is_upper = |c: char| c.is_ascii_uppercase() || c == ' ';
            (label.starts_with("BEGIN ") || label.starts_with("END "))
                && label.chars().all(is_upper)
        });
    }
    let line = line.trim_start_matches("- ");
    match line.split_once(':') {
        None => is_common(line),
        Some((key, value)) => {
            let value = value.trim_matches([' ', '"', '\'', ',']);
            is_common(key.trim_matches(['"', '\''])) && (value.is_empty() || is_common(value))
        }
    }
}

/// The minimum length of a secret. Shorter values would mask ordinary words.
pub(super) const MIN_CHARS: usize = 6;

pub(super) fn is_short(text: &str) -> bool {
    text.chars().nth(MIN_CHARS - 1).is_none()
}

/// Returns whether a character is a part of a word, next to which a short value is not recognized.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_scripts_and_templates_are_known_in_their_shapes() {
        let mut words = WordSet::default();
        words.add_text(
            "let url = `postgres://${host}:5432/orders`; // see example.org/a\nuser: db-admin\n",
        );
        for word in [
            "postgres",
            "orders",
            "example.org",
            "db-admin",
            "user: db-admin",
        ] {
            assert!(words.contains(fingerprint(word)), "{word}");
        }
        for word in ["postgre", "rders", "admin-db"] {
            assert!(!words.contains(fingerprint(word)), "{word}");
        }
    }

    #[test]
    fn structure_is_made_of_common_words() {
        for line in [
            "-----BEGIN CERTIFICATE-----",
            "apiVersion: v1",
            "- name: default",
            "\"username\": \"postgres\",",
            "clusters:",
        ] {
            assert!(is_structure(line), "{line}");
        }
        for line in [
            "-----BEGIN hunter22-----",
            "password: hunter22",
            "hunter22: default",
            "correct-horse",
        ] {
            assert!(!is_structure(line), "{line}");
        }
    }

    #[test]
    fn the_vocabulary_is_in_lower_case_and_short() {
        for word in VOCABULARY.iter() {
            assert_eq!(*word, word.to_ascii_lowercase());
            assert!(word.len() <= 40, "{word}");
        }
    }
}
