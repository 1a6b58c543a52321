//! The output and the exit code of `rhai-operator check` for the projects of `tests/check/`.

use std::path::Path;
use std::process::{Command, Output};

fn check(project: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command.env_clear().current_dir(project);
    command.arg("check").args(arguments);
    command.output().expect("the binary can be started")
}

fn shown(output: &Output) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    let code = status.code().expect("no signal ends it");
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("exit code {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

fn project(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/check")
        .join(name)
}

fn golden(name: &str, output: &Output) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("check/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown(output)));
}

#[test]
fn a_good_project_is_silent_and_ends_well() {
    golden("good", &check(&project("good"), &[]));
}

#[test]
fn notes_and_warnings_are_reported_with_exit_code_0() {
    golden("notes", &check(&project("notes"), &["--ansible"]));
}

#[test]
fn defaults_that_differ_from_the_ansible_operator_are_reported_on_request() {
    let output = check(&project("notes"), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("snakeCaseParameters"), "{text}");
    assert!(text.contains("reconcilePeriod 0s"), "{text}");
}

#[test]
fn all_errors_of_a_broken_project_are_reported() {
    golden("broken", &check(&project("broken"), &[]));
}

#[test]
fn a_folder_without_a_project_is_an_error() {
    golden("empty", &check(&project("empty"), &[]));
}

#[test]
fn fields_missing_in_the_crd_are_reported() {
    golden("fields", &check(&project("fields"), &[]));
    let output = check(&project("fields"), &["--deploy-dir", "roles"]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

#[test]
fn crds_that_do_not_fit_to_watches_and_inputs_are_reported() {
    golden("definitions", &check(&project("definitions"), &[]));
}

#[test]
fn errors_of_crds_are_reported_with_the_others() {
    golden("crds", &check(&project("crds"), &[]));
}

#[test]
fn a_folder_that_is_named_has_to_be_there() {
    for absent in ["nowhere", "watches.yaml"] {
        let output = check(&project("good"), &["--deploy-dir", absent]);
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        let error = format!("error: --deploy-dir: cannot find the folder {absent}\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), error);
    }
}

#[test]
fn missing_roles_of_steps_are_reported() {
    golden("calls", &check(&project("calls"), &[]));
}

#[test]
fn other_places_can_be_named() {
    let arguments = [
        "--watches-file",
        "good/watches.yaml",
        "--roles-dir",
        "good/roles",
    ];
    let output = check(&project(""), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

#[test]
fn the_json_document_has_the_same_findings() {
    for (name, errors) in [("good", 0), ("broken", 11)] {
        let output = check(&project(name), &["-o", "json"]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["errors"], errors, "{document:#}");
        let problems = document["problems"].as_array().unwrap();
        let text = check(&project(name), &[]).stdout;
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            problems.len(),
            text.lines().filter(|line| line.starts_with("./")).count()
        );
        for problem in problems {
            assert!(
                text.contains(problem["message"].as_str().unwrap()),
                "{problem}"
            );
        }
    }
}

#[test]
fn errors_of_whole_files_have_no_line_in_json() {
    let output = check(&project("empty"), &["-o", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = document["problems"][0].as_object().unwrap();
    let keys: Vec<_> = problem.keys().collect();
    assert_eq!(keys, ["file", "message", "severity"], "{document:#}");
}

#[test]
fn the_sarif_document_has_the_same_findings_with_their_places() {
    let output = check(&project("definitions"), &["-o", "sarif"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let results = document["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 8, "{document:#}");
    let expected = serde_json::json!({
        "level": "error",
        "message": {"text": "the CRD of Web has no version v2\nhint: its versions are v1, v0"},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": "watches.yaml"},
            "region": {"startLine": 3, "startColumn": 3},
        }}],
    });
    assert_eq!(results[2], expected);
    let whole_file = &results[3]["locations"][0]["physicalLocation"];
    assert_eq!(
        whole_file["artifactLocation"]["uri"],
        "deploy/crds/webs.yaml"
    );
    assert!(whole_file.get("region").is_none(), "{whole_file}");
}

#[test]
fn an_unknown_format_is_a_usage_error() {
    let output = check(&project("good"), &["-o", "xml"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_closed_pipe_ends_the_command_without_an_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    for output in ["text", "json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
        command.env_clear().current_dir(project("broken"));
        command.args(["check", "--output", output]);
        command.stdout(writer.try_clone().expect("another end"));
        let output = command.output().expect("the binary can be started");
        assert_eq!(output.status.code(), Some(141));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
