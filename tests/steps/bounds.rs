//! What is counted over runs, and what the order of steps may not change.

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

pub(crate) async fn a_timeout_outlives_a_restart(ground: TestNamespace) {
    const STEPS: &str = "
- name: slow
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: slow}}
  ready: $.data.open
  timeout: 10m
- name: beside
  needs: []
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: beside}}
";
    let mut stage = StepTest::new(ground, &[(MAIN, STEPS)]).await;
    stage.spec(json!({"try": 1})).await;
    let report = stage.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(10)));
    stage.pass(Duration::from_mins(6));
    stage.restart();
    let report = stage.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(4)));
    stage.restart();
    stage.pass(Duration::from_mins(4));
    let why = stage.fails().await;
    assert!(why.contains("1 of 2, slow: "), "{why}");
    assert!(why.contains("not ready after 10m0s: ConfigMap "), "{why}");
    // Another spec is another attempt.
    stage.spec(json!({"try": 2})).await;
    let report = stage.run().await;
    assert!(matches!(report.outcome, Outcome::Waiting { .. }));
    assert_eq!(report.requeue_after, Some(Duration::from_mins(10)));
    stage.set("slow", json!({"open": "yes"})).await;
    let report = stage.until_done().await;
    assert_eq!(states(&report), ["slow done", "beside done"]);
    let web = stage.web().await.unwrap();
    let annotations = &web["metadata"]["annotations"];
    assert!(annotations.get("rhai.operator/steps").is_none(), "{web}");
}

pub(crate) async fn retries_are_counted_over_runs(ground: TestNamespace) {
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
    let mut stage = StepTest::new(ground, &[(MAIN, STEPS)]).await;
    stage.spec(json!({"broken": true, "rescue": true})).await;
    for _ in 0..2 {
        let why = stage.fails().await;
        assert!(why.starts_with("1 of 1, group: 1 of 1, hard: "), "{why}");
        assert!(why.contains("web/tasks/main.yaml:7:24: not yet"), "{why}");
        stage.restart();
    }
    stage.done().await;
    assert_eq!(stage.maps().await, ["rescued"]);
    stage.done().await;
    // Another spec begins anew.
    stage.spec(json!({"broken": true, "rescue": false})).await;
    stage.fails().await;
    stage.fails().await;
    let why = stage.stalls().await;
    assert!(why.contains("give up: "), "{why}");
    assert!(why.ends_with("hard: not yet"), "{why}");
    stage.spec(json!({"broken": false, "rescue": false})).await;
    stage.done().await;
    let web = stage.web().await.unwrap();
    let annotations = &web["metadata"]["annotations"];
    assert!(annotations.get("rhai.operator/steps").is_none(), "{web}");
}

/// Steps of a pipeline: of each, which of the earlier ones it needs, and what it is.
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

    /// The names of what the steps make, in order.
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

    /// The steps in an order that their needs allow, or any order at all: needs are told by name.
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

pub(crate) async fn an_order_that_needs_allow_makes_the_same(ground: TestNamespace) {
    let mut stage = StepTest::new(ground, &[(MAIN, "- {name: none, script: '1'}\n")]).await;
    stage.spec(json!({"size": 3})).await;
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
            stage.rewrite(&[(MAIN, &file)]);
            let report = stage.done().await;
            assert_eq!(stage.maps().await, graph.objects(), "{file}");
            made.push((report.effects.applied, file));
        }
        assert_eq!(made[0].0, made[1].0, "{}\n{}", made[0].1, made[1].1);
    }
}

pub(crate) async fn what_a_run_may_use_up_is_bounded(ground: TestNamespace) {
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
    let mut stage = StepTest::new(ground, &[(MAIN, ENDLESS)]).await;
    stage.spec(json!({"items": vec![0; 100]})).await;
    stage.limits().operations = 100_000;
    // What ends a run ends it whole: there is nothing left to do the other step with.
    let why = stage.fails().await;
    assert!(why.starts_with("web/tasks/main.yaml:3:"), "{why}");
    assert!(why.ends_with("stopped after 100000 operations"), "{why}");
    stage.rewrite(&[(MAIN, GREEDY)]);
    stage.limits().memory = 1 << 20;
    let why = stage.fails().await;
    assert!(
        why.contains("the run holds more than 1 MiB of memory"),
        "{why}"
    );
    stage.limits().memory = 64 << 20;
    stage.done().await;
}
