//! Tests of the actions of steps, each by the objects in the cluster afterwards.

use serde_json::json;

use super::flow::states;
use super::step_test::{StepTest, TestNamespace};

const MAIN: &str = "web/tasks/main.yaml";

/// A step of each action.
const ACTIONS: &str = r#"
- name: one
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${meta.name}-one", labels: {level: "${spec.size}"}}
    data: {text: "size ${spec.size}, $${kept}", number: "${spec.size}"}
- name: many
  apply:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- name: gone
  delete: {apiVersion: v1, kind: ConfigMap, name: foreign}
  ready: true
- name: value
  script: |
    fn double(x) { x * 2 }
    double(spec.size)
- name: nested
  include: more.yaml
- name: state
  status: {doubled: "${results.value}", names: "${results.many.map(|m| m.metadata.name)}"}
- name: healthy
  condition: {type: Healthy, status: true, reason: AllGood, message: "size ${spec.size}"}
- name: told
  event: {type: Normal, reason: Grown, message: "to ${spec.size}"}
- name: sure
  assert: {that: ["spec.size > 2", "$.results.one.data.number"], message: too small}
- name: never
  when: spec.size > 100
  fail: "too large: ${spec.size}"
- name: group
  block:
  - name: inner
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: inner}, data: {x: "${results.nested.deep.data.x}"}}
  always:
  - name: last
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}
"#;
const INCLUDED: &str = r#"
- name: deep
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: deep}, data: {x: "from ${meta.name}"}}
"#;

pub(crate) async fn every_action_has_its_documented_effect(target: TestNamespace) {
    let files = [(MAIN, ACTIONS), ("web/tasks/more.yaml", INCLUDED)];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({"size": 3})).await;
    test.set("foreign", json!({})).await;
    let report = test.until_done().await;
    assert_eq!(report.effects.steps.len(), 11);
    let one = json!({"text": "size 3, ${kept}", "number": "3"});
    assert_eq!(test.data("w-one").await, one);
    assert_eq!(test.data("foreign").await, json!(null));
    assert_eq!(test.data("inner").await, json!({"x": "from w"}));
    let maps = ["a", "b", "deep", "inner", "last", "w-one"];
    assert_eq!(test.maps().await, maps);
    let status = test.status().await;
    assert_eq!(
        (&status["doubled"], &status["names"]),
        (&json!(6), &json!(["a", "b"]))
    );
    let conditions = status["conditions"].as_array().unwrap();
    let healthy = conditions.iter().find(|entry| entry["type"] == "Healthy");
    assert_eq!(healthy.unwrap()["message"], "size 3");
}

pub(crate) async fn every_key_has_its_documented_effect(target: TestNamespace) {
    const STEPS: &str = r#"
- name: first thing
  register: first
  vars: {colour: red, deep: {b: 2}}
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: first}
    data: {colour: "${vars.colour}", deep: "${vars.deep.a}${vars.deep.b}", outer: "${vars.outer}"}
- name: after
  needs: [first thing]
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: after}
    data: {colour: '${vars.colour ?? "none"}', name: "${results.first.metadata.name}"}
- name: items
  loop: $.spec.items[*]
  when: item.on
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "item-${item.name}"}, data: {n: "${item.n}"}}
  until: result.data.n == `${item.n}`
- name: map
  loop: "${spec.ports}"
  script: "`${item.key}=${item.value}`"
- name: blocks
  loop: [p, q]
  block:
  - name: inner
    script: "`in ${item}`"
- name: report
  status: {items: "${results.items.len()}", map: "${results.map}", blocks: "${results.blocks}"}
"#;
    const DEFAULTS: &str = "deep: {a: 1}\nouter: o\n";
    let files = [(MAIN, STEPS), ("web/defaults/main.yaml", DEFAULTS)];
    let mut test = StepTest::new(target, &files).await;
    let spec = json!({"ports": {"http": 80, "ssh": 22}, "items": [
        {"name": "a", "on": true, "n": 1}, {"name": "b", "on": false, "n": 2},
        {"name": "c", "on": true, "n": 3},
    ]});
    test.spec(spec).await;
    test.done().await;
    let first = json!({"colour": "red", "deep": "12", "outer": "o"});
    assert_eq!(test.data("first").await, first);
    let after = json!({"colour": "none", "name": "first"});
    assert_eq!(test.data("after").await, after);
    assert_eq!(test.maps().await, ["after", "first", "item-a", "item-c"]);
    let status = test.status().await;
    assert_eq!(status["items"], 2);
    assert_eq!(status["map"], json!(["http=80", "ssh=22"]));
    let blocks = json!([{"inner": "in p"}, {"inner": "in q"}]);
    assert_eq!(status["blocks"], blocks);
}

