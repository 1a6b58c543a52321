//! Data does not change the structure of a YAML template.

use minijinja::value::Serde;
use proptest::prelude::*;
use proptest::{collection, sample};
use serde_json::{Value as Json, json};

use super::*;
use crate::host::template::render::explain;
use crate::script::HostError;

/// Renders a template to its documents.
fn documents(template: &str, scope: &Json) -> Result<Vec<Json>, HostError> {
    let mut environment = Environment::new();
    configure(&mut environment);
    let template =
        rewrite(template, environment.syntax()).map_err(|error| explain("t.yaml", &error))?;
    environment
        .add_template_owned("t.yaml", template)
        .map_err(|error| explain("t.yaml", &error))?;
    render_objects(&environment, "t.yaml", &Serde(scope).into())
}

fn one(template: &str, x: impl Into<Json>) -> Json {
    let documents = documents(template, &json!({"x": x.into()}));
    let documents = documents.unwrap_or_else(|error| panic!("{template}: {error}"));
    assert_eq!(documents.len(), 1, "{template}");
    documents[0].clone()
}

/// A string that needs no placeholder, and that no template contains.
const MARK: &str = "Mark9";

/// Replaces the mark by data.
fn put(tree: &Json, data: &str) -> Json {
    match tree {
        Json::String(text) => text.replace(MARK, data).into(),
        Json::Array(items) => items.iter().map(|item| put(item, data)).collect(),
        Json::Object(map) => {
            let entries = map.iter();
            let map = entries.map(|(key, value)| (key.replace(MARK, data), put(value, data)));
            Json::Object(map.collect())
        }
        other => other.clone(),
    }
}

