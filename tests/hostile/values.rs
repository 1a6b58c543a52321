//! The list of hostile values that a tenant can write into any field of a custom resource.
//!
//! Values that try to make structure of text use the key or the name [`INJECTED`], so that a test
//! can find in an object if one of them succeeded.

use serde_json::{Map, Value, json};

/// The key that injected structure has, and the name of injected objects.
pub(crate) const INJECTED: &str = "injected";

/// The name of objects that exist before any custom resource and that have no owner.
pub(crate) const EXISTING: &str = "existing";

/// A value with the name by which a failure is reproduced.
#[derive(Clone, Debug)]
pub(crate) struct Hostile {
    /// Group and number: `yaml-3`.
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// All values, in a fixed order.
pub(crate) fn all() -> Vec<Hostile> {
    let groups: [(&str, Vec<Value>); 14] = [
        ("type", types()),
        ("number", numbers()),
        ("size", sizes()),
        ("depth", depths()),
        ("unicode", texts(&UNICODE)),
        ("control", texts(&CONTROL)),
        ("yaml", texts(&YAML)),
        ("alias", aliases()),
        ("template", texts(&TEMPLATE)),
        ("path", texts(&PATHS)),
        ("name", texts(&NAMES)),
        ("pattern", patterns()),
        ("query", texts(&QUERIES)),
        ("patch", patches()),
    ];
    let named = groups.into_iter().flat_map(|(group, values)| {
        let numbered = values.into_iter().enumerate();
        numbered.map(move |(number, value)| Hostile {
            name: format!("{group}-{number}"),
            value,
        })
    });
    named.collect()
}

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|&text| Value::from(text)).collect()
}

fn types() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(""),
        json!({}),
        json!([]),
        json!([[]]),
        json!([null]),
        json!({"": ""}),
        json!({"a": null}),
        json!([1, "a", {}, [], null, true]),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": INJECTED}}),
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": INJECTED}}]),
        json!({"__proto__": {"a": 1}, "constructor": {"prototype": {}}}),
        json!({"$patch": "delete"}),
        json!({"$setElementOrder/a": ["b"], "$retainKeys": ["c"]}),
        json!({"metadata": {"ownerReferences": [], "finalizers": ["a/b"]}}),
        json!([{"name": "a"}, {"name": "a"}]),
        json!([{"name": "a", "value": 1, "size": 1e300, "op": "add", "path": "/data/a"}]),
        json!({"env": 1, "image": [], "replicas": "many"}),
    ]
}

fn numbers() -> Vec<Value> {
    let mut values = vec![
        json!(0),
        json!(-1),
        json!(1),
        json!(64),
        json!(65_536),
        json!(i64::from(i32::MAX)),
        json!(i64::from(i32::MIN)),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.1),
        json!(-0.0),
        json!(1e21),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(9_007_199_254_740_993_i64),
    ];
    values.extend(texts(&[
        "1e9999",
        "NaN",
        ".inf",
        "-.Inf",
        "0x7f",
        "0o777",
        "1_000",
        "٣",
        "1,5",
        "99999999999999999999",
        "1e2147483647Ki",
        "0.000000000000000000001n",
        "-0",
        "9223372036854775807h",
        "1h1h1h",
        "0s",
        "-1s",
        "1ns",
        "292277026596-12-04T15:30:08Z",
        "0000-00-00T00:00:00Z",
        "2026-02-29T24:00:60Z",
        "%%%Q%n%999999999Y",
        "999999999.999999999.999999999",
        "1.0.0-alpha..1",
        ">=1, <2, !=x || *",
    ]));
    values
}

fn sizes() -> Vec<Value> {
    let keys = |count: usize| {
        let keys = (0..count).map(|n| (format!("key-{n}"), json!(n)));
        Value::Object(keys.collect::<Map<_, _>>())
    };
    vec![
        json!("a".repeat(253)),
        json!("a".repeat(254)),
        json!("a".repeat(70_000)),
        json!("a".repeat(1_000_000)),
        json!("é\u{1f600}".repeat(100_000)),
        json!("\n".repeat(300_000)),
        json!("\"\\".repeat(200_000)),
        json!("{{".repeat(100_000)),
        json!("a: ".repeat(100_000)),
        json!("- ".repeat(50_000)),
        json!("ab ".repeat(200_000)),
        json!(vec![0; 200_000]),
        json!(vec!["a"; 100_000]),
        json!(vec![json!({}); 50_000]),
        json!(vec![json!({"name": "a", "value": "b", "size": 5}); 5_000]),
        keys(50_000),
        json!({"a".repeat(100_000): "b"}),
        json!({"data": {"a".repeat(70_000): "b"}}),
    ]
}

