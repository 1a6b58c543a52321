//! Golden tests: the result of parsing each file of `tests/watches/`.

use std::fmt::Write as _;
use std::fs;

use super::*;

/// Returns the variables of the file's `# env: NAME=value` lines.
fn environment(text: &str) -> Environment {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# env: "));
    lines.filter_map(|line| line.split_once('=')).collect()
}

fn outcome(watches: &Watches) -> String {
    let mut said = String::new();
    if !watches.has_errors() {
        writeln!(said, "{:#?}", watches.entries).unwrap();
    }
    for problem in &watches.problems {
        writeln!(said, "{problem}").unwrap();
    }
    said
}

#[test]
fn each_file_has_the_recorded_result() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../tests/watches/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::glob!("../../tests/watches", "*.yaml", |path| {
            let text = fs::read_to_string(path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let watches = parse(Path::new(name), &text, &environment(&text));
            assert_eq!(
                watches.has_errors(),
                name.starts_with("err_"),
                "{name}: {watches:#?}"
            );
            insta::assert_snapshot!("watches", outcome(&watches));
        });
    });
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let watches = load(Path::new("no/such/watches.yaml"), &Environment::default());
    let said = watches.problems[0].to_string();
    assert!(
        said.starts_with("no/such/watches.yaml: error: cannot read"),
        "{said}"
    );
}

#[test]
fn no_text_panics() {
    let whole = fs::read_to_string("tests/watches/ok_everything.yaml").unwrap();
    for (end, _) in whole.char_indices().step_by(7) {
        let _ = parse(Path::new("f"), &whole[..end], &Environment::default());
    }
}