/// Each holds data in one position.
const POSITIONS: &[&str] = &[
    "a: {{ x }}\nb: 1\n",
    "a: {{ x }}-config\n",
    "a: docker.io/{{ x }}:{{ x }}\n",
    "a: {{ x }} and {{ x }}\n",
    "a: \"{{ x }}\"\nb: 1\n",
    "a: \"http://{{ x }}/?q={{ x }}\"\n",
    "a: '{{ x }}'\nb: 1\n",
    "a: 'it''s {{ x }}'\n",
    "a: |\n  {{ x }}\nb: 1\n",
    "a: |\n  first\n  key={{ x }};\n  last\nb: 1\n",
    "a: |-\n  {{ x }}\n",
    "a: |+\n  {{ x }}\n\nb: 1\n",
    "a: |2\n    {{ x }}\nb: 1\n",
    "a: >\n  folded {{ x }}\n  line\nb: 1\n",
    "a: >-\n  {{ x }}\n",
    "a: plain\n  {{ x }}\n  lines\nb: 1\n",
    "{{ x }}: 1\nb: 2\n",
    "\"{{ x }}\": 1\nb: 2\n",
    "'{{ x }}': 1\nb: 2\n",
    "a:\n  app.kubernetes.io/{{ x }}: v\n",
    "? {{ x }}\n: 1\n",
    "- {{ x }}\n- 2\n",
    "- - {{ x }}\n  - 2\n- a: {{ x }}\n  b: 1\n",
    "- {{ x }}: 1\n  b: 2\n",
    "[{{ x }}, {{ x }}]\n",
    "[ {{ x }} ]\n",
    "[\n  {{ x }},\n  b\n]\n",
    "{a: {{ x }}, b: {{ x }}}\n",
    "{{ '{' }}{{ x }}: {{ x }}{{ '}' }}\n",
    "{\"a\":{{ x }}}\n",
    "{a: \"{{ x }}\", '{{ x }}': b}\n",
    "[a {{ x }} b]\n",
    "# {{ x }}\na: 1\n",
    "a: 1 # {{ x }}\nb: 2\n",
    "a: # {{ x }}\n  b: 2\n",
    "- 1\n# {{ x }}\n- 2\n",
    "[1, # {{ x }}\n 2]\n",
    "a: &{{ x }} 1\nb: *{{ x }}\n",
    "a: &n {{ x }}\nb: *n\nc: [*n, *n]\n",
    "a: &m {b: {{ x }}}\nc:\n  <<: *m\n  d: 1\n",
    "a: !{{ x }} b\n",
    "a: !!str {{ x }}\n",
    "--- {{ x }}\n",
    "--- # {{ x }}\na: 1\n",
    "a: 1\n... # {{ x }}\n---\nb: {{ x }}\n",
    "a: {{ x }}\n---\nb: {{ x }}\n---\n{{ x }}\n",
    "%FOO {{ x }}\n---\na: 1\n",
    "{{ x }}\n",
    "\"{{ x }}\"\n",
    // Data in text that the template renders first, and data that passes through filters.
    "{% set y %}\na: {{ x }}\nb:\n  - {{ x }}\nz: 1\n{% endset %}\nc:\n  {{ y | trim | indent(2) }}\nd: 1\n",
    "{% set y %}{{ x }}{% endset %}\na: {{ y }}\nb: '{{ y }}'\nc: {{ y ~ '-' ~ y }}\n",
    "{% macro m(v) %}\n{{ v }}: {{ v }}\n{% endmacro %}\na:\n  {{ m(x) }}\nb:{{ m(x) | nindent(4) }}\n",
    "{% macro m() %}\na: {{ caller() }}\n{% endmacro %}\n{% call m() %}[{{ x }}]{% endcall %}\n",
    "{% filter indent(2, true) %}\na: {{ x }}\nb: [{{ x }}]\n{% endfilter %}\n",
    "{% set y | indent(2) %}\na:\nb: {{ x }}\n{% endset %}\n{{ y }}\n",
    "{% for v in [x, x] %}\n- name: {{ v }}\n  value: \"{{ v }}\"\n{% endfor %}\n",
    "{% for v in [[x]] recursive %}\n- {{ v if v is string else loop(v) }}\n{% endfor %}\n",
    "{{ {'a': x, 'b': [x]} | to_yaml }}",
    "a:\n  {{ {x: x} | to_yaml | indent(2) }}\nb: 1\n",
    "a:{{ {'a': x, 'b': [x]} | toYaml | nindent(2) }}\nb: 1\n",
    "a: {{ x | to_json }}\nb: {{ [x, {x: x}] | to_json }}\nc: {{ x | tojson }}\n",
    "a: {{ [x] | to_nice_json | indent(2) }}\n",
    "{{ x | to_json }}: 1\nb: 2\n",
    "a:\n  <<: {{ {'b': x} | to_json }}\n  c: 1\n",
    "a: {{ x | to_yaml }}\nb: 1\n",
    "a: {{ x | string }}\nb: {{ [x] | first }}\nc: {{ x | default('d') }}\n",
    "a: {{ x ~ 'x' }}\nb: {{ 'x' + x }}\nc: {{ [x, x] | join(',') }}\nd: {{ '%s!' | format(x) }}\n",
    "a: {{ [x] }}\nb:\n  {{ {'a': x} }}\nc: [{{ [x] }}]\n",
    "a: {{ x | quote | replace('x', 'x') | length > 0 }}\nb: {{ x }}\n",
    "a: {{ namespace(y=x).y }}\nb: {{ dict(y=x).y }}\n",
    "a: \\{{ x }}\nb: {{ x }}\\\n",
];

