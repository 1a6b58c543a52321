//! Each change of a CRD is judged right: what breaks, and what does not.

use serde_json::json;

use super::*;
use crate::model::yaml;

/// Schemas of `spec`, before and after, and a part of the message.
const BREAKING: [(&str, &str, &str); 31] = [
    (
        "properties: {a: {type: string}, b: {type: integer}}",
        "properties: {b: {type: integer}}",
        "spec.a: the field is removed",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {b: {type: string}}",
        "spec.a: the field is renamed to b",
    ),
    (
        "properties: {a: {type: object, properties: {b: {type: string}}}}",
        "properties: {a: {type: object, properties: {}}}",
        "spec.a.b: the field is removed",
    ),
    (
        "properties: {a: {type: array, items: {type: object, properties: {b: {type: string}}}}}",
        "properties: {a: {type: array, items: {type: object}}}",
        "spec.a[].b: the field is removed",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: integer}}",
        "from string to integer",
    ),
    (
        "properties: {a: {type: number}}",
        "properties: {a: {type: integer}}",
        "from number to integer",
    ),
    (
        "properties: {a: {x-kubernetes-int-or-string: true}}",
        "properties: {a: {type: integer}}",
        "from integer or string to integer",
    ),
    (
        "properties: {a: {x-kubernetes-preserve-unknown-fields: true}}",
        "properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
        "from any to object",
    ),
    (
        "properties: {a: {type: array, items: {type: string}}}",
        "properties: {a: {type: array, items: {type: boolean}}}",
        "spec.a[]: the type",
    ),
    (
        "properties: {a: {type: string, nullable: true}}",
        "properties: {a: {type: string}}",
        "null is no longer valid",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, enum: [x]}}",
        "gets an enum",
    ),
    (
        "properties: {a: {type: string, enum: [x, w]}}",
        "properties: {a: {type: string, enum: [x, z]}}",
        "enum no longer contains \"w\"",
    ),
    (
        "properties: {a: {type: integer}}",
        "properties: {a: {type: integer, minimum: 0}}",
        "minimum changes from none to 0",
    ),
    (
        "properties: {a: {type: integer, minimum: 1}}",
        "properties: {a: {type: integer, minimum: 2}}",
        "minimum changes from 1 to 2",
    ),
    (
        "properties: {a: {type: integer, maximum: 9}}",
        "properties: {a: {type: integer, maximum: 8}}",
        "maximum changes from 9 to 8",
    ),
    (
        "properties: {a: {type: integer, maximum: 9}}",
        "properties: {a: {type: integer, maximum: 9, exclusiveMaximum: true}}",
        "maximum changes",
    ),
    (
        "properties: {a: {type: integer, multipleOf: 2}}",
        "properties: {a: {type: integer, multipleOf: 4}}",
        "multipleOf changes to 4",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, minLength: 1}}",
        "minLength changes from none to 1",
    ),
    (
        "properties: {a: {type: string, maxLength: 9}}",
        "properties: {a: {type: string, maxLength: 8}}",
        "maxLength changes from 9 to 8",
    ),
    (
        "properties: {a: {type: array, items: {type: string}}}",
        "properties: {a: {type: array, items: {type: string}, maxItems: 2}}",
        "maxItems changes",
    ),
    (
        "properties: {a: {type: array, items: {type: string}}}",
        "properties: {a: {type: array, items: {type: string}, minItems: 2}}",
        "minItems changes",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, pattern: '^a'}}",
        "the pattern changes",
    ),
    (
        "properties: {a: {type: string, pattern: '^a'}}",
        "properties: {a: {type: string, pattern: '^b'}}",
        "the pattern changes",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, format: ipv4}}",
        "the format changes to \"ipv4\"",
    ),
    (
        "properties: {a: {type: integer, format: int64}}",
        "properties: {a: {type: integer, format: int32}}",
        "the format changes to \"int32\"",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string}}\nrequired: [a]",
        "spec.a: the field becomes required",
    ),
    (
        "properties: {a: {type: string, default: x}}\nrequired: [a]",
        "properties: {a: {type: string}}\nrequired: [a]",
        "spec.a: the field becomes required",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}",
        "is new",
    ),
    (
        "properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
        "properties: {a: {type: object}}",
        "unknown fields are no longer kept",
    ),
    (
        "properties: {a: {type: object, additionalProperties: {type: string}}}",
        "properties: {a: {type: object, additionalProperties: {type: integer}}}",
        "spec.a.*: the type",
    ),
    (
        "properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: atomic}}",
        "properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: set}}",
        "x-kubernetes-list-type changes",
    ),
];

