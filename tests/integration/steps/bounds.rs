//! Tests of retries and timeouts, which count over several runs, and of the order of steps.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRng, TestRunner};
use rhai_operator::model::Outcome;
use serde_json::json;

use super::flow::states;
use super::step_test::{StepTest, TestNamespace};

const MAIN: &str = "web/tasks/main.yaml";

pub(crate) async fn a_timeout_outlives_a_restart(target: TestNamespace) {
    const STEPS: &str = "
- name: slow
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: slow}}
  ready: $.data.open
  timeout: 10m
- name: beside
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: beside}}
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"try": 1})).await;
    let report = test.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(10)));
    test.pass(Duration::from_mins(6));
    test.restart();
    let report = test.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(4)));
    test.restart();
    test.pass(Duration::from_mins(4));
    let why = test.fails().await;
    assert!(why.contains("1 of 2, slow: "), "{why}");
    assert!(why.contains("not ready after 10m0s: ConfigMap "), "{why}");
    // Another spec is another attempt.
    test.spec(json!({"try": 2})).await;
    let report = test.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(10)));
    test.set("slow", json!({"open": "yes"})).await;
    let report = test.until_done().await;
    assert_eq!(states(&report), ["slow done", "beside done"]);
    let web = test.web().await.unwrap();
    let annotations = &web["metadata"]["annotations"];
    assert!(annotations.get("rhai.operator/steps").is_none(), "{web}");
}

pub(crate) async fn a_clock_that_is_set_back_restarts_a_timeout(target: TestNamespace) {
    const STEPS: &str = "
- name: slow
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: slow}}
  ready: $.data.open
  timeout: 10m
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"try": 1})).await;
    test.run().await;
    test.set_back(Duration::from_hours(24));
    for restarts in [false, true] {
        let report = test.run().await;
        assert!(matches!(report.outcome, Outcome::Waiting { .. }));
        assert_eq!(report.requeue_after, Some(Duration::from_mins(10)));
        if restarts {
            test.restart();
        }
    }
    test.pass(Duration::from_mins(4));
    let report = test.run().await;
    assert_eq!(report.requeue_after, Some(Duration::from_mins(6)));
    // A clock that is set forward ends the wait.
    test.pass(Duration::from_hours(24));
    let why = test.fails().await;
    assert!(why.contains("not ready after 10m0s: ConfigMap "), "{why}");
}

pub(crate) async fn retries_are_counted_over_runs(target: TestNamespace) {
    const STEPS: &str = "
- name: group
  block:
  - name: hard
    retries: 2
    script: |
      if spec.broken { throw `not yet`; }
  rescue:
  - name: rescued
    when: spec.rescue
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: rescued}}
  - name: give up
    when: spec.rescue == false
    fail: '${error.step}: ${error.message}'
";
    let mut test = StepTest::new(target, &[(MAIN, STEPS)]).await;
    test.spec(json!({"broken": true, "rescue": true})).await;
    for _ in 0..2 {
        let why = test.fails().await;
        assert!(why.starts_with("1 of 1, group: 1 of 1, hard: "), "{why}");
        assert!(why.contains("web/tasks/main.yaml:7:24: not yet"), "{why}");
        test.restart();
    }
    test.done().await;
    assert_eq!(test.maps().await, ["rescued"]);
    test.done().await;
    // Another spec begins anew.
    test.spec(json!({"broken": true, "rescue": false})).await;
    test.fails().await;
    test.fails().await;
    let why = test.stalls().await;
    assert!(why.contains("give up: "), "{why}");
    assert!(why.ends_with("hard: not yet"), "{why}");
    test.spec(json!({"broken": false, "rescue": false})).await;
    test.done().await;
    let web = test.web().await.unwrap();
    let annotations = &web["metadata"]["annotations"];
    assert!(annotations.get("rhai.operator/steps").is_none(), "{web}");
}

/// The steps of a pipeline. Each has the indexes of the earlier steps that it needs, and its kind.
#[derive(Clone, Debug)]
struct Graph(Vec<(BTreeSet<usize>, u8)>);

