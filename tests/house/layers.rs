//! Imports point down only. The table in `src/lib.rs` is the law; modules of one layer do not
//! import each other.

use std::collections::BTreeMap;

use crate::source::{self, Source};

type Layers = BTreeMap<String, usize>;

/// The table of the crate's documentation: `| 2 | `cluster`, `role` |`.
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

/// The modules of this crate that a file names, by `crate::…` or by `super::…` up to the root.
fn imports(source: &Source) -> Vec<String> {
    let code: Vec<&str> = source.text.lines().map(without_comment).collect();
    let text = code.join("\n");
    let depth = source.path.matches('/').count() + usize::from(!source.path.ends_with("mod.rs"));
    let to_root = format!("\nuse {}", "super::".repeat(depth));
    let by_crate = text.match_indices("crate::").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
    });
    let by_super = text.match_indices(&to_root);
    by_crate
        .chain(by_super)
        .flat_map(|(at, path)| heads(&text[at + path.len()..]))
        .collect()
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        ""
    } else {
        line
    }
}

/// The first names of a path's rest: `a` of `a::b`, `a` and `c` of `{a::b, c::{d, e}}`.
fn heads(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return head(rest).into_iter().collect();
    };
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
    parts.into_iter().filter_map(head).collect()
}

fn head(path: &str) -> Option<String> {
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    let name: String = path.trim_start().chars().take_while(is_name).collect();
    // What begins with a capital is an item of lib.rs, not a module.
    let is_module = name.chars().next().is_some_and(char::is_lowercase);
    (is_module && name != "super" && name != "self").then_some(name)
}

fn violations(layers: &Layers, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path != "lib.rs") {
        let module = source.module();
        // main.rs is above all layers.
        let Some(layer) = layers
            .get(module)
            .or_else(|| (module == "main").then_some(&usize::MAX))
        else {
            found.push(format!("{}: `{module}` is in no layer", source.path));
            continue;
        };
        for import in imports(source) {
            match layers.get(&import) {
                _ if import == module => {}
                None => found.push(format!("{}: `{import}` is in no layer", source.path)),
                Some(other) if other < layer => {}
                Some(other) => found.push(format!(
                    "{}: `{module}` (layer {layer}) imports `{import}` (layer {other})",
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
