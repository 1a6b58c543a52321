//! `rhai-operator test`: the scenarios of this repository pass, and scenarios that must fail do, with
//! the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn test(project: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command.env_clear().current_dir(project);
    command.arg("test").args(arguments);
    command.output().expect("the binary can be started")
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn greetings() -> std::path::PathBuf {
    repository().join("tests/scenario")
}

/// Compares with a snapshot in which no time is.
fn golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("scenario/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r" +[\d.]+ (ms|s)( |\n)", " TIME$2");
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn every_example_operator_keeps_what_its_scenario_promises() {
    let output = test(repository(), &[]);
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    // A row of a scenario begins with its name, its further stages with blanks.
    let scenarios: BTreeSet<&str> = stdout
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let watches = fs::read_to_string(repository().join("watches.yaml")).expect("it is there");
    let roles: BTreeSet<&str> = watches
        .lines()
        .filter_map(|line| line.trim().strip_prefix("role: "))
        .collect();
    assert_eq!(scenarios, roles, "each role that is watched has a scenario");
    assert_eq!(roles.len(), 7);
    assert!(stderr.contains("all passed"), "{stderr}");
}

#[test]
fn runs_are_neither_too_frequent_nor_too_late() {
    let output = test(&repository().join("tests/scheduling"), &[]);
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stderr.starts_with("4 scenarios, all passed"), "{stderr}");
}

#[test]
fn failing_scenarios_report_their_reason() {
    let output = test(&greetings(), &["--tests-dir", "failing"]);
    let [stdout, stderr] = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    golden("failing", &stdout);
    let scenarios = fs::read_dir(greetings().join("failing")).expect("they are there");
    let count = scenarios.count();
    let all = format!("{count} scenarios, {count} failed, in ");
    assert!(stderr.starts_with(&all), "{stderr}");
}

#[test]
fn errors_of_all_files_are_reported_together() {
    let output = test(&greetings(), &["--tests-dir", "bad"]);
    assert_eq!(output.status.code(), Some(1));
    let [stdout, stderr] = texts(&output);
    assert_eq!(stdout, "");
    golden("bad", &stderr);
}

#[test]
fn one_scenario_can_be_named_and_reports_be_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let junit = folder.path().join("junit.xml");
    let file = junit.to_string_lossy();
    let arguments = [
        "--tests-dir",
        "failing",
        "role",
        "-o",
        "json",
        "--junit",
        &file,
    ];
    let output = test(&greetings(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(
        report["scenarios"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    assert_eq!(report["failed"], 1);
    let failure = &report["scenarios"][0]["stages"][1]["failure"];
    assert_eq!(failure["at"], "failing/role/converge.yaml:1:1", "{report}");
    let xml = fs::read_to_string(junit).expect("it is written");
    assert!(
        xml.contains(r#"<testsuite name="role" tests="2" failures="1""#),
        "{xml}"
    );
    assert!(xml.contains("there is nothing to say"), "{xml}");
}

#[test]
fn an_unknown_scenario_is_reported() {
    let output = test(&greetings(), &["--tests-dir", "failing", "rolle"]);
    assert_eq!(output.status.code(), Some(1));
    let [_, stderr] = texts(&output);
    assert!(stderr.contains(r#"did you mean "role"?"#), "{stderr}");
}

#[test]
fn golden_snapshots_are_written_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scenario = folder.path().join("greeting");
    fs::create_dir_all(&scenario).expect("it can be made");
    let from = greetings().join("failing/snapshot");
    for file in ["converge.yaml", "verify.yaml"] {
        fs::copy(from.join(file), scenario.join(file)).expect("it can be copied");
    }
    fs::write(
        scenario.join("verify.rhai"),
        r#"assert_snapshot("data", k8s_get("v1", "ConfigMap", "hello").data);"#,
    )
    .expect("it can be written");
    let tests_dir = folder.path().to_string_lossy();
    let run = |more: &[&str], code| {
        let arguments: Vec<&str> = ["--tests-dir", &*tests_dir]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let output = test(&greetings(), &arguments);
        let [stdout, stderr] = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
        stdout
    };
    let missing = run(&[], 1);
    assert!(
        missing.contains("greeting/verify.yaml:3:3: snapshot "),
        "{missing}"
    );
    assert!(
        missing.contains("run `rhai-operator test --update` to write it"),
        "{missing}"
    );
    let written = run(&["--update"], 0);
    for name in ["data", "greeting"] {
        let file = scenario.join(format!("snapshots/{name}.yaml"));
        assert!(
            written.contains(&format!("wrote {}\n", file.display())),
            "{written}"
        );
    }
    let data = fs::read_to_string(scenario.join("snapshots/data.yaml"));
    assert_eq!(data.expect("it is written"), "text: good morning\n");
    assert!(!run(&[], 0).contains("wrote"));
    // Unchanged snapshots are not written again.
    assert!(!run(&["--update"], 0).contains("wrote"));
}

#[test]
fn a_folder_or_a_cluster_that_is_named_must_be_there() {
    for (flag, value) in [("--crds-dir", "absent"), ("--kubeconfig", "absent")] {
        let output = test(&greetings(), &["--tests-dir", "failing", flag, value]);
        let [stdout, stderr] = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
        assert_eq!(stdout, "");
        assert!(stderr.starts_with("error: "), "{stderr}");
        assert!(stderr.contains("absent"), "{stderr}");
    }
}

/// The blocks of the guide that begin with the path of a file.
fn files_of_the_guide() -> Vec<(String, String)> {
    let guide = fs::read_to_string(repository().join("docs/scenario-tests.md"));
    let guide = guide.expect("the guide is there");
    let blocks = guide.split("```").skip(1).step_by(2);
    let files = blocks.filter_map(|block| {
        let (_, text) = block.split_once('\n')?;
        let first = text.lines().next()?.trim_start_matches(['#', '/', ' ']);
        let path = first.strip_prefix("molecule-tests/")?;
        // The block that shows a failure names a place.
        (!path.contains(':')).then(|| (path.to_owned(), text.to_owned()))
    });
    files.collect()
}

#[test]
fn the_examples_of_the_guide_pass() {
    let files = files_of_the_guide();
    assert!(files.len() >= 5, "{files:?}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder_name = folder.path().to_string_lossy();
    let run = || {
        let output = test(&greetings(), &["--tests-dir", &folder_name]);
        let [stdout, stderr] = texts(&output);
        assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    };
    let mut written = BTreeSet::new();
    for (path, text) in files {
        // A second version of the same file is run separately.
        if !written.insert(path.clone()) {
            run();
        }
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    run();
}

#[test]
fn the_failure_that_the_guide_shows_is_what_is_shown() {
    let guide = fs::read_to_string(repository().join("docs/scenario-tests.md"));
    let guide = guide.expect("the guide is there");
    let (_, shown) = guide
        .split_once("```text\nFAILED greeting: verify\n")
        .expect("it is shown");
    let (shown, _) = shown.split_once("```").expect("the block ends");
    let output = test(&greetings(), &["--tests-dir", "failing", "value"]);
    let [stdout, _] = texts(&output);
    let stdout = stdout.replace("failing/value/", "molecule-tests/greeting/");
    assert!(stdout.contains(shown), "{stdout}\ninstead of\n{shown}");
}
