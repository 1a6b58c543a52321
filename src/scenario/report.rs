//! The report of scenarios as text, JSON and JUnit XML.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::failure::Failure;
use super::load::Scenario;
use super::stage::Stage;

/// The report of a suite.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// Each, in the order of their names.
    pub scenarios: Vec<ScenarioReport>,
    /// The total time.
    pub took: Duration,
}

/// The report of one scenario.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioReport {
    /// Its name.
    pub name: String,
    /// The description; may be empty.
    pub description: String,
    /// The stages that ran.
    pub stages: Vec<StageReport>,
    /// The duration.
    pub took: Duration,
    /// The output of its scripts.
    pub printed: Vec<String>,
    /// The golden snapshots that were written.
    pub snapshots: Vec<PathBuf>,
}

/// The report of one stage.
#[derive(Clone, Debug)]
pub(crate) struct StageReport {
    /// The stage.
    pub stage: Stage,
    /// The duration.
    pub took: Duration,
    /// The failure, if it failed.
    pub failure: Option<Failure>,
}

impl StageReport {
    pub(super) fn new(stage: Stage, took: Duration, result: Result<(), Failure>) -> Self {
        Self {
            stage,
            took,
            failure: result.err(),
        }
    }

    /// Returns whether it failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

impl ScenarioReport {
    pub(super) fn new(
        scenario: &Scenario,
        stages: Vec<StageReport>,
        took: Duration,
        printed: Vec<String>,
    ) -> Self {
        Self {
            name: scenario.name.clone(),
            description: scenario.settings.description.clone(),
            stages,
            took,
            printed,
            snapshots: scenario.snapshots.written(),
        }
    }

    /// Creates the report of a scenario whose thread panicked.
    pub(super) fn panicked(scenario: &Scenario) -> Self {
        let failure = Failure::new("the scenario ended abnormally");
        let stage = StageReport::new(Stage::Create, Duration::ZERO, Err(failure));
        Self::new(scenario, vec![stage], Duration::ZERO, Vec::new())
    }

    /// Returns whether a stage failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.stages.iter().any(StageReport::has_failed)
    }
}

impl Report {
    /// Returns the number of failed scenarios.
    pub(crate) fn failed(&self) -> usize {
        self.scenarios.iter().filter(|one| one.has_failed()).count()
    }

    /// Formats a table of scenarios and stages, and each failure.
    pub(crate) fn text(&self) -> String {
        let titles = self.scenarios.iter().map(|one| one.name.chars().count());
        let width = titles.chain([8]).max().unwrap_or_default();
        let mut text = format!("{:width$}  {:11}  {:>9}\n", "SCENARIO", "STAGE", "TIME");
        for scenario in &self.scenarios {
            let mut name = scenario.name.as_str();
            for stage in &scenario.stages {
                let failed = if stage.has_failed() { "  FAILED" } else { "" };
                let (stage, took) = (stage.stage.name(), format_time(stage.took));
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:width$}  {stage:11}  {took:>9}{failed}");
                name = "";
            }
        }
        for file in self.scenarios.iter().flat_map(|one| &one.snapshots) {
            let _ = writeln!(text, "wrote {}", file.display());
        }
        for scenario in self.scenarios.iter().filter(|one| one.has_failed()) {
            for stage in &scenario.stages {
                if let Some(failure) = &stage.failure {
                    let (name, stage) = (&scenario.name, stage.stage);
                    let _ = writeln!(text, "\nFAILED {name}: {stage}\n{failure}");
                }
            }
            for line in &scenario.printed {
                let _ = writeln!(text, "  | {line}");
            }
        }
        text
    }

    /// `7 scenarios, 1 failed, in 1.2 s`
    pub(crate) fn summary(&self) -> String {
        let count = self.scenarios.len();
        let noun = if count == 1 { "scenario" } else { "scenarios" };
        let failed = match self.failed() {
            0 => "all passed".to_owned(),
            failed => format!("{failed} failed"),
        };
        format!("{count} {noun}, {failed}, in {}", format_time(self.took))
    }

    /// Builds the JSON document.
    pub(crate) fn json(&self) -> Value {
        let scenarios = self.scenarios.iter().map(|scenario| {
            let stages = scenario.stages.iter().map(|stage| JsonStage {
                stage: stage.stage.name(),
                seconds: stage.took.as_secs_f64(),
                failure: stage.failure.as_ref(),
            });
            json!({
                "name": scenario.name,
                "description": scenario.description,
                "failed": scenario.has_failed(),
                "seconds": scenario.took.as_secs_f64(),
                "stages": stages.collect::<Vec<_>>(),
                "printed": scenario.printed,
                "snapshots": scenario.snapshots,
            })
        });
        json!({
            "scenarios": scenarios.collect::<Vec<_>>(),
            "failed": self.failed(),
            "seconds": self.took.as_secs_f64(),
        })
    }

    /// Builds JUnit XML with a suite per scenario and a case per stage.
    pub(crate) fn junit(&self) -> String {
        let stages = || self.scenarios.iter().flat_map(|one| &one.stages);
        let failures = stages().filter(|stage| stage.has_failed()).count();
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rhai-operator\" tests=\"{}\" failures=\"{failures}\" time=\"{}\">\n",
            stages().count(),
            seconds(self.took),
        );
        for scenario in &self.scenarios {
            suite(&mut xml, scenario);
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// A stage in JSON.
#[derive(Serialize)]
struct JsonStage<'a> {
    stage: &'a str,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a Failure>,
}