fn depths() -> Vec<Value> {
    let lists = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let maps = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
    let mut values: Vec<Value> = [32, 64, 100, 124, 126, 128, 400]
        .into_iter()
        .flat_map(|depth| [lists(depth), maps(depth)])
        .collect();
    values.extend([
        json!("[".repeat(100_000)),
        json!("{\"a\":".repeat(50_000)),
        json!("(".repeat(50_000)),
        json!("a:\n ".repeat(300)),
        json!(format!("{}{}", "[".repeat(2_000), "]".repeat(2_000))),
        json!(format!("{}1{}", "{a: ".repeat(1_000), "}".repeat(1_000))),
        json!(format!(
            "{}1{}",
            "{% if 1 %}".repeat(500),
            "{% endif %}".repeat(500)
        )),
    ]);
    values
}

/// Returns values that are nested more deeply than most parsers accept. A real API server stores them.
pub(crate) fn deep() -> Vec<Hostile> {
    let nested = [200, 1_000, 5_000].map(|depth| {
        let value = (0..depth).fold(json!(1), |inner, level| match level % 2 {
            0 => json!([inner]),
            _ => json!({"a": inner}),
        });
        Hostile {
            name: format!("deep-{depth}"),
            value,
        }
    });
    nested.into()
}

const UNICODE: [&str; 14] = [
    "\u{feff}a",
    "a\u{200b}b",
    "\u{202e}gnp.exe",
    "e\u{301}\u{301}\u{301}\u{301}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{10ffff}",
    "\u{fffe}\u{ffff}",
    "\u{e000}",
    "ﬁ ß İ ı ǅ",
    "\u{2028}injected: true\u{2029}",
    "\u{85}injected: true",
    "ａｐｐ",
    "аdmin",
    "\u{d7ff}\u{e000}\u{fdd0}",
];

const CONTROL: [&str; 12] = [
    "\0",
    "a\0b",
    "\u{1}\u{2}\u{3}\u{7f}",
    "\r",
    "\r\ninjected: true\r\n",
    "\t\tinjected: true",
    "\u{1b}[2J\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}31m",
    "\u{8}\u{8}\u{8}",
    "a\u{b}b\u{c}c",
    "\n{\"level\":\"ERROR\",\"message\":\"forged\"}\n",
];

const YAML: [&str; 33] = [
    "a\ninjected: true",
    "a\n  injected: true",
    "a\n    injected: true",
    "a\n      injected: true",
    "a\"\n  injected: \"true",
    "a'\n  injected: 'true",
    "a, injected: true",
    "a}, injected: {",
    "a\", \"injected\": \"true",
    "a', 'injected': 'true",
    "a # injected: true",
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: injected}",
    "a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: injected\n",
    "a\n...\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: injected}\nspec: {hostNetwork: true}",
    "{injected: true}",
    "[injected]",
    "? injected\n: true",
    "!!map {injected: true}",
    "!!binary aGVsbG8=",
    "!!python/object/apply:os.system ['true']",
    "&anchor injected",
    "*anchor",
    "*labels",
    "<<: {injected: true}",
    "| \n  injected: true",
    "> \n  injected: true",
    "%YAML 1.1",
    "yes",
    "null",
    "~",
    "01",
    "a: b: c",
    "-",
];

/// Texts that expand when they are parsed.
fn aliases() -> Vec<Value> {
    let bomb = |levels: usize, width: usize| {
        let mut text = "a0: &a0 [x, x, x, x]\n".to_owned();
        for level in 1..levels {
            let refs = vec![format!("*a{}", level - 1); width].join(", ");
            let line = format!("a{level}: &a{level} [{refs}]\n");
            text += &line;
        }
        json!(text)
    };
    let long = "x".repeat(500_000);
    vec![
        bomb(4, 4),
        bomb(10, 10),
        bomb(30, 2),
        bomb(60, 9),
        json!(format!(
            "a: &a {long}\nb: [{}]\n",
            vec!["*a"; 2_000].join(", ")
        )),
        json!(format!(
            "a: &a {{k: {long}}}\nb: [{}]\n",
            vec!["*a"; 500].join(", ")
        )),
        json!("a: &a [*a]"),
        json!("&a {<<: *a}"),
        json!(format!("a: &a {{b: c}}\n{}", "d: {<<: *a}\n".repeat(1_000))),
        json!("x: &x y\n? *x\n: 1\n*x : 2"),
    ]
}

