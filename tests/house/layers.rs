//! Checks that imports point down only. The table in `src/lib.rs` defines the layers. Modules of one layer
//! do not import each other.

use std::collections::BTreeMap;

use crate::source::{self, Source};

type Layers = BTreeMap<String, usize>;

/// Parses the table of the crate's documentation: `| 2 | `cluster`, `role` |`. A submodule that has a layer
/// of its own is listed with its path: `pipeline::execute`.
fn layers(lib: &str) -> Layers {
    let rows = lib.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("//! |")?.split('|').map(str::trim);
        let layer: usize = cells.next()?.parse().ok()?;
        Some((layer, cells.next()?))
    });
    rows.flat_map(|(layer, modules)| {
        let names = modules
            .split(',')
            .map(|name| name.trim_matches([' ', '`', '[', ']']));
        names.map(move |name| (name.to_owned(), layer))
    })
    .collect()
}

/// Returns the module of the table that a path belongs to: the longest one that the path begins with.
fn module_of<'a>(layers: &'a Layers, path: &str) -> Option<&'a str> {
    let modules = layers.keys().map(String::as_str);
    modules
        .filter(|module| {
            let rest = path.strip_prefix(module);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
        .max_by_key(|module| module.len())
}

/// Returns the paths within this crate that a file names, by `crate::…`, by `super::…` up to the root, or
/// by `super::…` and `self::…` to a submodule that has a layer of its own.
fn imports(layers: &Layers, source: &Source) -> Vec<String> {
    let code: Vec<&str> = source.text.lines().map(without_comment).collect();
    let text = code.join("\n");
    let depth = source.path.matches('/').count() + usize::from(!source.path.ends_with("mod.rs"));
    let to_root = format!("\nuse {}", "super::".repeat(depth));
    let by_crate = text.match_indices("crate::").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
    });
    let by_super = text.match_indices(&to_root);
    let mut found = Vec::new();
    for (at, path) in by_crate.chain(by_super) {
        add_paths("", &text[at + path.len()..], &mut found);
    }
    let submodules = layers.keys().filter_map(|path| path.rsplit_once("::"));
    for (parent, name) in submodules {
        let beside = format!("{}/", parent.replace("::", "/"));
        let by_name = ["super", "self"].map(|start| format!("{start}::{name}::"));
        if source.path.starts_with(&beside) && by_name.iter().any(|path| text.contains(path)) {
            found.push(format!("{parent}::{name}"));
        }
    }
    found
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        ""
    } else {
        line
    }
}

/// Adds the module paths of what follows a prefix: `a::b` of `a::b`, `a` and `c::d` of `{a, c::{d, E}}`.
fn add_paths(prefix: &str, rest: &str, found: &mut Vec<String>) {
    let rest = rest.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        for part in parts(group) {
            add_paths(prefix, part, found);
        }
        return;
    }
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    let name: String = rest.chars().take_while(is_name).collect();
    // A name that begins with a capital is an item, not a module.
    let is_module = name.chars().next().is_some_and(char::is_lowercase);
    if !is_module || name == "super" || name == "self" {
        if !prefix.is_empty() {
            found.push(prefix.to_owned());
        }
        return;
    }
    let path = if prefix.is_empty() {
        name.clone()
    } else {
        format!("{prefix}::{name}")
    };
    match rest[name.len()..].strip_prefix("::") {
        Some(more) => add_paths(&path, more, found),
        None => found.push(path),
    }
}

/// Splits a group of imports at its commas, up to the brace that closes it.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

fn violations(layers: &Layers, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path != "lib.rs") {
        let path = source.path.trim_end_matches(".rs").replace('/', "::");
        let module = module_of(layers, &path).unwrap_or_else(|| source.module());
        // main.rs is above all layers.
        let Some(layer) = layers
            .get(module)
            .or_else(|| (module == "main").then_some(&usize::MAX))
        else {
            found.push(format!("{}: `{module}` is in no layer", source.path));
            continue;
        };
        for import in imports(layers, source) {
            let name = import.split("::").next().unwrap_or_default();
            let imported = module_of(layers, &import).unwrap_or(name);
            match layers.get(imported) {
                _ if imported == module => {}
                None => found.push(format!("{}: `{imported}` is in no layer", source.path)),
                Some(other) if other < layer => {}
                Some(other) => found.push(format!(
                    "{}: `{module}` (layer {layer}) imports `{imported}` (layer {other})",
                    source.path
                )),
            }
        }
    }
    found
}

#[test]
fn imports_point_down() {
    let sources = source::of_operator();
    let lib = sources.iter().find(|source| source.path == "lib.rs");
    let layers = layers(&lib.expect("a lib.rs").text);
    assert!(
        layers.len() > 10,
        "the table in lib.rs was not understood: {layers:?}"
    );
    let found = violations(&layers, &sources);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_import_that_points_up_sideways_or_nowhere_is_found() {
    let layers = layers("//! | 0 | [`model`], `clock` |\n//! | 1 | `script` |\n");
    let sources = [
        Source::new("clock.rs", "//! [`crate::script`]\nuse std::fmt;\n"),
        Source::new("script/mod.rs", "use crate::{clock::now, script::x};\n"),
        Source::new(
            "model/a.rs",
            "use crate::{\n  model::{b, script},\n  script::run,\n};\n",
        ),
        Source::new("model/b.rs", "\nuse super::super::script::run;\n"),
        Source::new("model/c.rs", "fn f() { crate::clock::now() }\n"),
        Source::new("script/d.rs", "use crate::shelf;\n"),
        Source::new("shelf.rs", ""),
    ];
    assert_eq!(
        violations(&layers, &sources),
        [
            "model/a.rs: `model` (layer 0) imports `script` (layer 1)",
            "model/b.rs: `model` (layer 0) imports `script` (layer 1)",
            "model/c.rs: `model` (layer 0) imports `clock` (layer 0)",
            "script/d.rs: `shelf` is in no layer",
            "shelf.rs: `shelf` is in no layer",
        ]
    );
}

#[test]
fn a_submodule_can_have_a_layer_of_its_own() {
    let layers = layers("//! | 0 | `steps` |\n//! | 1 | `host` |\n//! | 2 | `steps::execute` |\n");
    let sources = [
        Source::new("host.rs", "use crate::steps::{Step, execute::run};\n"),
        Source::new("steps/mod.rs", "use self::execute::run;\n"),
        Source::new("steps/step.rs", "use super::execute::run;\n"),
        Source::new("steps/execute/mod.rs", "use crate::{host, steps::Step};\n"),
    ];
    assert_eq!(
        violations(&layers, &sources),
        [
            "host.rs: `host` (layer 1) imports `steps::execute` (layer 2)",
            "steps/mod.rs: `steps` (layer 0) imports `steps::execute` (layer 2)",
            "steps/step.rs: `steps` (layer 0) imports `steps::execute` (layer 2)",
        ]
    );
}
