//! The manual is what is registered, and its examples work.

use std::path::Path;

use super::*;

#[test]
fn every_function_is_explained_and_shown() {
    for function in packages().iter().flat_map(|package| &package.functions) {
        let Function {
            name,
            signatures,
            doc,
        } = function;
        assert!(!doc.is_empty(), "{name} has no documentation");
        assert!(!examples(doc).is_empty(), "{name} has no example");
        for parameter in signatures
            .iter()
            .flat_map(|signature| parameters(signature))
        {
            let explained = doc.contains(&format!("`{parameter}`"));
            assert!(explained, "{name} does not explain `{parameter}`");
        }
    }
}

/// The names in `f(a: int, b: any) -> int`.
fn parameters(signature: &str) -> impl Iterator<Item = &str> {
    let list = signature.split(['(', ')']).nth(1).unwrap_or_default();
    list.split(", ")
        .filter_map(|parameter| Some(parameter.split_once(':')?.0))
}

#[test]
fn the_manual_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/host-functions.md");
    let manual = manual();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &manual).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        manual == committed,
        "stale: UPDATE_DOCS=1 cargo test --lib host::catalogue"
    );
}
