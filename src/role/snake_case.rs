//! Converts spec keys to `snake_case`, as the Ansible operator does for its roles.
//!
//! A key is split where the case changes and at spaces, dashes and underscores; an acronym is one word
//! (`JSONData`: `_json_data`), digits stay with their letters but in `a1b2` (`a_1_b2`). `HTTP`, `URL` and
//! `IP`, and their plurals, are always words of their own (`egressIPs`: `egress_ips`). A key that begins
//! with a capital gets an underscore in front, unless one of these three is its first word.
//!
//! Differences from the Ansible operator: keys under `labels`, `annotations`, `nodeSelector`, `env`, `envVars`
//! and `environment`, or under a key that ends in one of them (`matchLabels`, `extraEnv`), are user data and
//! stay unchanged; each special word counts, not only its first occurrence; if two keys become equal, the
//! one that was `snake_case` before wins, or else the first in order.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

const SPECIAL: [&str; 3] = ["HTTP", "URL", "IP"];

/// The last words of keys, in `snake_case`, whose values are user data.
const DATA: [&str; 6] = [
    "labels",
    "annotations",
    "node_selector",
    "env",
    "env_vars",
    "environment",
];

static DIGITS_BETWEEN_LETTERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([a-zA-Z])(\d+)([a-zA-Z]\d+)").expect("the pattern is valid"));

/// Converts all keys of a map, except in user data.
pub fn snake_case_keys(map: &Map<String, Value>) -> Map<String, Value> {
    let keys: Vec<_> = map.keys().map(|key| snake_case(key)).collect();
    let (ready, changed): (Vec<_>, Vec<_>) = map
        .iter()
        .zip(keys)
        .partition(|((key, _), snake)| *key == snake);
    let mut result = Map::new();
    for ((_, value), snake) in ready.into_iter().chain(changed) {
        if !result.contains_key(&snake) {
            let value = if is_data(&snake) {
                value.clone()
            } else {
                snake_case_below(value)
            };
            result.insert(snake, value);
        }
    }
    result
}

fn snake_case_below(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(snake_case_keys(map)),
        Value::Array(items) => items.iter().map(snake_case_below).collect(),
        plain => plain.clone(),
    }
}

