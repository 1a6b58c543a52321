//! Corners of pipelines: small changes of the code break them that no other test notices.

use std::time::Duration;

use rhai_operator::model::Outcome;
use rhai_operator::reconcile::StepSelection;
use serde_json::json;

use super::flow::states;
use super::step_test::{StepTest, TestNamespace};

const MAIN: &str = "web/tasks/main.yaml";

pub(crate) async fn a_waiting_step_blocks_the_steps_that_need_it(target: TestNamespace) {
    const STEPS: &str = "
- name: group
  block:
  - name: gate
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
    ready: $.data.open
  - name: bad
    needs: []
    when: [true, spec.bad]
    script: throw `no`
- name: second
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: second}}
- name: third
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: third}}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"bad": false})).await;
    let report = test.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    let stand = ["group waiting", "second blocked", "third blocked"];
    assert_eq!(states(&report), stand);
    assert_eq!(test.maps().await, ["gate"]);
    // A failure weighs more than a wait.
    test.spec(json!({"bad": true})).await;
    let why = test.fails().await;
    assert!(why.starts_with("1 of 3, group: 2 of 2, bad: "), "{why}");
}

pub(crate) async fn an_item_and_an_error_are_those_of_the_place(target: TestNamespace) {
    const STEPS: &str = r#"
- name: outer
  loop: [p, q]
  block:
  - name: inner
    loop: [1, 2]
    script: item
  - name: after
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "after-${item}"}}
- name: careful
  block:
  - name: first
    script: throw `one`
  rescue:
  - name: again
    block:
    - name: second
      script: throw `two`
    rescue: []
    always:
    - name: still
      script: error.step
  - name: told
    status: {step: "${error.step}", still: "${results.still}"}
- name: hopeless
  block:
  - name: third
    script: throw `three`
  rescue:
  - name: fourth
    script: throw `four`
  always:
  - name: last
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    let why = test.fails().await;
    assert!(why.contains("fourth: "), "{why}");
    assert_eq!(test.maps().await, ["after-p", "after-q", "last"]);
    let status = test.status().await;
    assert_eq!(
        (&status["step"], &status["still"]),
        (&json!("first"), &json!("first"))
    );
}

pub(crate) async fn the_nearest_of_several_timeouts_counts(target: TestNamespace) {
    const STEPS: &str = "
- name: short
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: short}}
  ready: $.data.open
  timeout: 5m
- name: long
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: long}}
  ready: $.data.open
  timeout: 10m
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    let report = test.run().await;
    assert_eq!(report.requeue_after, Some(Duration::from_mins(5)));
}

pub(crate) async fn a_clock_runs_on_behind_a_failure_and_not_behind_a_wait(target: TestNamespace) {
    const STEPS: &str = r#"
- name: first
  script: |
    switch k8s_get("v1", "ConfigMap", "mode")?.data?.mode {
      "broken" => throw `broken`,
      "waiting" => wait_until(false, "better times"),
    }
- name: slow
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: slow}}
  ready: $.data.open
  timeout: 10m
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    test.set("mode", json!({"mode": "well"})).await;
    test.waits().await;
    for (mode, left) in [("broken", 6), ("waiting", 10)] {
        test.pass(Duration::from_mins(3));
        test.set("mode", json!({"mode": mode})).await;
        test.restart();
        let report = test.run().await;
        assert_eq!(states(&report)[1], "slow blocked");
        test.pass(Duration::from_mins(1));
        test.set("mode", json!({"mode": "well"})).await;
        test.restart();
        let report = test.run().await;
        let left = Duration::from_mins(left);
        assert_eq!(report.requeue_after, Some(left), "{mode}");
    }
}

pub(crate) async fn failures_are_counted_as_long_as_they_follow_each_other(target: TestNamespace) {
    const STEPS: &str = r#"
- name: hard
  retries: 1
  timeout: 1h
  script: |
    switch k8s_get("v1", "ConfigMap", "mode")?.data?.mode {
      "broken" => throw `broken`,
      "waiting" => wait_until(false, "better times"),
    }
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    for (mode, outcome) in [
        ("broken", "failed"),
        ("waiting", "waiting"),
        ("broken", "failed"),
        ("broken", "stalled"),
    ] {
        test.set("mode", json!({"mode": mode})).await;
        test.restart();
        assert_eq!(test.run().await.outcome.as_str(), outcome, "{mode}");
    }
}

