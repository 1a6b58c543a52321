//! Checks strings as schemas of custom resources do: regular expressions in Go's dialect, and formats.

use regex::Regex;

use crate::crd;

/// Compiles a regular expression of Go. Fails with the message of the real server where it is known.
pub fn compile_pattern(expression: &str) -> Result<Regex, String> {
    crd::compile_pattern(expression)
}

/// Returns true if a string has a format. All strings have a format that the API server does not know.
pub fn has_format(text: &str, format: &str) -> bool {
    crd::has_text_format(text, format)
}
