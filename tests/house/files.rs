//! Checks that each file begins with a doc comment and has at most 500 lines of code.

use crate::source::{self, Source};

/// Lines of code in a file, tests apart.
const MAX_LINES: usize = 500;

fn without_head(sources: &[Source]) -> Vec<&str> {
    sources
        .iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path.as_str())
        .collect()
}

fn too_long(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| !source.is_test())
        .map(|source| (source, source.code().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(source, lines)| format!("{}: {lines} lines of code", source.path))
        .collect()
}

#[test]
fn every_file_opens_with_its_purpose() {
    assert_eq!(without_head(&source::of_workspace()), [""; 0]);
}

#[test]
fn a_file_without_its_purpose_is_found() {
    let sources = [
        Source::new("good.rs", "//! What it is for.\n"),
        Source::new("bad.rs", "use std::fmt;\n"),
    ];
    assert_eq!(without_head(&sources), ["bad.rs"]);
}

#[test]
fn no_file_is_too_long() {
    assert_eq!(too_long(&source::of_workspace()), [""; 0]);
}

#[test]
fn a_file_that_is_too_long_is_found_and_tests_do_not_count() {
    let code = |lines: usize| "let x = 1;\n".repeat(lines);
    let sources = [
        Source::new("good.rs", &format!("{}\n// why\n", code(500))),
        Source::new("tested.rs", &format!("#[cfg(test)]\n{}", code(600))),
        Source::new("apply/tests.rs", &code(600)),
        Source::new("bad.rs", &code(501)),
    ];
    assert_eq!(too_long(&sources), ["bad.rs: 501 lines of code"]);
}
