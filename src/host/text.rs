//! Regular expressions: `regex_match`, `regex_find`, `regex_replace`.

use regex::{Match, Regex};
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, EvalAltResult};

use super::regular_expression::Pattern;
use super::{HostResult, invalid};
use crate::script;

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
    /// A search cannot be interrupted, so it is limited to about a second: a text has at most 2 MiB, a
    /// pattern at most 16 KiB, and the length of the text times the positions of the pattern is at
    /// most 100,000,000. A position is a character or a class, counted twice for each time that a
    /// repetition such as `{0,100}` can repeat it. Each 25 groups add as much work again.
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
        let pattern = Pattern::new(pattern).map_err(|error| refused(&error))?;
        let regex = pattern.search(text).map_err(|error| refused(&error))?;
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
        let pattern = Pattern::new(pattern).map_err(|error| refused(&error))?;
        let regex = pattern.search(text).map_err(|error| refused(&error))?;
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
        let pattern = Pattern::new(pattern).map_err(|error| refused(&error))?;
        let regex = pattern.search(text).map_err(|error| refused(&error))?;
        replace_all(regex, text, replacement).map_err(|error| refused(&error))
    }
}

/// Returns the error of a script for a refused search or replacement.
fn refused(message: &impl ToString) -> Box<EvalAltResult> {
    match script::checkpoint() {
        Ok(()) => invalid(message.to_string()),
        Err(over) => over,
    }
}

/// Replaces all matches, with a checkpoint for each. A result that may be too long is refused before it is
/// made. The error is a message.
pub(super) fn replace_all(regex: &Regex, text: &str, replacement: &str) -> Result<String, String> {
    // Each `$` inserts at most one group, and a group is at most as long as the match.
    let groups = replacement.matches('$').count();
    let mut made = String::new();
    let mut copied = 0;
    let mut replace = |found: Match, expand: &dyn Fn(&mut String)| -> Result<(), String> {
        // The search for one match may be long.
        checkpoint::pass().map_err(|interrupted| interrupted.to_string())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str) -> Regex {
        Regex::new(pattern).unwrap()
    }

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
            let regex = regex(pattern);
            let expected = regex.replace_all(text, replacement);
            assert_eq!(replace_all(&regex, text, replacement).unwrap(), expected);
        }
    }

    #[test]
    fn a_replacement_that_multiplies_is_refused_before_it_is_made() {
        let regex = regex("(?s).+");
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
            assert!(replace_all(&regex("x"), &text, replacement).is_err());
        }
    }
}
