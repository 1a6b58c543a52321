//! Tests of the masked forms, and of values that are public.

use std::fmt::Write as _;

use super::*;
use crate::model::{Gvk, yaml};

fn secret(data: &Value) -> Object {
    let secret = json!({"metadata": {"name": "s"}, "data": data});
    Object::from_value(&Gvk::new("", "v1", "Secret"), &secret).unwrap()
}

fn knowing(data: &Value) -> Redactor {
    let redactor = Redactor::default();
    redactor.learn(&secret(data));
    redactor
}

fn with(value: &str) -> Redactor {
    let redactor = Redactor::default();
    redactor.add(value);
    redactor
}

/// A redactor of a run on a custom resource with this spec.
fn of_cr(spec: &Value) -> Redactor {
    let cr = json!({
        "metadata": {"name": "orders-db", "namespace": "tenant-a", "labels": {"team": "checkout"}},
        "spec": spec,
        "status": {"seen": "in-the-status"},
    });
    Redactor::new(&Arc::new(
        Object::from_value(&Gvk::new("g", "v1", "K"), &cr).unwrap(),
    ))
}

#[test]
fn plain_base64_and_escaped_forms_are_masked() {
    let redactor = knowing(&json!({"key": STANDARD.encode("two\n\"lines\"\n")}));
    for spelling in [
        "two\n\"lines\"\n".to_owned(),
        "two\n\"lines\"".to_owned(),
        r#"two\n\"lines\""#.to_owned(),
        STANDARD.encode("two\n\"lines\"\n"),
        STANDARD.encode("two\n\"lines\""),
    ] {
        let text = format!("before {spelling} after");
        let masked = redactor.text(&text);
        assert!(
            masked.starts_with("before [redacted]"),
            "{spelling}: {masked}"
        );
        assert!(
            !masked.contains("two") && !masked.contains("dHdv"),
            "{masked}"
        );
    }
}

#[test]
fn each_line_is_masked_in_any_indentation_and_under_three_levels_of_escapes() {
    let value = "first \"line\"\n  second <line>\nC:\\third\\line\nit's the fourth";
    let redactor = with(value);
    let mut text = format!("{value}\n");
    for line in value.lines() {
        write!(text, "{line}\n        {line}\n+   {line}\n").unwrap();
    }
    text.push_str(&yaml::write(
        &json!({"a": {"b": value}, "c": value.lines().collect::<Vec<_>>()}),
    ));
    let once = json!({"a": value}).to_string();
    let twice = json!({"b": once}).to_string();
    let go = "{\"a\":\"first \\\"line\\\"\\n  second \\u003cline\\u003e\"}";
    write!(text, "{once}\n{twice}\n{}\n{value:?}\n{go}", json!(twice)).unwrap();
    let masked = redactor.text(&text);
    for part in ["first", "second", "third", "fourth"] {
        assert!(!masked.contains(part), "{part} in {masked}");
    }
    assert!(masked.contains("\"a\""), "{masked}");
}

#[test]
fn a_value_that_a_yaml_writer_folds_is_masked() {
    let value = "correct horse battery staple ".repeat(6);
    let masked = with(&value)
        .text(&yaml::write(&json!({"a": value})))
        .into_owned();
    assert!(!masked.contains("horse"), "{masked}");
}

#[test]
fn short_values_and_other_kinds_are_let_through() {
    let redactor = knowing(&json!({"short": STANDARD.encode("12345")}));
    assert_eq!(redactor.text("12345"), "12345");
    let map = json!({"metadata": {"name": "m"}, "data": {"key": "the-configuration"}});
    let map = Object::from_value(&Gvk::new("", "v1", "ConfigMap"), &map).unwrap();
    redactor.learn(&map);
    assert_eq!(redactor.text("the-configuration"), "the-configuration");
}

#[test]
fn values_under_twelve_characters_match_whole_words_only() {
    let redactor = with("hunter22");
    assert_eq!(redactor.text("(hunter22)"), "([redacted])");
    for text in ["hunter222", "xhunter22", "hunter22_"] {
        assert_eq!(redactor.text(text), text);
    }
    let redactor = with("hunter22hunter22");
    assert_eq!(redactor.text("xhunter22hunter22x"), "x[redacted]x");
}

#[test]
fn the_longer_of_two_that_begin_alike_is_masked_whole() {
    let redactor = with("secret-one");
    redactor.add("secret-one-and-more");
    assert_eq!(
        redactor.text("secret-one-and-more secret-one"),
        "[redacted] [redacted]"
    );
}

#[test]
fn trees_are_masked_by_values_and_never_by_keys() {
    let redactor = Redactor::default();
    redactor.learn_value(&json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"k": "hunter22", "n": "31415926"},
    }));
    let mut tree = json!({
        "hunter22": [1, {"url": "http://u:hunter22@host"}], "n": null, "pin": 31_415_926,
    });
    redactor.value(&mut tree);
    assert_eq!(
        tree,
        json!({"hunter22": [1, {"url": "http://u:[redacted]@host"}], "n": null, "pin": MASK})
    );
}

