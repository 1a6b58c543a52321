//! Texts of the repository refer only to documents that a reader of the repository has.

use std::path::Path;
use std::process::Command;

use regex::Regex;

/// Documents of a plan, and numbers of issues without a link.
const ABSENT: [&str; 3] = [
    r"\bproduct [A-Z]\d+\b",
    r"\b(?:product|design|style|language)\.md\b",
    r"\bissues? #?\d+\b",
];

/// Returns the lines that refer to an absent document.
fn references(text: &str) -> Vec<(usize, &str)> {
    let patterns = ABSENT.map(|pattern| Regex::new(pattern).expect("a regular expression"));
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| patterns.iter().any(|pattern| pattern.is_match(line)))
        .map(|(number, line)| (number + 1, line))
        .collect()
}

/// Returns false for the files of this folder: they contain the texts that they forbid.
fn is_checked(path: &str) -> bool {
    !path.starts_with("tests/house/")
}

/// Returns the paths of the repository's files.
fn files(root: &Path) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git");
    assert!(output.status.success(), "git ls-files failed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn no_text_refers_to_an_absent_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for path in files(root).iter().filter(|path| is_checked(path)) {
        // A file that is not UTF-8 is not a text; a deleted file is still in the index.
        let Ok(text) = std::fs::read_to_string(root.join(path)) else {
            continue;
        };
        found.extend(
            references(&text)
                .iter()
                .map(|(line, text)| format!("{path}:{line}: {text}")),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_reference_to_an_absent_document_is_found() {
    let text = "as product C5 says\nsee design.md\nissue 12\nhttps://github.com/a/b/issues/12\n\
        the product of 5\nredesign.md";
    let lines: Vec<usize> = references(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2, 3]);
}
