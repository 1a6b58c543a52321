//! Golden tests: each file of `tests/pipelines/` is the pipeline of a role, and what becomes of it.
//!
//! A line `# file: PATH` begins another file of that role. Every role has the same few files beside.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod schema;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rhai_operator::host;
use rhai_operator::model::Diagnostic;
use rhai_operator::pipeline::{Action, Step};
use rhai_operator::role::{Entry, LoadedRole, load};
use serde_json::Value;
use tempfile::TempDir;

use test_harness::copy_folder;

const FILES: [(&str, &str); 4] = [
    (
        "files/job.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\n",
    ),
    ("files/page.html", "<p>hello</p>\n"),
    (
        "templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: \"{{ name }}\"}\n",
    ),
    ("tasks/install.rhai", "fn all() { 1 }\n2\n"),
];

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The folder of the role that a text describes.
fn folder(text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), &FILES);
    let mut files = vec![("tasks/main.yaml", String::new())];
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("# file: ") {
            Some(path) => files.push((path.trim(), String::new())),
            None => files.last_mut().unwrap().1.push_str(line),
        }
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, &**text)).collect();
    write(folder.path(), &files);
    folder
}

fn outcome(folder: &TempDir) -> Result<String, String> {
    let root = format!("{}/", folder.path().display());
    let problems = |problems: &[Diagnostic]| {
        let told = problems
            .iter()
            .map(|problem| problem.to_string().replace(&root, ""));
        told.fold(String::new(), |all, problem| all + &problem + "\n")
    };
    match load(folder.path(), "web", &host::toolchain()) {
        Err(errors) => Err(problems(&errors)),
        Ok(LoadedRole { role, notes }) => {
            let mut said = problems(&notes);
            for entry in std::iter::once(&role.entry).chain(&role.finalize) {
                if let Entry::Pipeline(pipeline) = entry {
                    said += "steps:\n";
                    show(&pipeline.steps, 1, &mut said);
                }
            }
            Ok(said)
        }
    }
}

