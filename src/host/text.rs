//! Regular expressions: `regex_match`, `regex_find`, `regex_replace`.
//!
//! Of the `regex` crate, whose time is linear in the text: no pattern can hang a run.

use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic};

use super::memo::Memo;
use super::{Answer, invalid};

/// What one compiled pattern may take, a tenth of the crate's default: a few hundred alternatives fit.
pub(super) const PATTERN_BYTES: usize = 1 << 20;
/// The engine takes no longer text, but looks when it is there.
const MAX_TEXT: usize = 16 << 20;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Whether a pattern is found anywhere in a text; `^` and `$` anchor it.
    ///
    /// - `text`: where to look.
    /// - `pattern`: a regular expression, best in backticks, where `\` needs no doubling.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression.
    ///
    /// ```rhai
    /// assert(regex_match("web-12", `^web-\d+$`));
    /// assert(!regex_match("db", "^web"));
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_match(text: &str, pattern: &str) -> Answer<bool> {
        Ok(compile(pattern)?.is_match(text))
    }

    /// The first place where a pattern is found in a text, or `()`.
    ///
    /// Answers the text found; of a pattern with groups, an array of what each group found (`()`
    /// for a group that took no part).
    ///
    /// - `text`: where to look.
    /// - `pattern`: a regular expression.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression.
    ///
    /// ```rhai
    /// assert(regex_find("nginx:1.29.0", `\d+\.\d+`) == "1.29");
    /// assert(regex_find("nginx:1.29.0", `^(.+):(.+)$`) == ["nginx", "1.29.0"]);
    /// assert(regex_find("nginx", `\d`) == ());
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_find(text: &str, pattern: &str) -> Answer<Dynamic> {
        let regex = compile(pattern)?;
        let Some(found) = regex.captures(text) else {
            return Ok(Dynamic::UNIT);
        };
        let piece = |n| found.get(n).map_or(Dynamic::UNIT, |at| at.as_str().into());
        Ok(match found.len() {
            1 => piece(0),
            groups => (1..groups).map(piece).collect::<Array>().into(),
        })
    }

    /// Replaces every place where a pattern is found in a text.
    ///
    /// - `text`: where to look.
    /// - `pattern`: a regular expression.
    /// - `replacement`: `$1` and `${name}` stand for groups, `$$` for a dollar.
    ///
    /// Errors: `invalid` when the pattern is not a regular expression.
    ///
    /// ```rhai
    /// assert(regex_replace("My App!", "[^A-Za-z]+", "-") == "My-App-");
    /// assert(regex_replace("a=1", `(\w)=(\w)`, "$2=$1") == "1=a");
    /// ```
    #[rhai_fn(return_raw)]
    pub fn regex_replace(text: &str, pattern: &str, replacement: &str) -> Answer<String> {
        let regex = compile(pattern)?;
        if replaced_length(&regex, text, replacement, '$') > MAX_TEXT {
            let most = MAX_TEXT >> 20;
            return Err(invalid(format!("the result may be longer than {most} MiB")));
        }
        Ok(regex.replace_all(text, replacement).into_owned())
    }
}

/// The longest text that replacing all that is found may make; `mark` begins what stands for a group.
pub(super) fn replaced_length(regex: &Regex, text: &str, replacement: &str, mark: char) -> usize {
    // All that is found is in the text once, and as often again as the replacement repeats it.
    let copies = replacement.matches(mark).count() + 1;
    let found = regex.find_iter(text).count();
    let typed = found.saturating_mul(replacement.len());
    copies.saturating_mul(text.len()).saturating_add(typed)
}

/// A pattern, compiled once per thread.
pub(super) fn regex(pattern: &str) -> Result<Rc<Regex>, regex::Error> {
    thread_local! {
        static PATTERNS: Memo<Regex> = Memo::new();
    }
    let build = |text: &str| RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
    PATTERNS.with(|known| known.get(pattern, build))
}

/// Why a pattern is none, in a line: the crate draws it with the pattern, however long that is.
pub(super) fn why(error: &regex::Error) -> String {
    let drawn = error.to_string();
    let last = drawn.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ")
        .trim_end_matches('.')
        .to_owned()
}

fn compile(pattern: &str) -> Answer<Rc<Regex>> {
    regex(pattern).map_err(|error| invalid(format!("not a regular expression: {}", why(&error))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_what_is_replaced_is_known_before() {
        let of = |pattern: &str, text: &str, replacement: &str| {
            let regex = regex(pattern).unwrap();
            let length = regex.replace_all(text, replacement).len();
            (length, replaced_length(&regex, text, replacement, '$'))
        };
        assert_eq!(of("x", "axbx", "long"), (10, 12));
        let (length, reckoned) = of("(.+)", "abcd", "$1-$1");
        assert!(
            length <= reckoned && reckoned < 3 * length,
            "{length} {reckoned}"
        );
        let (length, reckoned) = of("", "abcd", "12");
        assert!(length <= reckoned, "{length} {reckoned}");
    }

    #[test]
    fn a_wrong_pattern_is_told_in_one_line() {
        let told = |pattern: &str| why(&regex(pattern).unwrap_err());
        assert_eq!(told("(((a"), "unclosed group");
        assert!(
            told("((a{1,1000}){1,1000}){1,1000}").starts_with("Compiled regex exceeds size limit")
        );
    }
}
