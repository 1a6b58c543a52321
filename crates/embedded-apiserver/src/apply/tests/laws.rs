//! Rules that hold for every apply.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static WIDGETS: LazyLock<Schema> = LazyLock::new(|| {
    let recorded = Value::Object(unpack(RECORDED));
    Schema::custom(&recorded["custom"])
});

fn manager(name: &str) -> Manager<'_> {
    Manager {
        name,
        api_version: "smd.io/v1",
        kind: "Gizmo",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        reset: &[&["status"]],
        versions: &[],
    }
}

fn config(spec: &Value) -> Value {
    json!({"apiVersion": "smd.io/v1", "kind": "Gizmo", "metadata": {"name": "a"}, "spec": spec})
}

/// Generates specs with distinct items. Their fields and keys begin with one of two letters.
///
/// No list or map is empty: an empty list has no owner, and no path remains of a list that an apply empties.
fn spec(own: &'static str) -> impl Strategy<Value = Value> {
    let many = prop::collection::btree_map("[a-c]", "[x-z]", 1..3);
    let tags = prop::collection::btree_set("[a-e]", 1..4);
    let ports = prop::collection::btree_map(0..4_i32, prop::option::of("[a-z]"), 1..3);
    (many, tags, ports).prop_map(move |(many, tags, ports)| {
        let offset = if own == "m" { 0 } else { 100 };
        let many: serde_json::Map<String, Value> = many
            .into_iter()
            .map(|(key, value)| (format!("{own}{key}"), value.into()))
            .collect();
        let tags: Vec<String> = tags.into_iter().map(|tag| format!("{own}{tag}")).collect();
        let ports: Vec<Value> = ports
            .into_iter()
            .map(|(port, note)| match note {
                Some(note) => json!({"port": port + offset, "proto": "TCP", "note": note}),
                None => json!({"port": port + offset, "proto": "UDP"}),
            })
            .collect();
        json!({"many": many, "tags": tags, "ports": ports})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_apply_is_idempotent(first in spec("m"), second in spec("m")) {
        let schema = &*WIDGETS;
        let me = manager("m");
        let live = apply(schema, None, &config(&first), &me, false).unwrap();
        let once = apply(schema, Some(&live), &config(&second), &me, false).unwrap();
        let twice = apply(schema, Some(&once), &config(&second), &me, false).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn applies_of_different_fields_commute_but_for_order(one in spec("m"), other in spec("n")) {
        let schema = &*WIDGETS;
        let (m, n) = (manager("m"), manager("n"));
        let (one, other) = (config(&one), config(&other));
        let first = apply(schema, None, &one, &m, false).unwrap();
        let first = apply(schema, Some(&first), &other, &n, false).unwrap();
        let second = apply(schema, None, &other, &n, false).unwrap();
        let second = apply(schema, Some(&second), &one, &m, false).unwrap();
        let place = schema.root();
        prop_assert_eq!(fields::fields(place, &first), fields::fields(place, &second));
    }

    #[test]
    fn a_field_set_survives_the_wire(spec in spec("m")) {
        let schema = &*WIDGETS;
        let set = fields::fields(schema.root(), &config(&spec));
        prop_assert_eq!(PathSet::parse(&set.wire()).unwrap(), set);
    }

    #[test]
    fn fields_that_a_manager_drops_are_removed(first in spec("m")) {
        let schema = &*WIDGETS;
        let me = manager("m");
        let live = apply(schema, None, &config(&first), &me, false).unwrap();
        let mut nothing = config(&Value::Null);
        nothing.as_object_mut().unwrap().remove("spec");
        let bare = apply(schema, Some(&live), &nothing, &me, false).unwrap();
        prop_assert!(bare.get("spec").is_none_or(Value::is_null), "{}", bare);
        prop_assert!(bare["metadata"].get("managedFields").is_none());
    }
}