/// Strings that mean something to YAML.
const HOSTILE: &[&str] = &[
    "x\n---\nkind: Pod",
    "\n---\nkind: Pod\n",
    "x\n...\n",
    "---",
    "--- a",
    "...",
    "\n",
    "\n\n",
    " ",
    "  x",
    "x  ",
    "\t",
    "x\ty",
    "\r\n",
    "x\r\ny",
    "x\ry",
    "a: b",
    "a:",
    ": b",
    ":",
    "a :b",
    "- a",
    "-",
    "--",
    "-a",
    "? a",
    "?",
    "a\nb: c",
    "a\n  b: c",
    "a\n- b",
    "a\n  - b",
    "\nprivileged: true",
    "x\n      privileged: true\n",
    "\"",
    "'",
    "\"\"",
    "''",
    "\", b: \"",
    "', b: '",
    "\"}, {\"",
    "it's",
    "\\",
    "\\\"",
    "\\n",
    "\\x41",
    "a\\",
    "# c",
    "a # c",
    "#",
    "a#",
    "&a",
    "&a b",
    "*a",
    "*n",
    "!a",
    "!!int 3",
    "!!binary aGk=",
    "!<tag:x>",
    "%YAML 1.1",
    "%",
    "@",
    "`",
    "|",
    "|\n  a",
    ">",
    ">-\n b",
    "|2",
    "[",
    "]",
    "[]",
    "[a, b]",
    "{",
    "}",
    "{}",
    "{a: b}",
    ",",
    "a, b",
    "a], [b",
    "a}, {b",
    "<<",
    "<<: *m",
    "~",
    "=",
    ".",
    "..",
    "-.inf",
    ".nan",
    "+1",
    "-1x",
    "0x",
    "1,000",
    "a b",
    "{{ x }}",
    "{% raw %}",
    "${x}",
    "$(id)",
    "{# c #}",
    "é",
    "日本語",
    "\u{feff}",
    "\u{85}",
    "\u{2028}a",
    "\u{2029}",
    "\u{a0}",
    "\u{7f}",
    "\u{9f}",
    "\u{ffff}",
    "\u{fffe}",
    "\u{0}",
    "\u{1}\u{1b}[31m",
    "\u{e000}",
    "\u{10ffff}",
    "😀",
    "\u{202e}abc",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "a\n\n\nb",
    "\na",
    "a\n",
    "a\n ",
    "a\n\tb",
    "user:pass@host",
    "key=value",
    "a/b/c:d",
    "1 2",
    "12:30:45 ",
    "x:y",
    "a,b",
    "*",
    "z0000000000000000x0e",
    "z0x0e",
];

fn check(position: &str, data: &str) {
    let of = |x: &str| documents(position, &json!({ "x": x }));
    let expected = of(MARK).unwrap_or_else(|error| panic!("{position}: {error}"));
    let expected: Vec<_> = expected.iter().map(|it| put(it, data)).collect();
    match of(data) {
        Ok(found) => assert_eq!(found, expected, "{data:?} in\n{position}"),
        Err(error) => panic!("{data:?} in\n{position}{error}"),
    }
}

