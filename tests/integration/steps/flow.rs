//! The graph: what waits, fails, is skipped, and what that does to others.

use rhai_operator::reconcile::{Report, StepSelection, StepState};
use serde_json::json;

use super::step_test::{StepTest, TestNamespace};

const MAIN: &str = "web/tasks/main.yaml";

/// Returns the names of the steps with their states.
pub(crate) fn states(report: &Report) -> Vec<String> {
    let steps = report.effects.steps.iter();
    steps
        .map(|step| format!("{} {}", step.name, step.state.as_str()))
        .collect()
}

pub(crate) async fn a_branch_that_waits_holds_up_only_those_that_need_it(target: TestNamespace) {
    const DIAMOND: &str = "
- name: top
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: top}}
- name: left
  needs: [top]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: left}}
  ready: $.data.open
- name: right
  needs: [top]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: right}}
- name: beside
  needs: [right]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: beside}}
- name: bottom
  needs: [left, right]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: bottom}}
";
    let mut test = StepTest::new(target, &[(MAIN, DIAMOND)]).await;
    test.spec(json!({})).await;
    let on = test.waits().await;
    assert!(on.starts_with("2 of 5, left: ConfigMap "), "{on}");
    assert!(on.contains("`$.data.open` is not true yet"), "{on}");
    assert_eq!(test.maps().await, ["beside", "left", "right", "top"]);
    let report = test.run().await;
    let stand = [
        "top done",
        "left waiting",
        "right done",
        "beside done",
        "bottom blocked",
    ];
    assert_eq!(states(&report), stand);
    let names: Vec<&str> = report.waits.iter().map(|object| &*object.name).collect();
    assert_eq!(names, ["left"]);
    test.set("left", json!({"open": "yes"})).await;
    test.until_done().await;
    assert_eq!(test.maps().await.len(), 5);
}

pub(crate) async fn objects_of_a_skipped_step_are_pruned(target: TestNamespace) {
    const STEPS: &str = "
- name: always
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: always}}
- name: gate
  when: spec.wait
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
  ready: $.data.open
- name: extra
  needs: []
  when: $.spec.extra
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"wait": false, "extra": true})).await;
    test.done().await;
    assert_eq!(test.maps().await, ["always", "extra"]);
    // A run that is not complete prunes nothing.
    test.spec(json!({"wait": true, "extra": false})).await;
    test.waits().await;
    assert_eq!(test.maps().await, ["always", "extra", "gate"]);
    test.set("gate", json!({"open": "yes"})).await;
    let report = test.until_done().await;
    assert_eq!(
        states(&report),
        ["always done", "gate done", "extra skipped"]
    );
    assert_eq!(test.maps().await, ["always", "gate"]);
}

pub(crate) async fn a_refused_request_is_rescued(target: TestNamespace) {
    const META: &str = "
permissions:
  api:
  - {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
";
    const STEPS: &str = "
- name: careful
  block:
  - name: before
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: before}}
  - name: refused
    apply: {apiVersion: v1, kind: Secret, metadata: {name: s}}
  - name: after
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: after}}
  rescue:
  - name: note
    apply:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: rescued}
      data: {step: '${error.step}', kind: '${error.kind}', code: '${error.code}'}
  always:
  - name: last
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}
- name: next
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: next}}
";
    let files = [(MAIN, STEPS), ("web/meta/main.yaml", META)];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({})).await;
    let report = test.done().await;
    assert_eq!(test.maps().await, ["before", "last", "next", "rescued"]);
    let rescued = json!({"step": "refused", "kind": "forbidden", "code": "403"});
    assert_eq!(test.data("rescued").await, rescued);
    let block: Vec<StepState> = report.effects.steps[0]
        .steps
        .iter()
        .map(|step| step.state)
        .collect();
    let expected = [
        StepState::Done,
        StepState::Failed,
        StepState::Blocked,
        StepState::Done,
        StepState::Done,
    ];
    assert_eq!(block, expected);
}

pub(crate) async fn failed_steps_are_reported_together(target: TestNamespace) {
    const STEPS: &str = "
- name: first
  apply: {apiVersion: v1, kind: Nonsense, metadata: {name: x}}
- name: second
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: Not A Name}}
- name: third
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: fine}}
- name: fourth
  needs: [first]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: never}}
- name: fifth
  needs: []
  assert: spec.size > 0
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"size": 0})).await;
    let why = test.fails().await;
    let place = |line: usize| format!("web/tasks/main.yaml:{line}:3: ");
    for part in [
        format!("1 of 5, first: {}", place(2)),
        format!("; 2 of 5, second: {}", place(4)),
        "; 5 of 5, fifth: ".to_owned(),
        "`spec.size > 0` is not true".to_owned(),
    ] {
        assert!(why.contains(&part), "{part:?} is not in {why:?}");
    }
    assert!(!why.contains("fourth"), "{why}");
    assert_eq!(test.maps().await, ["fine"]);
}

pub(crate) async fn a_script_that_waits_holds_up_its_own_step(target: TestNamespace) {
    const STEPS: &str = r#"
- name: look
  script: |
    let map = wait_for(#{apiVersion: "v1", kind: "ConfigMap", name: "elsewhere"}, "$.data.open", "yes");
    map.data.word
- name: use
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: use}
    data: {word: "${results.look}"}
- name: other
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
- name: hopeless
  needs: []
  when: spec.hopeless
  script: fail("there is no hope");
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"hopeless": false})).await;
    let on = test.waits().await;
    assert!(on.starts_with("1 of 4, look: ConfigMap "), "{on}");
    assert!(on.ends_with("does not exist yet"), "{on}");
    assert_eq!(test.maps().await, ["other"]);
    test.set("elsewhere", json!({"open": "yes", "word": "hello"}))
        .await;
    test.until_done().await;
    assert_eq!(test.data("use").await, json!({"word": "hello"}));
    test.spec(json!({"hopeless": true})).await;
    let why = test.stalls().await;
    assert!(why.starts_with("4 of 4, hopeless: "), "{why}");
    assert!(why.ends_with("there is no hope"), "{why}");
}