fn is_data(snake: &str) -> bool {
    DATA.iter().any(|name| {
        let before = snake.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// Converts a key: `sizeK8sBuckets` becomes `size_k8s_buckets`.
pub fn snake_case(key: &str) -> String {
    let spaced = DIGITS_BETWEEN_LETTERS.replace_all(key, "$1 $2 $3");
    let key = spaced.trim_matches(' ');
    let words = if key.chars().any(char::is_lowercase) {
        words(&isolate(key))
    } else {
        words(key)
    };
    let special = SPECIAL
        .iter()
        .any(|name| name.eq_ignore_ascii_case(&words[0]));
    let mark = key.starts_with(|c: char| c.is_ascii_uppercase()) && !special;
    format!("{}{}", if mark { "_" } else { "" }, words.join("_"))
}

fn is_delimiter(c: char) -> bool {
    matches!(c, ' ' | '_' | '-')
}

/// Puts underscores around the special words, and capitalizes their plural `s`, so that each is one word.
fn isolate(key: &str) -> String {
    let mut result = String::with_capacity(key.len() + 4);
    let mut rest = key;
    while let Some(next) = rest.chars().next() {
        let Some(after) = SPECIAL.iter().find_map(|word| rest.strip_prefix(word)) else {
            result.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        if !result.is_empty() && !result.ends_with(is_delimiter) {
            result.push('_');
        }
        result.push_str(&rest[..rest.len() - after.len()]);
        rest = after
            .strip_prefix('s')
            .inspect(|_| result.push('S'))
            .unwrap_or(after);
        if !rest.is_empty() && !rest.starts_with(is_delimiter) {
            result.push('_');
        }
    }
    result
}

/// Splits at delimiters and where the case changes. Returns at least one word, in lower case.
fn words(key: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = key.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or('_');
        let falls = letter.is_ascii_uppercase() && next.is_ascii_lowercase();
        let rises = letter.is_ascii_lowercase() && next.is_ascii_uppercase();
        let inside = !word.is_empty();
        if is_delimiter(letter) {
            words.push(std::mem::take(&mut word));
            continue;
        }
        if falls && inside {
            words.push(std::mem::take(&mut word));
        }
        word.extend(letter.to_lowercase());
        if rises && inside {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_become_what_the_ansible_operator_makes_of_them() {
        for (key, snake) in [
            ("var", "var"),
            ("888", "888"),
            ("k8s_var", "k8s_var"),
            ("_k8s_var", "_k8s_var"),
            ("k8s var", "k8s_var"),
            ("ThisShouldHaveUnderscores", "_this_should_have_underscores"),
            ("sizeK8sBuckets", "size_k8s_buckets"),
            ("_CanYou_Handle_mixedVars", "_can_you_handle_mixed_vars"),
            ("egressIPs", "egress_ips"),
            ("egressIPsEgress", "egress_ips_egress"),
            ("IPsegress", "_ips_egress"),
            ("egressIP", "egress_ip"),
            ("egressIPEgress", "egress_ip_egress"),
            ("URLegressIPEgressHTTP", "url_egress_ip_egress_http"),
            ("URLsegressIPsEgressHTTPs", "_urls_egress_ips_egress_https"),
        ] {
            assert_eq!(snake_case(key), snake, "{key}");
        }
    }

    #[test]
    fn keys_that_the_ansible_operator_has_no_test_for() {
        for (key, snake) in [
            ("", ""),
            ("replicaCount", "replica_count"),
            ("JSONData", "_json_data"),
            ("my-key", "my_key"),
            ("a1b2", "a_1_b2"),
            ("ALL_CAPS", "_all_caps"),
            ("fromIPToIP", "from_ip_to_ip"),
            ("my_IP", "my_ip"),
            ("clusterIP", "cluster_ip"),
            ("größeMax", "größe_max"),
        ] {
            assert_eq!(snake_case(key), snake, "{key}");
        }
    }

    #[track_caller]
    fn check(spec: &Value, expected: &Value) {
        let spec = spec.as_object().unwrap();
        assert_eq!(Value::Object(snake_case_keys(spec)), *expected);
    }

    #[test]
    fn keys_are_converted_at_every_depth() {
        check(
            &json!({"fooBar": {"bazQux": [{"oneTwo": "aB"}, [{"threeFour": 1}]]}}),
            &json!({"foo_bar": {"baz_qux": [{"one_two": "aB"}, [{"three_four": 1}]]}}),
        );
    }

    #[test]
    fn data_of_the_user_stays_as_it_is() {
        check(
            &json!({
                "podLabels": {"app.kubernetes.io/partOf": "x"},
                "serviceAnnotations": {"exampleKey": "x"},
                "affinity": {"labelSelector": {"matchLabels": {"appName": "x"}}},
                "nodeSelector": {"diskType": "ssd"},
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                "extraEnv": {"logLevel": "debug"},
                "envVars": {"logLevel": "debug"},
                "sublabels": {"oneTwo": 1},
            }),
            &json!({
                "pod_labels": {"app.kubernetes.io/partOf": "x"},
                "service_annotations": {"exampleKey": "x"},
                "affinity": {"label_selector": {"match_labels": {"appName": "x"}}},
                "node_selector": {"diskType": "ssd"},
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                "extra_env": {"logLevel": "debug"},
                "env_vars": {"logLevel": "debug"},
                "sublabels": {"one_two": 1},
            }),
        );
    }

    #[test]
    fn of_two_keys_that_become_one_the_exact_one_wins() {
        check(&json!({"fooBar": 1, "foo_bar": 2}), &json!({"foo_bar": 2}));
        check(&json!({"foo-bar": 1, "fooBar": 2}), &json!({"foo_bar": 1}));
    }
}