#[test]
fn values_of_the_custom_resource_are_not_secret() {
    let redactor = of_cr(
        &json!({"host": "db.example.net", "port": 1_543_210, "text": "one line\nanother line"}),
    );
    for public in [
        "db.example.net",
        "1543210",
        "another line",
        "orders-db",
        "tenant-a",
        "checkout",
    ] {
        redactor.add(public);
        assert_eq!(redactor.text(public), public);
    }
    // A part of a string is none of its strings, and the status is the role's.
    for secret in ["db.example", "in-the-status"] {
        redactor.add(secret);
        assert_eq!(redactor.text(secret), MASK, "{secret}");
    }
}

#[test]
fn the_data_of_a_secret_that_is_the_custom_resource_is_secret() {
    let cr = secret(&json!({"password": STANDARD.encode("hunter2hunter2")}));
    let redactor = Redactor::new(&Arc::new(cr));
    assert_eq!(redactor.text("hunter2hunter2"), MASK);
}

#[test]
fn words_of_kubernetes_names_and_role_files_are_not_secret() {
    let redactor =
        knowing(&json!({"type": STANDARD.encode("postgres"), "user": STANDARD.encode("Default")}));
    assert_eq!(
        redactor.text("postgres default Default"),
        "postgres default Default"
    );
    redactor.add("orders-admin");
    redactor.add("billing");
    assert_eq!(
        redactor.text("orders-admin billing"),
        "[redacted] [redacted]"
    );
    let mut words = WordSet::default();
    words.add_text("user: orders-admin");
    redactor.exempt(&Arc::new(words));
    let service = json!({"metadata": {"name": "billing"}});
    redactor.learn(&Object::from_value(&Gvk::new("", "v1", "Service"), &service).unwrap());
    assert_eq!(
        redactor.text("orders-admin billing"),
        "orders-admin billing"
    );
}

#[test]
fn structure_in_a_file_of_a_secret_is_not_secret() {
    let redactor =
        with("apiVersion: v1\nkind: Config\nclusters:\n- name: default\n  token: hunter2hunter2\n");
    assert_eq!(
        redactor.text("apiVersion: v1\nkind: Config\n  token: hunter2hunter2"),
        "apiVersion: v1\nkind: Config\n  [redacted]"
    );
}

#[test]
fn a_revealed_value_passes_even_when_it_is_learned_again() {
    let redactor = knowing(&json!({"user": STANDARD.encode("the-operator")}));
    redactor.reveal("the-operator");
    redactor.add("the-operator");
    assert_eq!(redactor.text("the-operator"), "the-operator");
}

#[test]
fn a_marked_value_is_always_secret() {
    let redactor = of_cr(&json!({"token": "hunter22", "mode": "default"}));
    for value in ["hunter22", "default"] {
        redactor.reveal(value);
        assert!(redactor.mark(value));
    }
    assert_eq!(redactor.text("hunter22 default"), "[redacted] [redacted]");
    assert!(!redactor.mark("12345"));
}

#[test]
fn copies_of_a_secret_in_its_annotations_are_known() {
    let earlier =
        json!({"kind": "Secret", "stringData": {"password": "earlier-hunter2"}}).to_string();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": earlier}},
    });
    let redactor = Redactor::default();
    redactor.learn_value(&secret);
    assert!(
        !redactor
            .text(&json!(secret.to_string()).to_string())
            .contains("hunter2")
    );
}

#[test]
fn binary_and_malformed_values_do_no_harm() {
    let redactor = knowing(&json!({"bin": "/////////w==", "odd": "not base64!", "num": 7}));
    assert_eq!(redactor.text("/////////w=="), MASK);
    assert_eq!(redactor.text("not base64!"), MASK);
    assert!(!format!("{redactor:?}").contains("base64"));
}

#[test]
fn beyond_the_bound_every_text_is_withheld() {
    let redactor = Redactor::default();
    assert_eq!(redactor.check(), Ok(()));
    let mut number = 0_u64;
    while redactor.check().is_ok() {
        number += 1;
        // Long lines, of which most is compared and little is in an automaton.
        redactor.add(&number.to_string().repeat(10_000));
    }
    assert_eq!(redactor.text("anything"), WITHHELD);
    let mut tree = json!({"a": ["b", 1]});
    redactor.value(&mut tree);
    assert_eq!(tree, json!({"a": [WITHHELD, WITHHELD]}));
}

#[test]
fn a_long_text_is_cut_without_a_part_of_a_secret() {
    let redactor = with("hunter2hunter2");
    let text = format!(
        "{}hunter2hunter2{}",
        "x".repeat(MAX_TEXT - 7),
        "y".repeat(100)
    );
    let masked = redactor.text(&text);
    assert!(
        !masked.contains("hunter") && masked.len() < MAX_TEXT,
        "{}",
        masked.len()
    );
}

/// Work is counted by the automata that are built, not by a clock: see the tests of `matcher`.
#[test]
fn hostile_secrets_and_texts_are_masked() {
    // Each is a beginning of the next, and none ends where the text does.
    let redactor = Redactor::default();
    for length in (12..4000).step_by(7) {
        redactor.add(&format!("{}b", "a".repeat(length)));
    }
    let text = "a".repeat(200_000);
    // The text is longer than the part of the longest value that the redactor matches.
    assert_eq!(redactor.text(&text), MASK);
}