pub(crate) async fn retries_of_two_roles_are_counted_apart(target: TestNamespace) {
    const MAIN: &str = r#"try { include_role("a"); } catch {} include_role("b");"#;
    const STEPS: &str = "- {name: hard, retries: 1, script: throw `no`}\n";
    let files = [
        ("web/tasks/main.rhai", MAIN),
        ("a/tasks/main.yaml", STEPS),
        ("b/tasks/main.yaml", STEPS),
    ];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({})).await;
    test.fails().await;
}

pub(crate) async fn a_script_catches_what_a_pipeline_fails_with(target: TestNamespace) {
    const MAIN: &str = r#"
try { include_role("inner"); } catch (error) { set_status(#{kind: error.kind}); }
"#;
    const STEPS: &str = "- apply: {apiVersion: v1, kind: Nonsense, metadata: {name: x}}\n";
    let files = [
        ("web/tasks/main.rhai", MAIN),
        ("inner/tasks/main.yaml", STEPS),
    ];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({})).await;
    test.done().await;
    assert_eq!(test.status().await["kind"], "kind_absent");
}

pub(crate) async fn an_apply_with_unknown_objects_prunes_nothing(target: TestNamespace) {
    const STEPS: &str = r#"
- name: old
  when: spec.old
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: old}}
- name: careful
  block:
  - name: unknown
    when: spec.old == false
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${spec.nothing}"}}
  rescue:
  - name: told
    status: {message: "${error.message}"}
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"old": true})).await;
    test.done().await;
    test.spec(json!({"old": false})).await;
    test.done().await;
    assert_eq!(test.maps().await, ["old"]);
    let message = "expected a text, a number or a bool in the text, found ()";
    assert_eq!(test.status().await["message"], message);
}

pub(crate) async fn until_is_asked_when_all_is_ready_and_all_of_it_has_to_hold(
    target: TestNamespace,
) {
    const STEPS: &str = r#"
- name: gate
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
  ready: $.data.open
  until: [result.data.open == "yes", 'k8s_get("v1", "ConfigMap", "elsewhere") != ()']
"#;
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    let waits = |report: &rhai_operator::reconcile::Report| {
        let names = report.waits.iter().map(|object| object.name.to_string());
        names.collect::<Vec<_>>()
    };
    let report = test.run().await;
    assert!(
        matches!(report.outcome, Outcome::Waiting { .. }),
        "{:?}",
        report.outcome
    );
    assert_eq!(waits(&report), ["gate"]);
    test.set("gate", json!({"open": "yes"})).await;
    let deadline = rhai_operator::clock::now() + Duration::from_mins(2);
    while waits(&test.run().await) != ["elsewhere", "gate"] {
        assert!(rhai_operator::clock::now() < deadline);
    }
    test.set("elsewhere", json!({})).await;
    test.until_done().await;
}

pub(crate) async fn a_start_is_a_place_in_the_file(target: TestNamespace) {
    const STEPS: &str = "
- name: one
  needs: [three]
  script: '1'
- name: two
  needs: []
  script: '2'
- name: three
  needs: []
  block:
  - {name: inner, script: '3'}
  - {name: next, script: '4'}
  always:
  - {name: last, script: '5'}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({})).await;
    let start = |name: &str| StepSelection {
        start_at: Some(name.to_owned()),
        ..StepSelection::default()
    };
    test.select(start("two"));
    let report = test.done().await;
    assert_eq!(
        states(&report),
        ["two done", "three done", "one unselected"]
    );
    test.select(start("next"));
    let report = test.done().await;
    assert_eq!(
        states(&report),
        ["two unselected", "three done", "one unselected"]
    );
    let three = &report.effects.steps[1].steps;
    let three: Vec<_> = three
        .iter()
        .map(|step| (&*step.name, step.state.as_str()))
        .collect();
    let stand = [("inner", "unselected"), ("next", "done"), ("last", "done")];
    assert_eq!(three, stand);
}