const TEMPLATE: [&str; 22] = [
    "{{ 7 * 7 }}",
    "{{ cr }}",
    "{{ vars | to_json }}",
    "{% for a in range(100000000) %}{% endfor %}",
    "{% include 'app.conf' %}",
    "{% raw %}",
    "{# injected #}",
    "}}",
    "%}",
    "${7 * 7}",
    "${cr}",
    "${k8s_get(\"v1\", \"Secret\", \"credentials\")}",
    "$$",
    "${",
    "`${7}`",
    "\"; fail(\"injected\"); \"",
    "'; throw 'injected'; '",
    "\\\"; loop {} //",
    "$(INJECTED)",
    "$1 ${1} $0 \\1 $name",
    "%s%n%x%999999999d",
    "{0.__class__} {}",
];

const PATHS: [&str; 18] = [
    "../../../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "./.././notes.txt",
    "notes.txt/../../../widget/tasks/main.rhai",
    "**/*",
    "**/**/**/**/**/**/**/**/**/**/**/x",
    "*?*?*?*?*?*?*?*?*?*?*?*?*?*?b",
    "/proc/self/environ",
    "/dev/zero",
    "file:///etc/passwd",
    "notes.txt\0.png",
    "..%2f..%2fnotes.txt",
    "C:\\Windows\\win.ini",
    "https://user:password@[::1]:99999/../../?a=b#c",
    "http://169.254.169.254/latest/meta-data/",
    "secrets/credentials",
];

const NAMES: [&str; 26] = [
    EXISTING,
    "credentials",
    "kube-root-ca.crt",
    "default",
    "kube-system",
    "UPPER",
    "a b",
    "a/b",
    "a/b/c",
    "a..b",
    "-a",
    "a-",
    ".a",
    "a_b",
    "a%2fb",
    "a?dryRun=All",
    "a#b",
    "a&b=c",
    "a,b",
    "a in (b, c)",
    "a notin (",
    "!a",
    "a=b,a!=b",
    "metadata.name=credentials",
    "rhai.operator/owner",
    "widget",
];

fn patterns() -> Vec<Value> {
    let mut values = texts(&[
        "(a+)+$",
        "(a|a)*b",
        "(",
        "[",
        "\\",
        "*",
        "(?P<a>.)(?P<a>.)",
        "\\p{Injected}",
        "(?i)(?s)(?m)(?x)",
        "^(?:a{1000}){1000}$",
        "\\w{1000}",
        "(?:)",
    ]);
    values.extend([
        json!("(a?){30}a{30}"),
        json!("a|".repeat(20_000)),
        json!(format!("{}a{}", "(".repeat(1_000), ")".repeat(1_000))),
    ]);
    values
}

const QUERIES: [&str; 12] = [
    "$",
    "$..*",
    "$..*..*..*..*",
    "$[?@..a == @..b]",
    "$[::0]",
    "$[-9223372036854775808:9223372036854775807:1]",
    "$[?match(@, '(a+)+$')]",
    "$[?length(@) > count(@..*)]",
    "$['a\\'b']",
    "$[",
    "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p",
    "........",
];

/// Returns patches that multiply the size of the object.
fn patches() -> Vec<Value> {
    let doubling = |steps: usize| {
        let mut patch = vec![json!({"op": "add", "path": "/data/x", "value": "x".repeat(64)})];
        for step in 0..steps {
            let path = format!("/data/x{step}");
            patch.push(json!({"op": "copy", "from": "/data", "path": path}));
        }
        Value::Array(patch)
    };
    vec![
        doubling(5),
        doubling(40),
        json!([{"op": "copy", "from": "", "path": "/data/a"}, {"op": "copy", "from": "", "path": "/data/b"}]),
        json!([{"op": "remove", "path": "/metadata/ownerReferences"}]),
        json!([{"op": "replace", "path": "/metadata/labels", "value": null}]),
        json!([{"op": "replace", "path": "", "value": null}]),
        json!([{"op": "test", "path": "/data/none", "value": null}]),
        json!([{"op": "move", "from": "/data", "path": "/data/a"}]),
        json!([{"op": "add", "path": "/data/-1", "value": 1}]),
        json!([{"op": "add", "path": "data", "value": 1}]),
        json!([{"op": "injected"}]),
        json!({"metadata": {"name": EXISTING, "namespace": "kube-system", "uid": ""}}),
        json!({"metadata": {"labels": {"rhai.operator/owner": "00000000-0000-0000-0000-000000000000"}}}),
        json!({"kind": "Secret", "apiVersion": "v1", "data": {"a": "!"}}),
    ]
}