const HARMLESS: [(&str, &str); 32] = [
    ("properties: {}", "properties: {a: {type: string}}"),
    (
        "properties: {}",
        "properties: {a: {type: string, default: x}}\nrequired: [a]",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, default: x}}\nrequired: [a]",
    ),
    (
        "properties: {a: {type: string}}\nrequired: [a]",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: string, default: x}}",
        "properties: {a: {type: string, default: w}}",
    ),
    (
        "properties: {a: {type: string, default: x}}",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: string, description: x}}",
        "properties: {a: {type: string, description: y}}",
    ),
    (
        "properties: {a: {type: integer}}",
        "properties: {a: {type: number}}",
    ),
    (
        "properties: {a: {type: integer}}",
        "properties: {a: {x-kubernetes-int-or-string: true}}",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {x-kubernetes-int-or-string: true}}",
    ),
    (
        "properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
        "properties: {a: {x-kubernetes-preserve-unknown-fields: true}}",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, nullable: true}}",
    ),
    (
        "properties: {a: {type: string, enum: [x]}}",
        "properties: {a: {type: string, enum: [w, x]}}",
    ),
    (
        "properties: {a: {type: string, enum: [x]}}",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: integer, minimum: 1}}",
        "properties: {a: {type: integer, minimum: 0}}",
    ),
    (
        "properties: {a: {type: integer, minimum: 1}}",
        "properties: {a: {type: integer}}",
    ),
    (
        "properties: {a: {type: integer, maximum: 8}}",
        "properties: {a: {type: integer, maximum: 9}}",
    ),
    (
        "properties: {a: {type: integer, maximum: 9, exclusiveMaximum: true}}",
        "properties: {a: {type: integer, maximum: 9}}",
    ),
    (
        "properties: {a: {type: integer, multipleOf: 4}}",
        "properties: {a: {type: integer, multipleOf: 2}}",
    ),
    (
        "properties: {a: {type: string}}",
        "properties: {a: {type: string, minLength: 0}}",
    ),
    (
        "properties: {a: {type: string, minLength: 2}}",
        "properties: {a: {type: string, minLength: 1}}",
    ),
    (
        "properties: {a: {type: string, maxLength: 8}}",
        "properties: {a: {type: string, maxLength: 9}}",
    ),
    (
        "properties: {a: {type: array, items: {type: string}, maxItems: 2}}",
        "properties: {a: {type: array, items: {type: string}}}",
    ),
    (
        "properties: {a: {type: string, pattern: '^a'}}",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: string, format: ipv4}}",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: integer, format: int32}}",
        "properties: {a: {type: integer, format: int64}}",
    ),
    (
        "properties: {a: {type: number, format: float}}",
        "properties: {a: {type: number, format: double}}",
    ),
    (
        "properties: {a: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}",
        "properties: {a: {type: string}}",
    ),
    (
        "properties: {a: {type: string, x-kubernetes-validations: [{rule: self != '', message: x}]}}",
        "properties: {a: {type: string, x-kubernetes-validations: [{rule: self != '', message: y}]}}",
    ),
    (
        "properties: {a: {type: object, properties: {b: {type: string}}}}",
        "properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
    ),
    (
        "properties: {a: {type: object, properties: {b: {type: string}}}}",
        "properties: {a: {type: object, additionalProperties: {type: string}}}",
    ),
    (
        "properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: set}}",
        "properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: atomic}}",
    ),
];

fn crd(spec: &str) -> Value {
    let mut spec = yaml::parse(spec).unwrap();
    spec["type"] = json!("object");
    json!({
        "metadata": {"name": "sites.web.example.com"},
        "spec": {
            "group": "web.example.com", "scope": "Namespaced",
            "names": {"kind": "Site", "plural": "sites"},
            "versions": [
                {"name": "v1", "served": true, "storage": true,
                 "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.a"}},
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}},
                {"name": "v0", "served": true, "storage": false, "schema": {}},
            ],
        },
    })
}

#[test]
fn a_change_that_refuses_or_prunes_valid_values_breaks() {
    for (old, new, message) in BREAKING {
        let found = breaking_changes(&crd(old), &crd(new));
        let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{old} -> {new}: {texts:?}");
        assert!(texts[0].starts_with("v1: spec"), "{texts:?}");
        assert!(texts[0].contains(message), "{texts:?} without {message}");
        assert!(texts[0].contains("\n  hint: "), "{texts:?}");
    }
}

#[test]
fn a_change_that_accepts_all_valid_values_does_not_break() {
    for (old, new) in HARMLESS {
        assert_eq!(breaking_changes(&crd(old), &crd(new)), [], "{old} -> {new}");
        assert_eq!(breaking_changes(&crd(old), &crd(old)), [], "{old}");
    }
}

type Change = (&'static str, Value);

#[test]
fn changes_of_names_scope_versions_and_subresources_break() {
    let breaking: [Change; 9] = [
        ("/spec/group", json!("other.example.com")),
        ("/spec/scope", json!("Cluster")),
        ("/spec/names/kind", json!("Page")),
        ("/spec/names/plural", json!("pages")),
        ("/spec/versions/1/name", json!("v2")),
        ("/spec/versions/1/served", json!(false)),
        (
            "/spec/versions",
            crd("{}")["spec"]["versions"].as_array().unwrap()[..1].into(),
        ),
        ("/spec/versions/0/subresources/status", Value::Null),
        ("/spec/versions/0/subresources/scale", Value::Null),
    ];
    for (pointer, value) in breaking {
        let mut new = crd("{}");
        *new.pointer_mut(pointer).unwrap() = value;
        assert_eq!(breaking_changes(&crd("{}"), &new).len(), 1, "{pointer}");
    }
}

#[test]
fn changes_of_columns_names_for_people_and_new_versions_do_not_break() {
    let harmless: [Change; 8] = [
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "Size"}]),
        ),
        ("/spec/versions/0/deprecated", json!(true)),
        ("/spec/versions/0/storage", json!(false)),
        (
            "/spec/versions/0/subresources/scale/labelSelectorPath",
            json!(".status.selector"),
        ),
        ("/spec/names/shortNames", json!(["st"])),
        ("/spec/names/categories", json!(["all"])),
        (
            "/spec/versions/2",
            json!({"name": "v2", "served": true, "storage": false}),
        ),
        ("/metadata/labels", json!({"a": "b"})),
    ];
    for (pointer, value) in harmless {
        let mut new = crd("{}");
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match new.pointer_mut(parent).unwrap() {
            Value::Array(items) => items.push(value),
            parent => parent[key] = value,
        }
        assert_eq!(breaking_changes(&crd("{}"), &new), [], "{pointer}");
    }
}