fn suite(xml: &mut String, scenario: &ScenarioReport) {
    let name = escaped(&scenario.name);
    let (tests, time) = (scenario.stages.len(), seconds(scenario.took));
    let failures = scenario.stages.iter().filter(|stage| stage.has_failed());
    let failures = failures.count();
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{time}\">"
    );
    for stage in &scenario.stages {
        let (case, time) = (stage.stage.name(), seconds(stage.took));
        let head = format!("<testcase classname=\"{name}\" name=\"{case}\" time=\"{time}\"");
        let _ = match &stage.failure {
            None => writeln!(xml, "    {head}/>"),
            Some(failure) => writeln!(
                xml,
                "    {head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                escaped(&failure.message),
                escaped(&failure.to_string()),
            ),
        };
    }
    if !scenario.printed.is_empty() {
        let said = escaped(&scenario.printed.join("\n"));
        let _ = writeln!(xml, "    <system-out>{said}</system-out>");
    }
    xml.push_str("  </testsuite>\n");
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// `12 ms`, `3.4 s`
fn format_time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// Text for XML 1.0, which has no control characters but for white space.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let stage = |stage, failure| StageReport {
            stage,
            took: Duration::from_millis(12),
            failure,
        };
        let failure = Failure {
            location: "molecule-tests/b/verify.yaml:3:5".to_owned(),
            message: "Deployment.apps a: spec.replicas: expected 3, found <2>".to_owned(),
            details: "-replicas: 3\n+replicas: 2".to_owned(),
        };
        let scenario = |name: &str, failure, printed: &[&str]| ScenarioReport {
            name: name.to_owned(),
            description: String::new(),
            stages: vec![stage(Stage::Create, None), stage(Stage::Verify, failure)],
            took: Duration::from_millis(24),
            printed: printed.iter().map(ToString::to_string).collect(),
            snapshots: Vec::new(),
        };
        Report {
            scenarios: vec![
                scenario("a", None, &[]),
                scenario("b", Some(failure), &["so & so"]),
            ],
            took: Duration::from_millis(1234),
        }
    }

    #[test]
    fn the_text_has_a_table_and_the_failures() {
        insta::assert_snapshot!(report().text(), @r"
        SCENARIO  STAGE             TIME
        a         create           12 ms
                  verify           12 ms
        b         create           12 ms
                  verify           12 ms  FAILED

        FAILED b: verify
        molecule-tests/b/verify.yaml:3:5: Deployment.apps a: spec.replicas: expected 3, found <2>
          -replicas: 3
          +replicas: 2
          | so & so
        ");
        assert_eq!(report().summary(), "2 scenarios, 1 failed, in 1.2 s");
    }

    #[test]
    fn junit_has_a_suite_per_scenario() {
        insta::assert_snapshot!(report().junit(), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="rhai-operator" tests="4" failures="1" time="1.234">
          <testsuite name="a" tests="2" failures="0" time="0.024">
            <testcase classname="a" name="create" time="0.012"/>
            <testcase classname="a" name="verify" time="0.012"/>
          </testsuite>
          <testsuite name="b" tests="2" failures="1" time="0.024">
            <testcase classname="b" name="create" time="0.012"/>
            <testcase classname="b" name="verify" time="0.012">
              <failure message="Deployment.apps a: spec.replicas: expected 3, found &lt;2&gt;">molecule-tests/b/verify.yaml:3:5: Deployment.apps a: spec.replicas: expected 3, found &lt;2&gt;
          -replicas: 3
          +replicas: 2</failure>
            </testcase>
            <system-out>so &amp; so</system-out>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn json_has_the_same_keys_for_all() {
        let json = report().json();
        assert_eq!(json["failed"], 1);
        assert_eq!(json["scenarios"][0]["failed"], false);
        let failure = &json["scenarios"][1]["stages"][1]["failure"];
        assert_eq!(failure["at"], "molecule-tests/b/verify.yaml:3:5");
    }
}
