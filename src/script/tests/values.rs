//! JSON → script → JSON.

use proptest::prelude::*;
use rhai::{Dynamic, Map};
use serde_json::Value;

use super::run;
use crate::script::value::{from_json, to_dynamic, to_value, write_json};

fn text(value: &Dynamic) -> String {
    let mut out = Vec::new();
    write_json(value, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

async fn written(script: &str) -> Result<String, String> {
    let value = run(script).await.unwrap();
    let mut out = Vec::new();
    write_json(&value, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[tokio::test]
async fn keys_are_sorted_and_nothing_is_added() {
    let script = "#{ b: [1, 2.5, 'c', \"t\\n\\\"é\", true, ()], a: #{}, c: [] }";
    assert_eq!(
        written(script).await.unwrap(),
        r#"{"a":{},"b":[1,2.5,"c","t\n\"é",true,null],"c":[]}"#
    );
}

#[tokio::test]
async fn whole_floats_are_written_as_whole_numbers() {
    assert_eq!(
        written("[6 / 2.0, -0.5, 1e15, 1e300, 9007199254740992.0]")
            .await
            .unwrap(),
        "[3,-0.5,1000000000000000,1e+300,9007199254740992]"
    );
}

#[tokio::test]
async fn values_that_json_cannot_represent_are_named() {
    for (script, message) in [
        (
            "#{ spec: #{ ports: [1, #{ f: || 1 }] } }",
            "spec.ports[1].f: a function cannot be written as JSON",
        ),
        ("[0.0 / 0.0]", "[0]: JSON cannot represent the number NaN"),
        ("1.0 / 0.0", "value: JSON cannot represent the number inf"),
        (
            "#{ a: blob(3) }",
            "a: bytes cannot be written as JSON: base64_encode them",
        ),
        (
            "#{ a: 1..3 }",
            "a: a value of type core::ops::range::Range<i64> cannot be written as JSON",
        ),
    ] {
        assert_eq!(written(script).await.unwrap_err(), message, "{script}");
    }
}

#[test]
fn values_are_written_and_read_as_deeply_as_objects_are() {
    let nested = |levels| (0..levels).fold(Dynamic::UNIT, |value, _| vec![value].into());
    let deep = nested(400);
    let json = to_value(&deep).unwrap();
    assert_eq!(
        text(&from_json(json.to_string().as_bytes()).unwrap()),
        json.to_string()
    );
    let refused = to_value(&nested(401)).unwrap_err();
    assert!(
        refused.problem.starts_with("nested more than 400"),
        "{}",
        refused.problem
    );
    let refused = from_json("[".repeat(500).as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), "nested more than 400 levels deep");
}

#[tokio::test]
async fn values_that_closures_share_are_written_as_they_are() {
    let script = "let a = #{ n: 1 }; let f = || { a.n += 1 }; f.call(); #{ a: a }";
    assert_eq!(written(script).await.unwrap(), r#"{"a":{"n":2}}"#);
    let shared = Dynamic::from(1_i64).into_shared();
    assert_eq!(
        text(&Map::from([("s".into(), shared.clone())]).into()),
        r#"{"s":1}"#
    );
    drop(shared);
}

#[test]
fn numbers_beyond_64_bits_with_sign_become_floats() {
    let value = from_json(b"[9223372036854775807, 9223372036854775808, 18446744073709551615, 1e2]")
        .unwrap();
    let array = value.as_array_ref().unwrap();
    assert_eq!(array[0].as_int(), Ok(i64::MAX));
    assert!(array[1].is_float() && array[2].is_float());
    assert_eq!(array[3].as_float(), Ok(100.0));
}

#[test]
fn invalid_json_text_is_an_error() {
    for wrong in ["", "{", "[1,]", "{\"a\":1,\"a\":2}", "1 2", "nul"] {
        assert!(from_json(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64)
            .prop_filter("whole floats are written as ints", |float| float.fract()
                != 0.0)
            .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_survives_a_round_trip(value in any_json()) {
        let canonical = value.to_string();
        prop_assert_eq!(text(&to_dynamic(&value)), canonical.clone());
        prop_assert_eq!(text(&from_json(canonical.as_bytes()).unwrap()), canonical);
        prop_assert_eq!(to_value(&to_dynamic(&value)).unwrap(), value);
    }
}