#[test]
fn data_changes_no_structure() {
    for position in POSITIONS {
        for data in HOSTILE {
            check(position, data);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_data_changes_no_structure(
        position in sample::select(POSITIONS),
        parts in collection::vec(prop_oneof![sample::select(HOSTILE).prop_map(str::to_owned), "[ -~\\n]{0,8}", any::<String>()], 1..5),
    ) {
        let data = parts.concat();
        prop_assume!(!data.is_empty() && !is_number_or_word(&data));
        check(position, &data);
    }
}

/// Returns true if a text is written without a placeholder, so that YAML determines its type.
fn is_number_or_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

#[test]
fn words_and_numbers_are_typed_by_yaml() {
    for (data, expected) in [
        (json!(3), json!(3)),
        (json!("3"), json!(3)),
        (json!("-3"), json!(-3)),
        (json!(1.5), json!(1.5)),
        (json!("1.5"), json!(1.5)),
        (json!(true), json!(true)),
        (json!("yes"), json!(true)),
        (json!("null"), json!(null)),
        (json!(""), json!(null)),
        (json!("1e3"), json!(1000.0)),
        (json!("~"), json!("~")),
        (json!("web"), json!("web")),
        (json!([1, {"a": "b: c"}]), json!([1, {"a": "b: c"}])),
        (json!([]), json!([])),
        (json!({}), json!({})),
    ] {
        assert_eq!(one("a: {{ x }}\n", data.clone())["a"], expected, "{data}");
        assert_eq!(one("[{{ x }}]\n", data.clone())[0], expected, "{data}");
    }
    for (data, expected) in [("3", "3"), ("yes", "yes"), ("", ""), ("null", "null")] {
        assert_eq!(one("a: '{{ x }}'\n", data)["a"], expected);
        assert_eq!(one("a: \"{{ x }}\"\n", data)["a"], expected);
        assert_eq!(one("a: x{{ x }}\n", data)["a"], format!("x{expected}"));
    }
}

#[test]
fn an_empty_string_is_one_value() {
    assert_eq!(
        one("a: [{{ x }}, {{ x }}]\nb: {{ x }}\n", ""),
        json!({"a": [null, null], "b": null})
    );
    assert_eq!(
        one("a: [\n  b,\n  {{ x }}\n]\n", ""),
        json!({"a": ["b", null]})
    );
    assert_eq!(
        one("a:\n  b: 1\n  {{ x }}\n  c: {{ x }} d {{ x }}\n", ""),
        json!({"a": {"b": 1, "c": "d"}})
    );
    let several = documents("{{ x }}\n---\na: 1\n", &json!({"x": ""})).unwrap();
    assert_eq!(several, [json!({"a": 1})]);
}

#[test]
fn a_list_is_structure_only_as_a_whole_scalar() {
    let list = json!(["a", "\", b: \""]);
    let text = "['a', '\", b: \"']";
    assert_eq!(one("a: {{ x }}\n", list.clone()), json!({"a": list}));
    for template in [
        "a: \"{{ x }}\"\n",
        "a: '{{ x }}'\n",
        "{a: \"{{ x }}\"}\n",
        "a: |-\n  {{ x }}\n",
    ] {
        assert_eq!(
            one(template, list.clone()),
            json!({"a": text}),
            "{template}"
        );
    }
    assert_eq!(
        one("a: {{ x }}-b\n", list.clone()),
        json!({"a": format!("{text}-b")})
    );
    assert_eq!(one("{{ x }}: b\n", list.clone()), json!({text: "b"}));
    assert_eq!(
        one("a: &l {{ x }}\nb: *l\nc: \"{{ x }}\"\n", list.clone()),
        json!({"a": list, "b": list, "c": text})
    );
}

#[test]
fn json_in_a_scalar_is_its_text() {
    let list = json!(["it's", "\", b: \"", "l1\nl2"]);
    let text = list.to_string();
    for template in [
        "a: '{{ x | to_json }}'\n",
        "a: \"{{ x | to_json }}\"\n",
        "a: |-\n  {{ x | to_json }}\n",
        "{a: '{{ x | to_json | safe }}'}\n",
        "a: '{{ x | to_json | trim | indent(2) }}'\n",
    ] {
        assert_eq!(
            one(template, list.clone()),
            json!({"a": text}),
            "{template}"
        );
    }
    let quoted = one("a: '{{ x | to_nice_json | indent(1) }}'\n", list.clone());
    let parsed: Json = serde_json::from_str(quoted["a"].as_str().unwrap()).unwrap();
    assert_eq!(parsed, list);
    let template = "a: {{ x | to_json }}\nb: {{ x | to_json | length }}\nc: '{{ x | to_json }}!'\n";
    let expected = json!({"a": list, "b": text.len(), "c": format!("{text}!")});
    assert_eq!(one(template, list), expected);
}

#[test]
fn quotes_for_a_shell_are_yaml_s_where_they_stand_alone() {
    let template = "a: {{ x | quote }}\nb: echo {{ x | quote }}\nc: |-\n  {{ x | quote }}\n";
    let quoted = r#"'it'"'"'s'"#;
    let expected = json!({"a": "it's", "b": format!("echo {quoted}"), "c": quoted});
    assert_eq!(one(template, "it's"), expected);
}

#[test]
fn filters_can_create_structure() {
    let x = "b: 1\nc: [2]";
    assert_eq!(
        one("a:\n  {{ x | safe | indent(2) }}\n", x),
        json!({"a": {"b": 1, "c": [2]}})
    );
    assert_eq!(
        one("a:\n  {{ x | indent(2) | safe }}\n", x),
        json!({"a": {"b": 1, "c": [2]}})
    );
    assert_eq!(
        one("a:{{ x | safe | nindent(2) }}\n", x),
        json!({"a": {"b": 1, "c": [2]}})
    );
    assert_eq!(
        one("a: {{ x | from_yaml | to_json }}\n", x),
        json!({"a": {"b": 1, "c": [2]}})
    );
    assert_eq!(
        one("a:\n  {{ x | indent(2) }}\n", x),
        json!({"a": "b: 1\n  c: [2]"})
    );
    let template = "{% macro m() %}a: {{ x }}{% endmacro %}{{ m() | safe }}\n";
    assert_eq!(one(template, x), json!({ "a": x }));
    // What another filter makes of it is data again.
    assert_eq!(
        one("a: {{ x | safe | upper }}\n", x),
        json!({"a": "B: 1\nC: [2]"})
    );
    assert_eq!(one("a: {{ x | safe | escape }}\n", x), json!({"a": x}));
    assert_eq!(
        one("a: {{ (x | safe)[0:4] ~ '\n' }}\n", x),
        json!({"a": "b: 1\n"})
    );
}

#[test]
fn filters_and_operators_see_the_data() {
    let x = "a: b\n";
    for (expression, expected) in [
        ("y | length", json!(6)),
        ("y | upper", json!("A: B\nC")),
        ("y | b64encode", json!("YTogYgpj")),
        (
            "y | hash",
            json!(rendered("{{ 'a: b\nc' | hash }}").unwrap()),
        ),
        ("y | replace(': ', '=')", json!("a=b\nc")),
        ("y.upper()", json!("A: B\nC")),
        ("y[0:3]", json!("a: ")),
        ("y == 'a: b\nc'", json!(true)),
        ("y is eq('a: b\nc')", json!(true)),
        ("': ' in y", json!(true)),
        ("{'a: b\nc': 'found'}[y]", json!("found")),
        ("m() == 'a: b\n!'", json!(true)),
        ("m() ~ y == 'a: b\n!a: b\nc'", json!(true)),
        ("[m()] | join('-') | length", json!(6)),
        ("m().split('\n') | last", json!("!")),
        ("(y ~ m()) | length", json!(12)),
        ("(y | trim) == y", json!(true)),
        ("(y | trim('a') )[0:1]", json!(":")),
    ] {
        let template = format!(
            "{{% set y %}}{{{{ x }}}}c{{% endset %}}{{% macro m() %}}{{{{ x }}}}!{{% endmacro %}}a: {{{{ {expression} }}}}\n"
        );
        let found = one(&template, x);
        let found = match &found["a"] {
            Json::String(text) if text == "True" => json!(true),
            other => other.clone(),
        };
        assert_eq!(found, expected, "{expression}");
    }
}

#[test]
fn a_message_has_no_data() {
    let error = documents("a: 1\n b: {{ x }}\n", &json!({"x": "s3cr3t\n!"})).unwrap_err();
    assert!(!error.message.contains("s3cr3t"), "{}", error.message);
    assert!(error.message.ends_with("`b: {{ … }}`"), "{}", error.message);
    let template = "{{ x }}: 1\n'a {{ y }}': 2\n";
    let error = documents(template, &json!({"x": "a b!", "y": "b!"})).unwrap_err();
    let expected = "duplicate mapping key: a b!";
    assert!(error.message.ends_with(expected), "{}", error.message);
}
