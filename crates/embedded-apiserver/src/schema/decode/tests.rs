//! Tests of the decoding of bodies, and of its errors.

use serde_json::json;

use super::*;

#[test]
fn json_tells_duplicates_with_their_paths() {
    let text = br#"{"spec": {"size": 1, "size": 2, "l": [{"a": 1, "a": 2, "a": 3}]}}"#;
    let decoded = super::json(text).unwrap();
    assert_eq!(decoded.value, json!({"spec": {"size": 2, "l": [{"a": 3}]}}));
    assert_eq!(
        decoded.duplicates,
        [
            "duplicate field \"spec.size\"",
            "duplicate field \"spec.l[0].a\""
        ]
    );
}

#[test]
fn errors_of_json_have_gos_texts() {
    for (text, expected) in [
        ("", "unexpected end of JSON input"),
        ("{\"a\":1", "unexpected end of JSON input"),
        (
            "{bad",
            "invalid character 'b' looking for beginning of object key string",
        ),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        ("{\"a\":1} x", "invalid character 'x' after top-level value"),
        (
            "{\"a\":\"a\n\"}",
            "invalid character '\\n' in string literal",
        ),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        (
            "{\"a\":1 \"b\":2}",
            "invalid character '\"' after object key:value pair",
        ),
        ("[1 2]", "invalid character '2' after array element"),
        (
            "bad",
            "invalid character 'b' looking for beginning of value",
        ),
    ] {
        assert_eq!(
            super::json(text.as_bytes()).unwrap_err(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_value_that_is_too_deep_is_refused() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(super::json(nested(MAX_DEPTH).as_bytes()).is_ok());
    for depth in [MAX_DEPTH + 1, MAX_JSON_DEPTH + 1, 100_000] {
        let text = nested(depth);
        assert_eq!(
            super::json(text.as_bytes()).unwrap_err(),
            "exceeded max depth"
        );
        assert!(super::yaml(text.as_bytes()).is_err(), "{depth}");
    }
    for leaf in ["1", "'a'"] {
        let text = nested(MAX_DEPTH).replace('1', leaf);
        assert_eq!(super::yaml(text.as_bytes()).err(), None);
        assert!(super::yaml(format!("[{text}]").as_bytes()).is_err());
    }
    let keys = "{\"a\":".repeat(100_000);
    assert!(super::json(keys.as_bytes()).is_err());
    assert!(super::yaml(keys.as_bytes()).is_err());
}

#[test]
fn managed_fields_can_be_deeper_than_their_object() {
    let nested = |levels: usize| format!("{}1{}", "{\"f:a\":".repeat(levels), "}".repeat(levels));
    let managed = |levels: usize| {
        let fields = nested(levels);
        format!(r#"{{"metadata": {{"managedFields": [{{"fieldsV1": {fields}}}]}}}}"#)
    };
    assert!(super::json(managed(MAX_JSON_DEPTH - 4).as_bytes()).is_ok());
    assert!(super::json(managed(MAX_JSON_DEPTH - 3).as_bytes()).is_err());
    let other = format!(r#"{{"metadata": {{"labels": {}}}}}"#, nested(MAX_DEPTH - 1));
    assert!(super::json(other.as_bytes()).is_err());
}

#[test]
fn yaml_is_read_as_of_version_1_1() {
    let text = "{n: a, 1: b, yes: q, 1.5: w, Off: z, 0x10: h, \"y\": s, v: [y, yes, 0o14, 014, 0x1F, 1_000, \
        1e3, .5, 12:30:45, 2020-01-01, ~, on, 0b11, +1, '1', 0o8, =, NULL, N, 1.0, <<]}";
    let decoded = super::yaml(text.as_bytes()).unwrap();
    assert_eq!(
        decoded.value,
        json!({"false": "z", "1": "b", "true": "q", "1.5": "w", "16": "h", "y": "s",
            "v": [true, true, 12, 12, 31, 1000, 1000.0, 0.5, "12:30:45", "2020-01-01", null, true, 3, 1,
                "1", "0o8", "=", null, false, 1.0, "<<"]})
    );
}

#[test]
fn yaml_tells_the_lines_of_duplicates() {
    let decoded = super::yaml(b"data:\n  a: x\n  b: y1\n  a: z\n---\nnext: 1\n").unwrap();
    assert_eq!(decoded.value, json!({"data": {"a": "z", "b": "y1"}}));
    assert_eq!(
        decoded.duplicates,
        ["yaml: unmarshal errors:\n  line 4: key \"a\" already set in map"]
    );
}

#[test]
fn a_body_that_cannot_be_read_is_shown() {
    assert_eq!(
        unrecognized("ConfigMap", b"", "why").message,
        "the object provided is unrecognized (must be of type ConfigMap): why (<empty>)"
    );
    assert_eq!(
        unrecognized("ConfigMap", b"[]", "why").message,
        "the object provided is unrecognized (must be of type ConfigMap): why (5b5d)"
    );
}
