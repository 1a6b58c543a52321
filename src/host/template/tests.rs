//! Behavior that templates written for Ansible and Helm rely on.

use std::cell::Cell;

use minijinja::ErrorKind;
use minijinja::value::Serde;
use serde_json::json;

use super::render::explain;
use super::*;
use crate::role::template_names::{FILTERS, TESTS};
use crate::role::template_rewrite::rewrite;
use crate::script::HostError;

fn rendered(template: &str) -> Result<String, HostError> {
    let scope = json!({
        "name": "web",
        "spec": {"size": 3, "image": null},
        "labels": {"app": "web", "tier": "front"},
        "ports": [80, 443],
        "items": [{"key": "a", "value": 1}, {"key": "b", "value": [2]}],
    });
    let mut environment = Environment::new();
    configure(&mut environment);
    environment
        .add_template("t.yaml", template)
        .map_err(|error| explain("t.yaml", &error))?;
    rewrite(template, environment.syntax())
        .and_then(|template| environment.add_template_owned("t.yaml", template))
        .map_err(|error| explain("t.yaml", &error))?;
    render(&environment, "t.yaml", &Serde(scope).into())
}

fn ok(template: &str) -> String {
    rendered(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn error(template: &str) -> String {
    match rendered(template) {
        Ok(text) => panic!("{template} gave {text:?}"),
        Err(error) => error.message,
    }
}

#[test]
fn white_space_is_as_in_ansible() {
    assert_eq!(ok("{% if true %}\na\n{% endif %}\n"), "a\n");
    assert_eq!(ok("  {% if true %}\na\n{% endif %}"), "  a\n");
}

#[test]
fn nothing_is_escaped() {
    assert_eq!(ok("{{ '<a & b>' }}"), "<a & b>");
}

#[test]
fn an_undefined_variable_is_named_with_its_place() {
    assert_eq!(
        error("a: 1\nb: {{ spec.imagee }}"),
        "templates/t.yaml:2: `spec.imagee` is undefined"
    );
    for use_of_it in [
        "{{ nothing.there }}",
        "{% for x in nothing %}{% endfor %}",
        "{% if nothing %}{% endif %}",
        "{{ nothing | to_yaml }}",
        "{{ nothing | b64encode }}",
        "{{ nothing | upper }}",
        "{{ nothing | combine({}) }}",
        "{{ nothing | ternary(1, 2) }}",
        "{{ nothing | items2dict }}",
        "{{ nothing | mandatory }}",
    ] {
        assert_eq!(
            error(use_of_it),
            "templates/t.yaml:1: `nothing` is undefined",
            "{use_of_it}"
        );
    }
}

#[test]
fn other_errors_name_their_place_too() {
    for (template, expected) in [
        (
            "\n{{ name | hash('crc') }}",
            "2: hash: expected sha1, sha256, sha512 or md5, found `crc`",
        ),
        (
            "{{ name",
            "1: unexpected end of input, expected end of variable block",
        ),
        ("{{ name | nosuch }}", "1: filter nosuch is unknown"),
        (
            "{{ '?' | b64decode }}",
            "1: not base64: Invalid symbol 63, offset 0.",
        ),
        (
            "{{ ports | combine({}) }}",
            "1: expected a map, not sequence",
        ),
        (
            "{{ name.nosuch() }}",
            "1: string has no method named nosuch",
        ),
        (
            "{% include 'x' %}",
            "1: tried to include non-existing template 'x'",
        ),
        ("{{ gone | mandatory('say what') }}", "1: say what"),
    ] {
        assert_eq!(
            error(template),
            format!("templates/t.yaml:{expected}"),
            "{template}"
        );
    }
}

#[test]
fn default_serves_what_is_undefined() {
    assert_eq!(ok("{{ nothing | default('x') }}"), "x");
    assert_eq!(ok("{{ spec.nothing | default(5) }}"), "5");
    assert_eq!(ok("{{ spec.image | default('x', true) }}"), "x");
    assert_eq!(ok("{{ nothing is defined }}"), "False");
}

#[test]
fn data_becomes_text_and_back() {
    assert_eq!(ok("{{ labels | to_yaml }}"), "app: web\ntier: front\n");
    assert_eq!(
        ok("{{ labels | to_nice_yaml(indent=2) }}"),
        "app: web\ntier: front\n"
    );
    assert_eq!(ok("{{ labels | toYaml }}"), "app: web\ntier: front");
    assert_eq!(
        ok("l:{{ labels | toYaml | nindent(2) }}"),
        "l:\n  app: web\n  tier: front"
    );
    assert_eq!(
        ok("{{ labels | to_yaml | indent(2) }}"),
        "app: web\n  tier: front"
    );
    assert_eq!(ok("{{ ports | to_json }}"), "[80,443]");
    assert_eq!(ok("{{ {'a': 1} | to_nice_json }}"), "{\n  \"a\": 1\n}");
    assert_eq!(ok("{{ ('a: [1, 2]' | from_yaml).a[1] }}"), "2");
    assert_eq!(ok("{{ ('{\"a\": 1}' | from_json).a }}"), "1");
}

#[test]
fn texts_are_changed() {
    assert_eq!(ok("{{ 'admin' | b64encode }}"), "YWRtaW4=");
    assert_eq!(ok("{{ 'YWRtaW4=' | b64decode }}"), "admin");
    assert_eq!(
        ok("{{ 'abc' | hash }}"),
        "a9993e364706816aba3e25717850c26c9cd0d89d"
    );
    assert_eq!(
        ok("{{ 'abc' | hash('md5') }}"),
        "900150983cd24fb0d6963f7d28e17f72"
    );
    assert_eq!(
        ok("{{ 'it is' | quote }} {{ 'ok' | quote }} {{ '' | quote }}"),
        "'it is' ok ''"
    );
    assert_eq!(ok("{{ \"it's\" | quote }}"), r#"'it'"'"'s'"#);
    assert_eq!(
        ok(r"{{ 'a-1' | regex_replace('(\\w)-(\\d)', '\\2$\\1') }}"),
        "1$a"
    );
    assert_eq!(
        ok(r"{{ 'a-1' | regex_replace('(?P<x>\\w)-.', '\\g<x>') }}"),
        "a"
    );
    assert_eq!(ok(r"{{ 'nginx:1.2' | regex_search('[0-9.]+') }}"), "1.2");
    assert_eq!(ok("{{ ' A ' | trim | lower }}"), "a");
    assert_eq!(
        ok("{{ 'a,b'.split(',') | join(' ') }} {{ 'Ab'.upper() }}"),
        "a b AB"
    );
}

#[test]
fn truth_is_as_in_ansible() {
    let words = "{{ 'yes' | bool }} {{ 'no' | bool }} {{ 'True' | bool }} {{ 1 | bool }}";
    assert_eq!(ok(words), "True False True True");
    assert_eq!(
        ok("{{ true | ternary('a', 'b') }}{{ none | ternary('a', 'b', 'c') }}"),
        "ac"
    );
    assert_eq!(ok("{{ '42' | int + 1 }}"), "43");
}

#[test]
fn maps_are_merged_and_turned() {
    let merge = "{{ {'a': {'x': 1}} | combine({'a': {'y': 2}}";
    assert_eq!(ok(&format!("{merge}) | to_json }}}}")), r#"{"a":{"y":2}}"#);
    assert_eq!(
        ok(&format!("{merge}, recursive=true) | to_json }}}}")),
        r#"{"a":{"x":1,"y":2}}"#
    );
    assert_eq!(
        ok("{{ items | items2dict | to_json }}"),
        r#"{"a":1,"b":[2]}"#
    );
    assert_eq!(
        ok("{{ {'a': 1} | dict2items | to_json }}"),
        r#"[{"key":"a","value":1}]"#
    );
    assert_eq!(
        ok("{% for k, v in labels.items() %}{{ k }}={{ v }},{% endfor %}"),
        "app=web,tier=front,"
    );
    assert_eq!(
        ok("{{ labels.get('none', 'x') }}{{ labels.get('app') }}"),
        "xweb"
    );
}

#[test]
fn a_value_is_never_a_template() {
    assert_eq!(ok("{{ '{{ name }}' }}"), "{{ name }}");
}

#[test]
fn a_rendering_is_bounded() {
    let long = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    assert_eq!(error(long), "templates/t.yaml:1: more than 1000000 steps");
    let wide = "{% set line = 'x' * 99999 %}{% for a in range(9999) %}{{ line }}{% endfor %}";
    assert_eq!(
        error(wide),
        "templates/t.yaml:1: more than 16 MiB of output"
    );
    let kept = format!("{{% set kept %}}{wide}{{% endset %}}");
    assert_eq!(
        error(&kept),
        "templates/t.yaml:1: more than 16 MiB of output"
    );
    let called = format!("{{% macro m() %}}{wide}{{% endmacro %}}{{% set kept = m() %}}");
    assert_eq!(
        error(&called),
        "templates/t.yaml:1: more than 16 MiB of output"
    );
    let plain = "{% for a in range(9999) %}{% for b in range(20) %}";
    let plain = format!("{plain}{}{{% endfor %}}{{% endfor %}}", "x".repeat(100));
    assert_eq!(
        error(&plain),
        "templates/t.yaml: more than 16 MiB of output"
    );
    assert_eq!(ok("{{ name }}"), "web", "each rendering counts for itself");
}

#[test]
fn suggested_names_exist() {
    let mut environment = Environment::new();
    configure(&mut environment);
    let mut state = environment.empty_state();
    for name in FILTERS {
        let called = state.apply_filter(name, &[]);
        assert!(
            called.is_err_and(|error| error.kind() != ErrorKind::UnknownFilter),
            "{name}"
        );
    }
    for name in TESTS {
        let called = state.perform_test(name, &[]);
        assert!(
            called.is_err_and(|error| error.kind() != ErrorKind::UnknownTest),
            "{name}"
        );
    }
}

#[test]
fn no_filter_marks_data_as_text_of_the_template() {
    let mut environment = Environment::new();
    configure(&mut environment);
    let mut state = environment.empty_state();
    let data = || Value::from("<a: b>\n");
    for name in FILTERS
        .into_iter()
        .chain(["e", "safe", "tojson", "pprint", "capitalize", "d"])
    {
        for arguments in [
            vec![data()],
            vec![vec![data()].into()],
            vec![data(), data()],
        ] {
            let made = state.apply_filter(name, &arguments);
            assert!(!made.is_ok_and(|made| made.is_safe()), "{name}");
        }
    }
}

#[test]
fn no_value_grows_without_bound() {
    let value = "templates/t.yaml:1: value of more than 16 MiB";
    let ns = "{% set ns = namespace(a='x', l=[1]) %}{% for i in range(60) %}";
    for grows in [
        &format!("{ns}{{% set ns.a = ns.a ~ ns.a %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = ns.a + ns.a %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = ns.a * 9 %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = ns.l + ns.l %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = ns.l * 9 %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = ns.a | replace('x', 'xxx') %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = ns.a.replace('x', 'xxx') %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = [ns.a, ns.a] | join %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = [ns.a, ns.a] | to_yaml %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = [ns.a, ns.a] | string %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.a = [ns.a, ns.a] ~ '' %}}{{% endfor %}}"),
        "{{ 'x' * 99999999 }}",
        "{{ 99999999 * [1] }}",
        "{{ ports | join('x' * 9999999) | length }}{{ ports | join('x' * 16777216) }}",
        "{{ name | indent(99999999999) }}",
        "{{ name | indent(width=99999999999) }}",
        "{{ name | nindent(99999999999) }}",
        "{{ '%99999999d' | format(1) }}",
        "{{ '%.99999999f' | format(1) }}",
        "{{ '%*d' | format(99999999, 1) }}",
        "{{ ports | batch(99999999, 0) }}",
        "{{ ports | slice(99999999) }}",
        "{{ ('x' * 9999999) | list }}",
        "{{ ('x ' * 999999) | split }}",
        "{{ ('x\\n' * 999999) | lines }}",
        "{{ ('x,' * 999999).split(',') }}",
        "{{ (1, 2) * 9999999 }}",
        "{{ [1] | tojson(indent=99999999) }}",
        &format!("{ns}{{% set ns.l = [ns.l, ns.l] %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = {{'a': ns.l, 'b': ns.l}} %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = dict(a=ns.l, b=ns.l) %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = ns.l, ns.l %}}{{% endfor %}}"),
        &format!("{ns}{{% set ns.l = ns.l | zip(ns.l) %}}{{% endfor %}}"),
    ] {
        assert_eq!(error(grows), value, "{grows}");
    }
}

#[test]
fn a_regular_expression_is_bounded() {
    let ns = "{% set ns = namespace(a='x') %}{% for i in range(60) %}";
    let grows = format!("{ns}{{% set ns.a = ns.a | regex_replace('x', 'xxx') %}}{{% endfor %}}");
    let message = "cannot search a text of more than 2 MiB with a regular expression";
    assert_eq!(error(&grows), format!("templates/t.yaml:1: {message}"));
    let multiplied = "{{ ('x' * 99999) | regex_replace('(.+)', '\\\\1' * 9999) }}";
    let message = "the result may be longer than 16 MiB";
    assert_eq!(error(multiplied), format!("templates/t.yaml:1: {message}"));
}

#[test]
fn values_are_not_nested_without_bound() {
    let ns = "{% set ns = namespace(l=[1], m={}) %}{% for i in range(9999) %}";
    let deep = error(&format!("{ns}{{% set ns.l = [ns.l] %}}{{% endfor %}}"));
    assert_eq!(deep, "templates/t.yaml:1: value of more than 400 levels");
    for lazy in [
        "ns.l[0:]",
        "ns.l | reverse",
        "ns.l * 1",
        "ns.l + []",
        "ns.l | zip | map('first')",
    ] {
        let template = format!("{ns}{{% set ns.l = {lazy} %}}{{% endfor %}}{{{{ ns.l }}}}");
        assert_eq!(ok(&template), "[1]", "{lazy}");
    }
    let template =
        format!("{ns}{{% set ns.m = ns.m | chain({{'a': i}}) %}}{{% endfor %}}{{{{ ns.m.a }}}}");
    assert_eq!(ok(&template), "9998");
}

#[test]
fn a_namespace_cannot_be_part_of_a_value() {
    let ns = "{% set ns = namespace(a=1) %}";
    assert_eq!(ok(&format!("{ns}{{% set ns.a = 2 %}}{{{{ ns.a }}}}")), "2");
    for stored in [
        "{% set ns.b = ns %}",
        "{% set ns.b = [ns] %}",
        "{% set ns.b = (ns, 1) %}",
        "{% set ns.b = {'a': ns} %}",
        "{% set x = [ns] %}",
        "{{ namespace(a=ns) }}",
        "{{ dict(a=ns) }}",
        "{{ ns.items() | list }}{{ [1] | zip([ns]) }}",
    ] {
        assert_eq!(
            error(&format!("{ns}{stored}")),
            "templates/t.yaml:1: a namespace cannot be part of another value",
            "{stored}"
        );
    }
}

#[test]
fn a_long_list_is_not_sorted() {
    for filter in ["sort", "unique", "groupby('a')"] {
        let template = format!("{{{{ (['x' * 9999] * 999) | {filter} }}}}");
        let name = filter.split('(').next().unwrap();
        assert_eq!(
            error(&template),
            format!("templates/t.yaml:1: `{name}` of more than 4 MiB")
        );
    }
}

/// Renders over a list, texts and a map of a thousand items.
fn of_large(template: &str) -> Result<String, HostError> {
    let names = || (0..1000).map(|n| format!("name-{n}"));
    let scope = json!({
        "l": (0..1000).collect::<Vec<_>>(),
        "k": (0..1000).collect::<Vec<_>>(),
        "t": "a b\n".repeat(25_000),
        "u": "a b\n".repeat(25_000),
        "words": names().collect::<Vec<_>>(),
        "m": names().map(|name| (name, 1)).collect::<std::collections::BTreeMap<_, _>>(),
        "maps": names().map(|name| json!({"key": name, "value": 1})).collect::<Vec<_>>(),
    });
    let mut environment = Environment::new();
    configure(&mut environment);
    rewrite(template, environment.syntax())
        .and_then(|template| environment.add_template_owned("t.yaml", template))
        .map_err(|error| explain("t.yaml", &error))?;
    render(&environment, "t.yaml", &Serde(scope).into())
}

/// Expressions that read about a thousand values, or a text.
const EXPRESSIONS: &[&str] = &[
    "range(1000) | sum",
    "l | sum",
    "maps | sum(attribute='value')",
    "t | length",
    "t | count",
    "1001 in l",
    "'z' in t",
    "l in words",
    "1001 not in l",
    "0 < 1 not in l",
    "l == k",
    "k != l",
    "l < k",
    "t == u",
    "m == m",
    "l is eq(k)",
    "t is eq(u)",
    "l is ge(k)",
    "1001 is in(l)",
    "t is lower",
    "t is startingwith(u)",
    "t is iterable",
    "l | list",
    "l | unique",
    "l | sort",
    "maps | sort(attribute='key')",
    "l | min",
    "l | max",
    "l | reverse",
    "l | batch(10)",
    "l | slice(10)",
    "maps | groupby('value')",
    "m | dictsort",
    "m | items",
    "m | dict2items",
    "maps | items2dict",
    "m | combine(m)",
    "l | zip(k)",
    "l | chain(k)",
    "m | chain(m)",
    "l | join(',')",
    "l | string",
    "t | replace('z', '')",
    "t | regex_replace('z', '')",
    "t | regex_search('z')",
    "l | tojson",
    "l | to_json",
    "l | to_nice_json",
    "l | to_yaml",
    "l | pprint",
    "t | upper",
    "t | trim",
    "t | capitalize",
    "t | indent(2)",
    "t | nindent(2)",
    "t | quote",
    "t | split",
    "t | lines",
    "t | hash",
    "t | b64encode",
    "t | escape",
    "'%s' | format(t)",
    "l | mandatory",
    "l | ternary(1, 2)",
    "l | bool",
    "words | select('in', [])",
    "maps | selectattr('value')",
    "maps | rejectattr('value', 'eq', 1)",
    "words | reject('eq', '')",
    "words | map('upper')",
    "maps | map(attribute='key')",
    "[t] | map(attribute='99999')",
    "[t] | map('length')",
    "words | map('replace', *['a', 'b'])",
    "(([[1]] * 1000) | sum(start=[]))",
    "words | sum(start='')",
    "t[:50000] | list",
    "t[:9999] | sort",
    "t.upper()",
    "t.split()",
    "t.startswith(u)",
    "t.replace('z', '')",
    "m.keys()",
    "m.values()",
    "m.items()",
    "loop.changed(l)",
    "loop.cycle(*l)",
    "dict(m)",
    "dict(**m)",
    "namespace(m)",
    "t[99999]",
    "t[i + 99999]",
    "t.99999",
    "range(1000)[i]",
    "t[1:]",
    "l[::-1]",
    "l[1:]",
    "m[t]",
    "t ~ ''",
    "l ~ ''",
    "l + k",
    "l * 2",
    "t | attr(99999)",
    "(t | first) ~ (t | length)",
];

#[test]
fn expressions_read_large_values() {
    for expression in EXPRESSIONS {
        let template = format!("{{% for i in [1] %}}{{% set x = {expression} %}}{{% endfor %}}");
        of_large(&template).unwrap_or_else(|error| panic!("{expression}: {error}"));
    }
}

thread_local! {
    static PASSED: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn repeated_work_passes_checkpoints() {
    for repeated in [
        "{% for i in l %}{% if i in l %}{% endif %}{% endfor %}",
        "{% for i in l recursive %}{{ loop([]) }}{% endfor %}",
        "{% macro m(n) %}{% if n in l %}{{ m(n + 1) }}{% endif %}{% endmacro %}{% for i in range(50) %}{{ m(980) }}{% endfor %}",
        "{% set x = l | select('in', l) %}",
        "{% set x = maps | rejectattr('key', 'in', words) %}",
        "{% set x = words | map('upper') %}",
        "{% set x = words | sum(start='') %}",
        "{% for i in l %}{{ i }}{% endfor %}",
    ] {
        PASSED.set(0);
        let _check = checkpoint::install(|| {
            PASSED.set(PASSED.get() + 1);
            true
        });
        of_large(repeated).unwrap();
        assert!(PASSED.get() >= 1000, "{}: {repeated}", PASSED.get());
    }
}

#[test]
fn an_honest_large_template_is_rendered() {
    let template = "{% set known = words | map('upper') | sort | unique | list %}\
        {% for i in range(10000) %}{{ 'Name-' ~ i | lower | upper | title | trim | replace('-', '_') | quote \
        | b64encode | b64decode | default('x') | string | length | int | float | round | abs | string \
        | regex_replace('[.].*', '') | to_json | hash | first }}\n{% endfor %}";
    let text = of_large(template).unwrap();
    assert_eq!(text.lines().count(), 10_000);
}

const UNDEFINED_OPERANDS: [&str; 12] = [
    "{{ nothing ~ 1 }}",
    "{{ 1 + nothing }}",
    "{{ nothing * 2 }}",
    "{{ nothing == 1 }}",
    "{{ 1 == nothing }}",
    "{{ 1 in nothing }}",
    "{{ nothing in ports }}",
    "{{ nothing[1:] }}",
    "{{ nothing[name] }}",
    "{{ nothing | sum }}",
    "{{ nothing | map('upper') }}",
    "{{ nothing | selectattr('x') }}",
];

#[test]
fn operators_do_what_they_do() {
    for (template, expected) in [
        (
            "{{ 1 + 2 * 3 }} {{ 1.5 * 2 }} {{ 'a' + 'b' }} {{ 'ab' * 2 }} {{ 2 * 'ab' }}",
            "7 3.0 ab abab abab",
        ),
        (
            "{{ [1] + [2] }} {{ [1, 2] * 2 }} {{ (1, 2) + (3,) }}",
            "[1, 2] [1, 2, 1, 2] (1, 2, 3)",
        ),
        ("{{ 1 ~ 'a' ~ [true] ~ none }}", "1a[True]None"),
        (
            "{% for x in ports + [1] %}{{ x }},{% endfor %}",
            "80,443,1,",
        ),
        ("{{ (ports + [443]) | unique | length }}", "2"),
        (
            "{{ 80 in ports }} {{ 1 not in ports }} {{ 'app' in labels }} {{ 0 < 1 < 2 > 3 }}",
            "True True True False",
        ),
        (
            "{{ ports[::-1] }} {{ name[1:] }} {{ ports[-1] }} {{ (1, 2, 3)[:2] }} {{ ports.1 }}",
            "[443, 80] eb 443 (1, 2) 443",
        ),
        (
            "{{ ports | reverse }} {{ ports | chain([1]) }} {{ labels | chain({'a': 1}) | to_json }}",
            r#"[443, 80] [80, 443, 1] {"a":1,"app":"web","tier":"front"}"#,
        ),
        (
            "{{ ports | zip([1, 2]) }} {{ labels | items | length }} {{ dict(labels, a=1) | length }}",
            "[(80, 1), (443, 2)] 2 3",
        ),
        (
            "{{ ports | select('in', [80]) | list }} {{ items | map(attribute='key') | join }}",
            "[80] ab",
        ),
    ] {
        assert_eq!(ok(template), expected, "{template}");
    }
    assert_eq!(
        error("{{ 1 + 'a' }}"),
        "templates/t.yaml:1: tried to use + operator on unsupported types number and string"
    );
    for use_of_it in UNDEFINED_OPERANDS {
        assert_eq!(
            error(use_of_it),
            "templates/t.yaml:1: `nothing` is undefined"
        );
    }
}

#[test]
fn objects_are_read_from_the_output() {
    let mut environment = Environment::new();
    configure(&mut environment);
    environment
        .add_template("good", "a: {{ x }}\n---\n# none\n---\nb: 2\n")
        .unwrap();
    environment
        .add_template("bad", "a: 1\n b: {{ x }}\n")
        .unwrap();
    let scope = Value::from(Serde(json!({"x": "yes"})));
    let objects = render_objects(&environment, "good", &scope).unwrap();
    assert_eq!(objects, [json!({"a": true}), json!({"b": 2})]);
    let error = render_objects(&environment, "bad", &scope).unwrap_err();
    assert_eq!(
        error.message,
        "templates/bad, rendered, is not YAML: line 2, column 3: \
         mapping values are not allowed in this context: `b: yes`"
    );
    let error = render_objects(&environment, "none", &scope).unwrap_err();
    assert_eq!(
        (error.kind.as_ref(), error.message.as_str()),
        ("not_found", "the role has no templates/none")
    );
}

mod ending;
mod injection;
mod well_known;
