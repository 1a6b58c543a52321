//! Regular expressions in the syntax of Go, whose searches are short.
//!
//! Kubernetes does not limit the time of a search. A search of the `regex` crate, like one of Go, takes the
//! length of the text times the positions of the pattern at worst, and it cannot be interrupted. So the
//! product is limited: for one search, and for all searches of a [`SearchBudget`].

mod cache;
mod syntax;
mod work;

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

pub use work::SearchBudget;

/// The maximum length of a pattern. Those of published definitions have up to 4 KiB.
const MAX_PATTERN: usize = 16 << 10;
/// The maximum compiled size of a pattern, the crate's default.
const COMPILED_BYTES: usize = 10 << 20;
/// The maximum cache of a pattern's search, an eighth of the crate's default.
const CACHE_BYTES: usize = 256 << 10;
/// The work to compile one state of a pattern, in units of a search.
const STATE_WORK: u64 = 10;
/// The number of groups that double the work of a search: each position copies the bounds of all groups.
const GROUPS_PER_COPY: u64 = 25;

/// A regular expression in the syntax of Go.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The expression in the syntax of the `regex` crate.
    translated: Arc<str>,
    /// The work of a search for each byte of the text.
    work: u64,
    /// The approximate number of states of the compiled expression.
    states: u64,
}

impl Pattern {
    /// Parses an expression. Errors have the message of the real server where it is known.
    pub fn parse(source: &str) -> Result<Self, String> {
        if source.len() > MAX_PATTERN {
            return Err(format!("longer than {} KiB", MAX_PATTERN >> 10));
        }
        let syntax::Translated { text, tree } = syntax::translate(source)?;
        let groups = count(tree.properties().explicit_captures_len());
        let copies = 1 + groups / GROUPS_PER_COPY;
        Ok(Self {
            translated: text.into(),
            work: positions(&tree).saturating_mul(copies).max(1),
            states: states(&tree).max(1),
        })
    }

    /// Parses an expression, and compiles it to find out whether it is too large.
    pub fn compile(source: &str) -> Result<Self, String> {
        let pattern = Self::parse(source)?;
        pattern.regex()?;
        Ok(pattern)
    }

    /// Returns whether the pattern matches a part of a text. Returns an error if the search could take too
    /// long.
    pub fn is_match(&self, text: &str) -> Result<bool, String> {
        self.search(text).map(|regex| regex.is_match(text))
    }

    /// Returns the compiled expression to search one text with.
    pub(super) fn search(&self, text: &str) -> Result<Arc<Regex>, String> {
        let regex = self.regex()?;
        work::spend_search(self.work.saturating_mul(count(text.len())), text.len())?;
        Ok(regex)
    }

    /// Returns the compiled expression, from the cache if possible.
    fn regex(&self) -> Result<Arc<Regex>, String> {
        cache::get(&self.translated, self.states, || {
            work::spend(self.states.saturating_mul(STATE_WORK))?;
            let builder = &mut RegexBuilder::new(&self.translated);
            let regex = builder
                .size_limit(COMPILED_BYTES)
                .dfa_size_limit(CACHE_BYTES);
            regex.build().map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
                error => error.to_string(),
            })
        })
    }
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// Returns how many positions of a pattern a search can be at, at most.
fn positions(tree: &Hir) -> u64 {
    total(tree, &|leaf| match leaf {
        HirKind::Literal(literal) => count(literal.0.len()),
        _ => 1,
    })
}

/// Returns the approximate number of states of a compiled pattern: a class has states for each range.
fn states(tree: &Hir) -> u64 {
    total(tree, &|leaf| match leaf {
        HirKind::Literal(literal) => count(literal.0.len()),
        HirKind::Class(Class::Unicode(class)) => 4 * count(class.ranges().len()),
        _ => 1,
    })
}

/// Returns the sum of the sizes of the leaves of a tree, each as often as repetitions repeat it.
fn total(tree: &Hir, size: &impl Fn(&HirKind) -> u64) -> u64 {
    match tree.kind() {
        HirKind::Capture(group) => total(&group.sub, size).saturating_add(1),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            // Each time may be the last.
            let each = total(&repetition.sub, size).saturating_add(1);
            each.saturating_mul(u64::from(times))
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let parts = parts.iter().map(|part| total(part, size));
            parts.fold(0, u64::saturating_add)
        }
        leaf => size(leaf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(?:[01]{0,n}1)*2` in random digits makes the crate look at each position for each byte.
    fn slow(repetitions: usize) -> Pattern {
        Pattern::compile(&format!("(?:[01]{{0,{repetitions}}}1)*2")).unwrap()
    }

    #[test]
    fn a_search_that_could_take_long_is_refused() {
        let text = "01".repeat(32 << 10);
        assert!(slow(500).search(&text).is_ok());
        assert_eq!(
            slow(1000).is_match(&text),
            Err("a search of 64 KiB for this pattern could take too long".to_owned())
        );
    }

    #[test]
    fn many_short_searches_are_refused_together() {
        let text = "01".repeat(16 << 10);
        let searches = |budget: Option<SearchBudget>| {
            let _budget = budget;
            (0..10).filter(|_| slow(1000).search(&text).is_ok()).count()
        };
        assert_eq!(searches(None), 10, "each search has a budget of its own");
        assert_eq!(searches(Some(SearchBudget::begin())), 7);
        assert_eq!(searches(None), 10, "the budget has ended");
    }

    #[test]
    fn patterns_of_published_definitions_search_objects_of_the_maximum_size() {
        let text = "x".repeat(1 << 20);
        for pattern in [
            r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            r"^[^\s/]+(/[^\s]+)*$",
        ] {
            assert!(
                Pattern::compile(pattern).unwrap().search(&text).is_ok(),
                "{pattern}"
            );
        }
        let name =
            "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?){0,6}$";
        assert_eq!(Pattern::compile(name).unwrap().is_match("a-b.c"), Ok(true));
        assert!(Pattern::compile(r"^[\pL\pN_-]{1,63}$").is_ok());
    }

    #[test]
    fn a_pattern_that_is_too_large_is_refused() {
        let error = |source: &str| Pattern::compile(source).unwrap_err();
        assert_eq!(error(&r"\pL{1000}".repeat(9)), "expression too large");
        assert_eq!(error(&"a".repeat(MAX_PATTERN + 1)), "longer than 16 KiB");
    }

    #[test]
    fn compiling_many_patterns_is_limited() {
        let _budget = SearchBudget::begin();
        let refused = |number: usize| Pattern::compile(&format!(r"\pL{{300}}{number}")).is_err();
        assert!((0..100).any(refused));
    }
}
