//! Golden tests: each file of `tests/pipelines/` is the pipeline of a role, and what becomes of it.
//!
//! A line `# file: PATH` begins another file of that role. Every role has the same few files beside.

#![expect(clippy::unwrap_used, reason = "a test that panics is a test that fails")]

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rhai_operator::host;
use rhai_operator::model::Problem;
use rhai_operator::role::pipeline::{Action, Step};
use rhai_operator::role::{Entry, Loaded, load};
use tempfile::TempDir;

const FILES: [(&str, &str); 4] = [
    ("files/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\n"),
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
    let problems = |problems: &[Problem]| {
        let told = problems.iter().map(|problem| problem.to_string().replace(&root, ""));
        told.fold(String::new(), |all, problem| all + &problem + "\n")
    };
    match load(folder.path(), "web", &host::toolchain()) {
        Err(errors) => Err(problems(&errors)),
        Ok(Loaded { role, notes }) => {
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
        let line = step.place.line;
        writeln!(said, "{indent}{index} {}: {key} at {line}, needs {needs:?}", step.name).unwrap();
        match &step.action {
            Action::Include(include) => show(&include.steps, depth + 1, said),
            Action::Block(block) => {
                for steps in [Some(&block.steps), block.rescue.as_ref(), Some(&block.always)] {
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
        let _ = outcome(&folder(&whole[..end]));
    }
}
