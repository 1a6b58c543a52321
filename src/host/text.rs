//! Regular expressions: `regex_match`, `regex_find`, `regex_replace`.
//!
//! A search of the `regex` crate takes at worst the length of the text times the size of the pattern, and
//! cannot be interrupted. So both are bounded, and each match passes a checkpoint. A usual search takes
//! milliseconds. One with a pattern that is made to be slow takes 40 s for a text of 64 KiB and 140 s for one
//! of 2 MiB (`(?:[01]{0,n}1)*2` with the largest `n`, in random `0` and `1`).

use std::rc::Rc;

use regex::{Match, Regex, RegexBuilder};
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, EvalAltResult};

use super::compile_cache::CompileCache;
use super::{HostResult, invalid};
use crate::script;

/// The maximum compiled size of a pattern, a tenth of the crate's default: a few hundred alternatives fit.
pub(super) const PATTERN_BYTES: usize = 1 << 20;
/// The maximum compiled size of a pattern for a text over [`LONG_TEXT`].
const SMALL_PATTERN_BYTES: usize = 128 << 10;
/// The maximum cache of a pattern's search: a quarter of the crate's default.
const DFA_BYTES: usize = 512 << 10;
/// The maximum length of a text that any pattern may search.
const LONG_TEXT: usize = 64 << 10;
/// The maximum length of a text to search: more than an object can have.
const MAX_SEARCHED: usize = 2 << 20;
/// The maximum length of a result. The engine refuses a longer one only after it exists.
const MAX_TEXT: usize = 16 << 20;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Returns whether a pattern matches anywhere in a text; `^` and `$` anchor it.
    ///
    /// A search is bounded and cannot be interrupted: a text has at most 2 MiB, and a pattern compiles
    /// to at most 1 MiB, over 64 KiB of text to 128 KiB. Within the bounds, a pattern that is made to
    /// be slow takes up to 40 s in 64 KiB and 140 s in 2 MiB: do not take patterns from a custom
    /// resource.
    ///
    /// - `text`: the text to search.
    /// - `pattern`: a regular expression, best in backticks, where `\` needs no doubling.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression, or a bound is exceeded.
    ///
    /// ```rhai
    /// assert(regex_match("web-12", `^web-\d+$`));
    /// assert(!regex_match("db", "^web"));
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_match(text: &str, pattern: &str) -> HostResult<bool> {
        let regex = compile(text, pattern).map_err(refused)?;
        Ok(regex.is_match(text))
    }

    /// Returns the first match of a pattern in a text, or `()`.
    ///
    /// For a pattern with groups, it returns an array with the match of each group (`()` for a group
    /// that took no part). The bounds are those of `regex_match`.
    ///
    /// - `text`: the text to search.
    /// - `pattern`: a regular expression.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression, or a bound is exceeded.
    ///
    /// ```rhai
    /// assert(regex_find("nginx:1.29.0", `\d+\.\d+`) == "1.29");
    /// assert(regex_find("nginx:1.29.0", `^(.+):(.+)$`) == ["nginx", "1.29.0"]);
    /// assert(regex_find("nginx", `\d`) == ());
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_find(text: &str, pattern: &str) -> HostResult<Dynamic> {
        let regex = compile(text, pattern).map_err(refused)?;
        let Some(found) = regex.captures(text) else {
            return Ok(Dynamic::UNIT);
        };
        let piece = |n| found.get(n).map_or(Dynamic::UNIT, |at| at.as_str().into());
        Ok(match found.len() {
            1 => piece(0),
            groups => (1..groups).map(piece).collect::<Array>().into(),
        })
    }

    /// Replaces all matches of a pattern in a text.
    ///
    /// The bounds are those of `regex_match`; the result has at most 16 MiB.
    ///
    /// - `text`: the text to search.
    /// - `pattern`: a regular expression.
    /// - `replacement`: `$1` and `${name}` stand for groups, `$$` for a dollar.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression, or a bound is exceeded.
    ///
    /// ```rhai
    /// assert(regex_replace("My App!", "[^A-Za-z]+", "-") == "My-App-");
    /// assert(regex_replace("a=1", `(\w)=(\w)`, "$2=$1") == "1=a");
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_replace(text: &str, pattern: &str, replacement: &str) -> HostResult<String> {
        let regex = compile(text, pattern).map_err(refused)?;
        replace_all(&regex, text, replacement).map_err(refused)
    }
}

/// Returns the error of a script for a refused search or replacement.
fn refused(message: String) -> Box<EvalAltResult> {
    match script::checkpoint() {
        Ok(()) => invalid(message),
        Err(over) => over,
    }
}

