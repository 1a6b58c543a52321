//! Checks strings like schemas of custom resources: regular expressions in the syntax of Go, and formats.

use regex::Regex;

use crate::crd;

/// Compiles a regular expression in the syntax of Go. Errors have the message of the real server where it is
/// known.
pub fn compile_pattern(expression: &str) -> Result<Regex, String> {
    crd::compile_pattern(expression)
}

/// Returns whether a string has a format. Every string has a format that the API server does not know.
pub fn has_format(text: &str, format: &str) -> bool {
    crd::has_text_format(text, format)
}