/// The graph, one line for each step.
fn show(steps: &[Step], depth: usize, said: &mut String) {
    for (index, step) in steps.iter().enumerate() {
        let needs: Vec<_> = step.needs.iter().map(|need| &*steps[*need].name).collect();
        let indent = "  ".repeat(depth);
        let key = step.action.key();
        let line = step.location.line;
        writeln!(
            said,
            "{indent}{index} {}: {key} at {line}, needs {needs:?}",
            step.name
        )
        .unwrap();
        match &step.action {
            Action::Include(include) => show(&include.steps, depth + 1, said),
            Action::Block(block) => {
                for steps in [
                    Some(&block.steps),
                    block.rescue.as_ref(),
                    Some(&block.always),
                ] {
                    show(steps.map_or(&[], Vec::as_slice), depth + 1, said);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn each_file_means_or_fails_as_written_down() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("pipelines/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let misnamed = RefCell::new(Vec::new());
    settings.bind(|| {
        insta::glob!("pipelines", "*.yaml", |path| {
            let text = fs::read_to_string(path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let outcome = outcome(&folder(&text));
            if outcome.is_err() != name.starts_with("err_") {
                misnamed.borrow_mut().push(name.to_owned());
            }
            let (Ok(said) | Err(said)) = outcome;
            insta::assert_snapshot!("pipelines", said);
        });
    });
    assert_eq!(misnamed.into_inner(), [""; 0]);
}

#[test]
fn no_text_panics() {
    let whole = fs::read_to_string("tests/pipelines/ok_everything.yaml").unwrap();
    for (end, _) in whole.char_indices().step_by(41) {
        let text = &whole[..end];
        // Not a part of a file's name.
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let text = if last.starts_with("# file:") {
            before
        } else {
            text
        };
        let _ = outcome(&folder(text));
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pipelines/guide")
}

/// The pipelines that a page shows, with the lines that they begin on.
fn examples(page: &str) -> Vec<(usize, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(page);
    let text = fs::read_to_string(page).unwrap();
    let mut examples = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim() != "```yaml" {
            continue;
        }
        let block = lines
            .by_ref()
            .map_while(|(_, line)| (line.trim() != "```").then_some(line));
        let block: Vec<_> = block.collect();
        examples.push((number + 2, block.join("\n") + "\n"));
    }
    examples
}

/// Creates a project whose role `database` has this entry, and the files that the pages mention.
fn project(entry: &str, text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    copy_folder(
        &fixtures().join("role"),
        &folder.path().join("roles/database"),
    )
    .unwrap();
    copy_folder(
        &fixtures().join("certificates"),
        &folder.path().join("roles/certificates"),
    )
    .unwrap();
    write(folder.path(), &[(entry, text), ("watches.yaml", "[]\n")]);
    folder
}

fn command(project: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command
        .env_clear()
        .current_dir(project.path())
        .args(arguments);
    command.output().unwrap()
}

/// One run of the role on an API server in the process: the report without what differs between runs.
fn report(project: &TempDir) -> Value {
    let cr = fixtures().join("cr.yaml");
    let input = fixtures().join("objects.yaml");
    let output = command(
        project,
        &[
            "role",
            "run",
            "database",
            "--against",
            "embedded",
            "-o",
            "json",
            "--deploy-dir",
            fixtures().to_str().unwrap(),
            "--cr",
            cr.to_str().unwrap(),
            "--input",
            input.to_str().unwrap(),
        ],
    );
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
}

/// Runs each example of a page, and the script that it is converted to: they make the same objects.
fn run_examples(page: &str) {
    let examples = examples(page);
    assert!(examples.len() > 5, "{page} has no examples");
    let mut compared = 0;
    for (line, text) in examples {
        let steps = project("roles/database/tasks/main.yaml", &text);
        let report = report(&steps);
        assert!(went_well(&report), "{page}:{line}: {}", report["outcome"]);

        let converted = command(&steps, &["role", "convert", "database"]);
        let error = String::from_utf8_lossy(&converted.stderr);
        assert!(converted.status.success(), "{page}:{line}: {error}");
        let script = String::from_utf8(converted.stdout).unwrap();
        let again = self::report(&project("roles/database/tasks/main.rhai", &script));
        assert!(
            went_well(&again),
            "{page}:{line}: {}\n{script}",
            again["outcome"]
        );
        // A script executes nothing after a failed wait.
        let both = [&report, &again];
        if both
            .iter()
            .all(|report| report["outcome"]["kind"] == "done")
        {
            compared += 1;
            let (status, same) = (status(&report), status(&again));
            assert_eq!(status, same, "{page}:{line}: {script}");
            assert_eq!(changes(&report), changes(&again), "{page}:{line}: {script}");
            assert_eq!(
                report["applied"], again["applied"],
                "{page}:{line}: {script}"
            );
        }
    }
    assert!(compared > 5, "{page}: {compared} examples were done");
}

fn went_well(report: &Value) -> bool {
    report["outcome"]["kind"] == "done" || report["outcome"]["kind"] == "waiting"
}

/// The status without when it was.
fn status(report: &Value) -> Value {
    let mut status = report["status"].clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"].take();
    }
    status
}

/// The changes of a run without what differs between any two: the uid of the custom resource.
fn changes(report: &Value) -> Vec<String> {
    let changes = report["changes"].as_array().unwrap().iter();
    changes
        .map(|change| {
            let diff = change["diff"].as_str().unwrap().lines();
            let same = diff.filter(|line| !line.contains("uid:") && !line.contains("/owner:"));
            let same: Vec<_> = same.collect();
            format!("{}\n{}", change["verb"], same.join("\n"))
        })
        .collect()
}

#[test]
fn every_example_of_the_guide_runs_and_so_does_its_script() {
    run_examples("pipelines.md");
}

#[test]
fn every_step_beside_a_task_of_ansible_runs_and_so_does_its_script() {
    run_examples("from-ansible.md");
}