pub(crate) async fn nothing_changed_asks_nothing(target: TestNamespace) {
    const STEPS: &str = r#"
- name: list
  apply:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "${spec.x}"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- name: gate
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
  ready: true
  timeout: 5m
- name: each
  loop: [1, 2]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "d${item}"}}
- name: report
  status: {each: "${results.each.len()}"}
"#;
    let steps = json!({"type": "array", "items": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
    }});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let status = json!({"type": "object", "properties": {
        "steps": steps, "each": {"type": "integer"},
        "conditions": {"type": "array", "items": open},
    }});
    let mut test = StepTest::with_status(target, status, &[(MAIN, STEPS)]).await;
    test.spec(json!({"x": 3})).await;
    test.until_at_rest().await;
    for _ in 0..3 {
        let report = test.done().await;
        assert_eq!((test.requests(), report.effects.writes.len()), (0, 0));
    }
    assert_eq!(test.data("a").await, json!({"x": "3"}));
}

pub(crate) async fn steps_are_in_the_status_where_the_crd_has_them(target: TestNamespace) {
    const STEPS: &str = "
- name: one
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- name: two
  when: false
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
- name: three
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: three}}
  ready: $.data.open
";
    let guide = include_str!("../../../docs/pipelines.md");
    let opening = "```yml\n# among the properties of the status in the CRD\n";
    let (_, schema) = guide.split_once(opening).unwrap();
    let (schema, _) = schema.split_once("```").unwrap();
    let schema = rhai_operator::model::yaml::parse(schema).unwrap();
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let status = json!({"type": "object", "properties": {
        "steps": schema["steps"],
        "conditions": {"type": "array", "items": open},
    }});
    let mut test = StepTest::with_status(target, status, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    test.waits().await;
    let status = test.status().await;
    assert_eq!(status["steps"][0], json!({"name": "one", "state": "done"}));
    assert_eq!(status["steps"][1]["state"], "skipped");
    let message = status["steps"][2]["message"].as_str().unwrap();
    assert!(message.contains("is not true yet"), "{message}");
    let ready = &status["conditions"][0];
    let message = ready["message"].as_str().unwrap();
    assert!(message.starts_with("3 of 3, three: "), "{message}");
    test.set("three", json!({"open": "yes"})).await;
    test.until_done().await;
    let status = test.status().await;
    assert_eq!(
        status["steps"][2],
        json!({"name": "three", "state": "done"})
    );
}

pub(crate) async fn a_part_of_the_steps_prunes_nothing(target: TestNamespace) {
    const STEPS: &str = "
- name: one
  tags: [base]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- name: two
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
- name: group
  block:
  - name: three
    tags: [base]
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: three}}
  - name: four
    when: spec.four
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: four}}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"four": true})).await;
    let tags = ["base".to_owned()].into();
    test.select(StepSelection {
        tags,
        ..StepSelection::default()
    });
    let report = test.done().await;
    assert_eq!(
        states(&report),
        ["one done", "two unselected", "group done"]
    );
    assert_eq!(test.maps().await, ["one", "three"]);
    assert_eq!(test.status().await["conditions"], json!(null));
    test.select(StepSelection::default());
    test.done().await;
    assert_eq!(test.maps().await.len(), 4);
    test.spec(json!({"four": false})).await;
    test.select(StepSelection {
        start_at: Some("three".to_owned()),
        ..StepSelection::default()
    });
    let report = test.done().await;
    let stand = ["one unselected", "two unselected", "group done"];
    assert_eq!(states(&report), stand);
    assert_eq!(test.maps().await.len(), 4);
    test.select(StepSelection::default());
    test.done().await;
    assert_eq!(test.maps().await, ["one", "three", "two"]);
}

pub(crate) async fn no_secret_is_shown(target: TestNamespace) {
    const STEPS: &str = r#"
- name: secret
  apply: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: "${base64_decode(spec.password)}"}}
- name: gossip
  fail: "the password is ${base64_decode(spec.password)}"
"#;
    let step = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let status = json!({"type": "object", "properties": {
        "steps": {"type": "array", "items": step},
        "conditions": {"type": "array", "items": open},
    }});
    let mut test = StepTest::with_status(target, status, &[(MAIN, STEPS)]).await;
    // The encoded value is in the custom resource, so it is not secret in this form.
    test.spec(json!({"password": "aHVudGVyMjIyMg=="})).await;
    let report = test.run().await;
    let status = test.status().await.to_string();
    for told in [
        format!("{:?}", report.outcome),
        format!("{:?}", report.effects.steps),
        status,
    ] {
        assert!(told.contains("the password is [redacted]"), "{told}");
        assert!(!told.contains("hunter2222"), "{told}");
    }
}

pub(crate) async fn always_steps_do_not_run_while_the_block_waits(target: TestNamespace) {
    const STEPS: &str = "
- name: group
  block:
  - name: gate
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
    ready: $.data.open
  rescue:
  - name: rescue
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: rescue}}
  always:
  - name: always
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: always}}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    let on = test.waits().await;
    assert!(on.starts_with("1 of 1, group: 1 of 1, gate: "), "{on}");
    assert_eq!(test.maps().await, ["gate"]);
    test.set("gate", json!({"open": "yes"})).await;
    test.until_done().await;
    assert_eq!(test.maps().await, ["always", "gate"]);
}
