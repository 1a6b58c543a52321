//! Checks that the manual documents each registered function, and that its examples work.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rhai::Dynamic;
use rhai::plugin::export_module;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::super::VARIABLES;
use super::*;
use crate::clock;
use crate::script::{Engine, Job, Limits, Pool, Program, Sources};

const HEAD: &str = "\
# Host functions

On this page you can look up each function that a role's script can call beside those of Rhai. The page is generated
from the documentation of the functions. A test runs each example.

An argument named *ref* is any object, or a map `#{apiVersion, kind, name, namespace}`; the namespace defaults to
that of the custom resource. A function that fails throws a map with `kind`, `message` and, where the API server
was asked, `code`, `reason` and `retryable`:

```rhai
try {
    from_json(\"{\");
} catch (error) {
    assert(error.kind == \"invalid\");
}
```

";

/// An example in a text: the script, and whether it can be run without a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Example {
    /// Line of its first line, from 1.
    line: usize,
    /// The script.
    script: String,
    /// False: it needs a cluster or a role, and can only be compiled.
    runs: bool,
}

/// The manual of all host functions, in Markdown.
fn manual() -> String {
    let packages = packages();
    let mut text = String::from(HEAD);
    for package in &packages {
        let names = package.functions.iter().map(|function| {
            let name = &function.name;
            format!("[`{name}`](#{name})")
        });
        let _ = writeln!(
            text,
            "- {}: {}",
            package.title,
            names.collect::<Vec<_>>().join(", ")
        );
    }
    for package in &packages {
        let _ = writeln!(text, "\n## {}", package.title);
        for function in &package.functions {
            let Function {
                name,
                signatures,
                doc,
            } = function;
            let signatures = signatures.join("\n");
            let _ = writeln!(text, "\n### {name}\n\n```text\n{signatures}\n```\n\n{doc}");
        }
    }
    text
}

/// The examples in a Markdown text: fenced blocks of the language `rhai`, or `rhai,no_run`.
fn examples(text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let runs = match line.trim() {
            "```rhai" => true,
            "```rhai,no_run" => false,
            _ => continue,
        };
        let script: Vec<_> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| line.trim() != "```")
            .collect();
        examples.push(Example {
            line: at + 2,
            script: script.join(
                "
",
            ),
            runs,
        });
    }
    examples
}

#[test]
fn every_function_is_explained_and_shown() {
    for function in packages().iter().flat_map(|package| &package.functions) {
        let Function {
            name,
            signatures,
            doc,
        } = function;
        assert!(!doc.is_empty(), "{name} has no documentation");
        assert!(!examples(doc).is_empty(), "{name} has no example");
        for parameter in signatures
            .iter()
            .flat_map(|signature| parameters(signature))
        {
            let explained = doc.contains(&format!("`{parameter}`"));
            assert!(explained, "{name} does not explain `{parameter}`");
        }
    }
}

/// The names in `f(a: int, b: any) -> int`.
fn parameters(signature: &str) -> impl Iterator<Item = &str> {
    let list = signature.split(['(', ')']).nth(1).unwrap_or_default();
    list.split(", ")
        .filter_map(|parameter| Some(parameter.split_once(':')?.0))
}

#[test]
fn the_manual_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/host-functions.md");
    let manual = manual();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &manual).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        manual == committed,
        "stale: UPDATE_DOCS=1 cargo test --lib host::catalogue"
    );
}

#[tokio::test]
async fn every_example_of_the_guides_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guides = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut failures = Vec::new();
    for guide in guides.chain([root.join("README.md")]) {
        if guide.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read_to_string(&guide).unwrap();
            failures.extend(work(&text, &guide.display().to_string()).await);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Compiles all examples of a text, and runs those that need no cluster; what fails.
async fn work(text: &str, name: &str) -> Vec<String> {
    let engine = engine();
    let pool = Pool::new(engine.clone(), 1, Handle::current());
    let mut failures = Vec::new();
    for Example { line, script, runs } in examples(text) {
        let mut sources = Sources::new("example", "");
        sources.insert("main.rhai", script);
        let outcome = match engine.compile(&sources, "main.rhai") {
            Err(problems) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Err(problems.join("\n"))
            }
            Ok(program) if runs => pool
                .run(job(program))
                .await
                .map_err(|error| format!("{error:#}")),
            Ok(_) => Ok(Dynamic::UNIT),
        };
        failures.extend(
            outcome
                .err()
                .map(|error| format!("{name}:{line}:\n{error}\n")),
        );
    }
    failures
}

fn engine() -> Engine {
    let mut modules = super::super::modules();
    modules.push(rhai::exported_module!(asserting).into());
    Engine::new(modules, &VARIABLES)
}

fn job(program: Program) -> Job {
    Job {
        program: Arc::new(program),
        native: None,
        variables: VARIABLES
            .map(|name| (name, Dynamic::from_map(rhai::Map::new())))
            .into(),
        state: Arc::new(()),
        limits: Limits::default(),
        cancel: CancellationToken::new(),
        deadline: clock::now() + Duration::from_mins(10),
    }
}

#[export_module]
mod asserting {
    #[rhai_fn(return_raw)]
    pub fn assert(holds: bool) -> Result<(), Box<rhai::EvalAltResult>> {
        if holds {
            Ok(())
        } else {
            Err("this does not hold".into())
        }
    }
}
