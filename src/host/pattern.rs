//! Patterns over the names of a role's files: `*`, `**`, `?`, as in shells.

use super::regular_expression::{Error, Pattern};
use super::{HostResult, invalid};

/// Returns whether a name is meant as a pattern.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// The names that a pattern selects, sorted.
pub(super) fn select<'a>(
    pattern: &str,
    names: impl Iterator<Item = &'a str>,
) -> HostResult<Vec<&'a str>> {
    let refused = |error: Error| invalid(format!("`{pattern}` is not a pattern: {error}"));
    let expression = Pattern::new(&expression(pattern)).map_err(refused)?;
    let mut selected = Vec::new();
    for name in names {
        if expression.search(name).map_err(refused)?.is_match(name) {
            selected.push(name);
        }
    }
    selected.sort_unstable();
    Ok(selected)
}

/// The pattern as a regular expression.
fn expression(pattern: &str) -> String {
    let literal = regex::escape(pattern)
        .replace(r"\*\*/", "(?:.*/)?")
        .replace(r"\*\*", ".*")
        .replace(r"\*", "[^/]*")
        .replace(r"\?", "[^/]");
    format!("^{literal}$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        let names = ["b.yaml", "a.yaml", "a.json", "v1/c.yaml", "v1/x/d.yaml"];
        let found = |pattern| select(pattern, names.into_iter()).unwrap();
        assert_eq!(found("*.yaml"), ["a.yaml", "b.yaml"]);
        assert_eq!(found("?.json"), ["a.json"]);
        assert_eq!(found("v1/*"), ["v1/c.yaml"]);
        assert_eq!(found("v1/**"), ["v1/c.yaml", "v1/x/d.yaml"]);
        assert_eq!(found("**/d.yaml"), ["v1/x/d.yaml"]);
        assert_eq!(found("**/a.yaml"), ["a.yaml"]);
        assert_eq!(found("a+yaml"), [""; 0]);
    }
}