/// Replaces all matches, with a checkpoint for each. A result that may be too long is refused before it is
/// made. The error is a message.
pub(super) fn replace_all(regex: &Regex, text: &str, replacement: &str) -> Result<String, String> {
    // Each `$` stands for one group at most, which is at most as long as the match.
    let groups = replacement.matches('$').count();
    let mut made = String::new();
    let mut copied = 0;
    let mut replace = |found: Match, expand: &dyn Fn(&mut String)| -> Result<(), String> {
        checkpoint::tick().map_err(|interrupted| interrupted.to_string())?;
        let longest = found
            .len()
            .saturating_mul(groups)
            .saturating_add(replacement.len());
        made.push_str(&text[copied..found.start()]);
        if made.len().saturating_add(longest) > MAX_TEXT {
            let most = MAX_TEXT >> 20;
            return Err(format!("the result may be longer than {most} MiB"));
        }
        expand(&mut made);
        copied = found.end();
        Ok(())
    };
    if groups == 0 {
        for found in regex.find_iter(text) {
            replace(found, &|made| made.push_str(replacement))?;
        }
    } else {
        for groups in regex.captures_iter(text) {
            let found = groups.get_match();
            replace(found, &|made| groups.expand(replacement, made))?;
        }
    }
    made.push_str(&text[copied..]);
    Ok(made)
}

/// Compiles a pattern, once per thread.
pub(super) fn regex(pattern: &str) -> Result<Rc<Regex>, regex::Error> {
    thread_local! {
        static PATTERNS: CompileCache<Regex> = CompileCache::new();
    }
    PATTERNS.with(|known| known.get(pattern, |text| build(text, PATTERN_BYTES)))
}

/// Compiles a pattern for long texts, once per thread.
fn small_regex(pattern: &str) -> Result<Rc<Regex>, regex::Error> {
    thread_local! {
        static PATTERNS: CompileCache<Regex> = CompileCache::new();
    }
    PATTERNS.with(|known| known.get(pattern, |text| build(text, SMALL_PATTERN_BYTES)))
}

fn build(pattern: &str, bytes: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .size_limit(bytes)
        .dfa_size_limit(DFA_BYTES)
        .build()
}

/// Returns the cause of an error in one line. The crate shows it below the pattern, however long that is.
fn pattern_error(error: &regex::Error) -> String {
    let drawn = error.to_string();
    let last = drawn.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ")
        .trim_end_matches('.')
        .to_owned()
}

/// Compiles a pattern for a text; refuses both where a search could take long. The error is a message.
pub(super) fn compile(text: &str, pattern: &str) -> Result<Rc<Regex>, String> {
    if text.len() > MAX_SEARCHED {
        return Err(format!(
            "cannot search a text of more than {} MiB with a regular expression",
            MAX_SEARCHED >> 20
        ));
    }
    let is_long = text.len() > LONG_TEXT;
    let compiled = if is_long {
        small_regex(pattern)
    } else {
        regex(pattern)
    };
    compiled.map_err(|error| {
        let why = pattern_error(&error);
        if is_long && regex(pattern).is_ok() {
            let most = LONG_TEXT >> 10;
            return format!("the pattern is too large for a text of more than {most} KiB: {why}");
        }
        format!("not a regular expression: {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_is_that_of_the_crate() {
        for (pattern, text, replacement) in [
            ("x", "axbxx", "long"),
            ("(.)(.)", "abcde", "$2${1}-$$"),
            ("", "abc", "<$0>"),
            ("", "abc", "-"),
            ("z", "abc", "-"),
            ("(?<n>b)?c", "abcc", "[$n|$none]"),
        ] {
            let regex = regex(pattern).unwrap();
            let expected = regex.replace_all(text, replacement);
            assert_eq!(replace_all(&regex, text, replacement).unwrap(), expected);
        }
    }

    #[test]
    fn a_replacement_that_multiplies_is_refused_before_it_is_made() {
        let regex = regex("(?s).+").unwrap();
        let measurement = allocation_meter::Measurement::start();
        let refused = replace_all(&regex, &"x".repeat(1 << 20), &"$0".repeat(1 << 20));
        assert!(refused.unwrap_err().contains("longer than 16 MiB"));
        assert!(measurement.peak() < 8 << 20, "{}", measurement.peak());
    }

    #[test]
    fn replacing_is_interrupted() {
        let text = "x".repeat(1_000);
        let _interrupted = checkpoint::install(|| false);
        for replacement in ["y", "$0"] {
            assert!(replace_all(&regex("x").unwrap(), &text, replacement).is_err());
        }
    }

    #[test]
    fn long_texts_take_small_patterns_only() {
        let large = format!("[a-z]{{{}}}", 2_000);
        let short = "x".repeat(LONG_TEXT);
        let long = "x".repeat(MAX_SEARCHED);
        assert!(compile(&short, &large).is_ok());
        let error = compile(&long, &large).unwrap_err();
        assert!(
            error.contains("too large for a text of more than 64 KiB"),
            "{error}"
        );
        assert!(compile(&long, r"(\w+)-x").is_ok());
        let error = compile(&(long + "x"), "x").unwrap_err();
        assert!(error.contains("more than 2 MiB"), "{error}");
    }

    #[test]
    fn a_wrong_pattern_is_told_in_one_line() {
        let told = |pattern: &str| pattern_error(&regex(pattern).unwrap_err());
        assert_eq!(told("(((a"), "unclosed group");
        assert!(
            told("((a{1,1000}){1,1000}){1,1000}").starts_with("Compiled regex exceeds size limit")
        );
    }
}
