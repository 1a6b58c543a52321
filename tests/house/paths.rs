//! Checks that the documents for contributors name only files that exist.

use std::fs;
use std::path::Path;

const DOCUMENTS: [&str; 2] = ["docs/architecture.md", "docs/CONTRIBUTING.md"];
const FOLDERS: [&str; 3] = ["src/", "crates/", "tests/"];

/// Returns the paths of the repository in backquotes and in the targets of links.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let links = text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', '#']).next()?;
        Some(target.strip_prefix("../").unwrap_or(target))
    });
    let is_path = |path: &&str| {
        FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.contains(char::is_whitespace)
    };
    quoted.chain(links).filter(is_path).collect()
}

fn missing(text: &str, exists: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut missing = paths(text);
    missing.retain(|path| !exists(path));
    missing
}

#[test]
fn every_named_path_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).expect("a readable document");
        assert!(paths(&text).len() > 20, "{document} names few paths");
        let missing = missing(&text, |path| root.join(path).exists());
        assert!(missing.is_empty(), "{document}: {missing:#?}");
    }
}

#[test]
fn a_path_that_does_not_exist_is_found() {
    let text =
        "`src/good.rs`, `src/bad.rs`, `cargo test`, `tests/x y`, [link](../tests/bad.rs#top)";
    let missing = missing(text, |path| path.ends_with("good.rs"));
    assert_eq!(missing, ["src/bad.rs", "tests/bad.rs"]);
}