impl Graph {
    fn any() -> impl Strategy<Value = Self> {
        let step = (any::<u64>(), 0_u8..5);
        prop::collection::vec(step, 1..9).prop_map(|steps| {
            let steps = steps.into_iter().enumerate();
            let needs = |index: usize, bits: u64| (0..index).filter(move |n| bits >> n & 3 == 3);
            Self(
                steps
                    .map(|(index, (bits, kind))| (needs(index, bits).collect(), kind))
                    .collect(),
            )
        })
    }

    /// Returns the names of the objects that the steps apply, in order.
    fn objects(&self) -> Vec<String> {
        let steps = self.0.iter().enumerate();
        let mut names: Vec<String> = steps
            .flat_map(|(index, (_, kind))| match kind {
                0 => vec![format!("m{index}-3")],
                1 => vec![format!("m{index}-a"), format!("m{index}-b")],
                3 => vec![format!("b{index}")],
                _ => Vec::new(),
            })
            .collect();
        names.sort();
        names
    }

    /// Writes the steps in this order, which can be any one: `needs` refers to steps by name.
    fn file(&self, order: &[usize]) -> String {
        let mut file = String::new();
        for index in order {
            let (needs, kind) = &self.0[*index];
            let needs: Vec<String> = needs.iter().map(|need| format!("s{need}")).collect();
            let map = |name: &str| {
                format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}")
            };
            let action = match kind {
                0 => format!("  apply: {}\n", map(&format!("'m{index}-${{spec.size}}'"))),
                1 => format!(
                    "  loop: [a, b]\n  apply: {}\n",
                    map(&format!("'m{index}-${{item}}'"))
                ),
                2 => format!("  when: spec.size > 100\n  apply: {}\n", map("never")),
                3 => {
                    let inner = map(&format!("b{index}"));
                    format!("  block:\n  - name: b{index}\n    apply: {inner}\n")
                }
                _ => format!("  script: \"spec.size + {index}\"\n"),
            };
            let needs = needs.join(", ");
            let _ = write!(file, "- name: s{index}\n  needs: [{needs}]\n{action}");
        }
        file
    }
}

pub(crate) async fn an_order_that_needs_allow_makes_the_same(target: TestNamespace) {
    let mut test = StepTest::new(target, &[(MAIN, "- {name: none, script: '1'}\n")]).await;
    test.spec(json!({"size": 3})).await;
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    for _ in 0..12 {
        let graph = Graph::any().new_tree(&mut runner).unwrap().current();
        let order: Vec<usize> = (0..graph.0.len()).collect();
        let mut made = Vec::new();
        for _ in 0..2 {
            let order = Just(order.clone()).prop_shuffle();
            let order = order.new_tree(&mut runner).unwrap().current();
            let file = graph.file(&order);
            test.rewrite(&[(MAIN, &file)]);
            let report = test.done().await;
            assert_eq!(test.maps().await, graph.objects(), "{file}");
            made.push((report.effects.applied, file));
        }
        assert_eq!(made[0].0, made[1].0, "{}\n{}", made[0].1, made[1].1);
    }
}

pub(crate) async fn the_resources_of_a_run_are_limited(target: TestNamespace) {
    const ENDLESS: &str = "
- name: endless
  script: 'loop {}'
- name: beside
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: beside}}
";
    const GREEDY: &str = r#"
- name: greedy
  loop: $.spec.items[*]
  script: |
    let text = "x";
    for n in 0..16 { text += text; }
    text
"#;
    let mut test = StepTest::new(target, &[(MAIN, ENDLESS)]).await;
    test.spec(json!({"items": vec![0; 100]})).await;
    test.limits().operations = 100_000;
    // What ends a run ends it whole: there is nothing left to do the other step with.
    let why = test.fails().await;
    assert!(why.starts_with("web/tasks/main.yaml:3:"), "{why}");
    assert!(why.ends_with("stopped after 100000 operations"), "{why}");
    test.rewrite(&[(MAIN, GREEDY)]);
    test.limits().memory = 1 << 20;
    let why = test.fails().await;
    assert!(
        why.contains("the run uses more than 1 MiB of memory"),
        "{why}"
    );
    test.limits().memory = 64 << 20;
    test.done().await;
}
