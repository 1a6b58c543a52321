//! Runs the commands of `docs/tutorial.md` one by one, in a folder that is empty at first.

#![expect(clippy::panic, reason = "a test that panics is a test that fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A block of code of a page.
struct Block {
    language: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(language)) => {
                open = Some(Block {
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

/// Runs a command that the page shows, and writes its output to the file after `>`. Otherwise each line below it
/// on the page must be in the output.
fn run(folder: &Path, line: &str, expected: &[&str]) {
    let words = line
        .strip_prefix("rhai-operator ")
        .unwrap_or_else(|| panic!("{line}: mark the block with no_run"));
    let (words, file) = words.split_once(" > ").unwrap_or((words, ""));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command
        .env_clear()
        .current_dir(folder)
        .args(words.split(' '));
    let output = command.output().expect("the binary starts");
    if !file.is_empty() {
        fs::write(folder.join(file), &output.stdout).expect("a file");
    }
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let text = text.concat();
    assert_eq!(output.status.code(), Some(0), "{line}\n{text}");
    for part in expected {
        assert!(text.contains(part), "{line}: no {part:?} in\n{text}");
    }
}

fn run_commands(folder: &Path, text: &str) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ ").expect("a command comes first");
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push(line);
        }
        run(folder, command, &expected);
    }
}

#[test]
fn each_command_of_the_tutorial_prints_what_the_page_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let page = fs::read_to_string(page).expect("the page exists");
    let folder = TempDir::new().expect("a folder");
    let mut commands = 0;
    for Block { language, text } in blocks(&page) {
        match &*language {
            "console" => {
                commands += text.lines().filter(|line| line.starts_with("$ ")).count();
                run_commands(folder.path(), &text);
            }
            "yaml" | "rhai,tutorial" => {
                let first = text.lines().next().expect("a line");
                let path = first.trim_start_matches(['#', '/', ' ']);
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(path, &text).expect("a file");
            }
            language => assert!(language.ends_with(",no_run"), "{language}"),
        }
    }
    assert!(commands > 8, "{commands} commands");
}
