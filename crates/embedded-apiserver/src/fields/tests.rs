//! Tests of the table of fields.

use super::*;

#[test]
fn every_line_of_the_table_is_understood() {
    let types = types();
    let lines = TEXT.lines().count();
    let fields: usize = types.types.iter().map(|one| one.fields.len()).sum();
    assert_eq!(types.kinds.len() + types.types.len() + fields, lines);
}

#[test]
fn every_type_named_is_there() {
    let names: HashMap<&str, usize> = TEXT
        .lines()
        .filter_map(|line| line.strip_prefix("type "))
        .zip(0..)
        .collect();
    for line in TEXT.lines() {
        let shape = line.split(' ').nth(2).unwrap_or_default();
        let name = shape.trim_start_matches(['*', '[', ']', '{', '}']);
        let name = name.trim_start_matches("or:");
        assert!(
            !name.contains('/') || names.contains_key(name) || line.starts_with("kind"),
            "{line}"
        );
    }
}

#[test]
fn a_kind_is_found_by_its_api_version() {
    let found = types().of_kind("apps/v1", "Deployment").unwrap();
    assert_eq!(found.name, "apps/v1.Deployment");
    let spec = found
        .fields
        .iter()
        .find(|field| field.name == "spec")
        .unwrap();
    assert_eq!(spec.number, 2);
    assert!(types().of_kind("apps/v1", "Nonsense").is_none());
}
