//! The files that a file imports from, as paths of modules.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;

/// The names of a module from the root of its crate: `["apply", "diff"]`.
pub(crate) type ModulePath = Vec<String>;

/// The modules of a crate with their imports.
pub(crate) struct Modules {
    /// For each module, its imported names and the paths that they stand for.
    imports: BTreeMap<ModulePath, Vec<Import>>,
}

struct Import {
    /// The name in the importing module; none for a path inside an expression.
    name: Option<String>,
    path: Vec<String>,
}

impl Modules {
    /// Parses the files of a crate, whose paths begin at its `src`. Tests are ignored.
    pub(crate) fn new(sources: &[Source]) -> Self {
        let sources = sources.iter().filter(|source| !source.is_test());
        let imports = sources.map(|source| (module_path(&source.path), imports(source)));
        Self {
            imports: imports.collect(),
        }
    }

    /// Returns the modules that each module imports from.
    pub(crate) fn edges(&self) -> BTreeMap<&ModulePath, BTreeSet<ModulePath>> {
        let edges = self.imports.iter().map(|(module, imports)| {
            let targets = imports
                .iter()
                .filter_map(|import| self.resolve(module, &import.path, 0));
            (module, targets.filter(|target| target != module).collect())
        });
        edges.collect()
    }

    /// Returns the module that defines the item of a path, or none for an item of another crate.
    fn resolve(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let mut current = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                current.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    current.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                self.imports.get(&child)?;
            }
        }
        for (at, name) in rest.iter().enumerate() {
            let child = [current.as_slice(), std::slice::from_ref(name)].concat();
            if self.imports.contains_key(&child) {
                current = child;
                continue;
            }
            // The name may be a re-export. A limit ends a circle of re-exports.
            let imports = self.imports.get(&current)?;
            let import = imports
                .iter()
                .find(|import| import.name.as_ref() == Some(name));
            if let Some(import) = import.filter(|_| depth < 8) {
                let path = [import.path.as_slice(), &rest[at + 1..]].concat();
                return self.resolve(&current, &path, depth + 1);
            }
            break;
        }
        Some(current)
    }
}

fn module_path(file: &str) -> ModulePath {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let mut names: ModulePath = path.split('/').map(str::to_owned).collect();
    if names
        .last()
        .is_some_and(|last| last == "mod" || (last == "lib" && names.len() == 1))
    {
        names.pop();
    }
    names
}

fn imports(source: &Source) -> Vec<Import> {
    let code: Vec<&str> = source.code().collect();
    let code = code.join("\n");
    let mut imports = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = find_use(rest) {
        let (before, statement) = rest.split_at(at);
        imports.extend(paths_in(before));
        let end = statement.find(';').unwrap_or(statement.len());
        let tree = statement[..end].trim_start_matches("use ");
        expand(&[], tree, &mut imports);
        rest = &statement[end..];
    }
    imports.extend(paths_in(rest));
    imports
}

/// Returns the position of the next `use` at the start of a line, after its visibility.
fn find_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|&at| {
        let line = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = code[line..at].trim();
        before.is_empty() || before.starts_with("pub") && !before.contains("fn ")
    })
}

/// Appends the paths of a tree such as `a::{b, c::{self, d as e}}`.
fn expand(prefix: &[String], tree: &str, imports: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let names = head
            .split("::")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let prefix: Vec<String> = prefix
            .iter()
            .cloned()
            .chain(names.map(str::to_owned))
            .collect();
        let group = group.strip_suffix('}').unwrap_or(group);
        for part in split_group(group) {
            expand(&prefix, part, imports);
        }
        return;
    }
    let (path, alias) = tree
        .split_once(" as ")
        .map_or((tree, None), |(path, alias)| (path, Some(alias)));
    let names = path
        .split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let mut path: Vec<String> = prefix
        .iter()
        .cloned()
        .chain(names.map(str::to_owned))
        .collect();
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.map(str::to_owned).or_else(|| path.last().cloned());
    if !path.is_empty() {
        imports.push(Import { name, path });
    }
}

/// Splits the content of braces at the commas that are not in inner braces.
fn split_group(group: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Returns the paths inside expressions that begin with `crate`, `super` or `self`. The path of a visibility,
/// as in `pub(in crate::apply)`, is no import.
fn paths_in(code: &str) -> Vec<Import> {
    let starts = ["crate::", "super::", "self::"];
    let mut imports = Vec::new();
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            let is_visibility = code[..at].ends_with("pub(in ");
            if is_visibility
                || before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$')
            {
                continue;
            }
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let path = code[at..].split(|c| !is_path(c)).next().unwrap_or_default();
            let names = path.split("::").filter(|name| !name.is_empty());
            imports.push(Import {
                name: None,
                path: names.map(str::to_owned).collect(),
            });
        }
    }
    imports
}

#[test]
fn an_import_leads_to_the_file_that_defines_the_item() {
    let sources = [
        Source::new("lib.rs", "pub use apply::Error;\n"),
        Source::new(
            "apply/mod.rs",
            "mod error;\npub use error::{self as errors, Error};\nuse crate::model;\n",
        ),
        Source::new(
            "apply/error.rs",
            "use std::fmt;\nfn f() { super::diff::go() }\n",
        ),
        Source::new(
            "apply/diff.rs",
            "use super::{Error, errors, model::{self, Object}};\n#[cfg(test)]\nuse crate::cli;\n",
        ),
        Source::new("model.rs", "//! [`crate::cli`]\n"),
        Source::new(
            "cli/mod.rs",
            "fn f() -> crate::Error { Error::from(self::flags::A) }\n",
        ),
        Source::new(
            "cli/flags.rs",
            "pub(crate) use crate::{\n    apply::diff::go,\n    model,\n};\npub(in crate::cli) struct Flags;\n",
        ),
        Source::new("cli/tests.rs", "use crate::apply;\n"),
    ];
    let modules = Modules::new(&sources);
    let edges = modules.edges().into_iter().map(|(module, targets)| {
        let targets: Vec<String> = targets.iter().map(|target| target.join("::")).collect();
        format!("{} -> {}", module.join("::"), targets.join(", "))
    });
    assert_eq!(
        edges.collect::<Vec<_>>(),
        [
            " -> apply::error",
            "apply -> apply::error, model",
            "apply::diff -> apply::error, model",
            "apply::error -> apply::diff",
            "cli -> apply::error, cli::flags",
            "cli::flags -> apply::diff, model",
            "model -> ",
        ]
    );
}