pub(crate) async fn a_loop_that_shrinks_leaves_nothing_behind(target: TestNamespace) {
    const STEPS: &str = r#"
- name: shards
  loop: spec.shards
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "shard-${item}"}}
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"shards": ["a", "b", "c"]})).await;
    test.done().await;
    assert_eq!(test.maps().await, ["shard-a", "shard-b", "shard-c"]);
    test.spec(json!({"shards": ["b"]})).await;
    let report = test.done().await;
    assert_eq!(report.pruned.len(), 2);
    assert_eq!(test.maps().await, ["shard-b"]);
}

pub(crate) async fn a_file_and_a_template_are_applied(target: TestNamespace) {
    const STEPS: &str = "
- name: file
  apply: {file: two.yaml}
- name: template
  loop: [p, q]
  apply: {template: map.yaml.j2, vars: {name: '${item}'}}
";
    const TWO: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: f1}, data: {raw: '${spec.size}'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: f2}}
";
    const TEMPLATE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: 't-{{ name }}'}
data: {item: '{{ item }}', first: '{{ results.file[0].metadata.name }}', size: '{{ spec.size }}'}
";
    let files = [
        (MAIN, STEPS),
        ("web/files/two.yaml", TWO),
        ("web/templates/map.yaml.j2", TEMPLATE),
    ];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({"size": 3})).await;
    test.done().await;
    assert_eq!(test.maps().await, ["f1", "f2", "t-p", "t-q"]);
    assert_eq!(test.data("f1").await, json!({"raw": "${spec.size}"}));
    let made = json!({"item": "q", "first": "f1", "size": "3"});
    assert_eq!(test.data("t-q").await, made);
}

pub(crate) async fn roles_of_both_kinds_include_each_other(target: TestNamespace) {
    const STEPS: &str = r#"
- name: scripted
  vars: {word: replaced, tail: "${spec.word}!"}
  role: {name: script, vars: {word: "${spec.word}"}}
- name: report
  status: {said: "${results.scripted}"}
"#;
    const SCRIPT: &str = r#"
let made = include_role("inner", #{word: vars.word});
`${made.map.data.word} and ${vars.word} and ${vars.tail}`
"#;
    const INNER: &str = r#"
- name: map
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: inner}, data: {word: "${vars.word}"}}
- name: gate
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
  ready: $.data.open
"#;
    let files = [
        (MAIN, STEPS),
        ("script/tasks/main.rhai", SCRIPT),
        ("inner/tasks/main.yaml", INNER),
    ];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({"word": "hello"})).await;
    let on = test.waits().await;
    assert!(on.starts_with("1 of 2, scripted: 2 of 2, gate: "), "{on}");
    test.set("gate", json!({"open": "yes"})).await;
    test.until_done().await;
    assert_eq!(test.status().await["said"], "hello and hello and hello!");
    assert_eq!(test.maps().await, ["gate", "inner"]);
}

pub(crate) async fn the_end_of_a_custom_resource_is_a_pipeline_too(target: TestNamespace) {
    const STEPS: &str = "
- name: child
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: child}}
";
    const FINALIZE: &str = "
- name: farewell
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: farewell}}
  ready: $.data.open
- name: leave
  delete: {apiVersion: v1, kind: ConfigMap, name: farewell}
";
    let files = [(MAIN, STEPS), ("web/tasks/finalize.yaml", FINALIZE)];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({})).await;
    test.done().await;
    test.delete().await;
    let on = test.waits().await;
    assert!(on.starts_with("1 of 2, farewell: "), "{on}");
    test.set("farewell", json!({"open": "yes"})).await;
    let report = test.until_done().await;
    assert_eq!(states(&report), ["farewell done", "leave done"]);
    assert!(report.gone);
    assert_eq!(test.data("farewell").await, json!(null));
}
