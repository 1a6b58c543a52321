//! Sources → program: every file that the entry reaches is parsed and looked through, and all that is
//! wrong is told at once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rhai::{AST, Expr, LexError, ParseErrorType, Position, Scope, Stmt};

use super::check::{self, Import};
use super::engine::Engine;
use super::error::lower_first;
use super::names::nearest;
use super::program::{File, Program};
use super::sources::{Sources, resolve};
use super::syntax;
use crate::model::Problem;

/// Undefined variables are told one per attempt to parse: no more than this many per file.
const MAX_UNDEFINED: usize = 50;

pub(super) fn compile(
    engine: &Engine,
    sources: &Sources,
    entry: &str,
) -> Result<Program, Vec<Problem>> {
    let mut loading = Loading {
        engine,
        sources,
        entry,
        files: BTreeMap::new(),
        problems: vec![],
    };
    if sources.get(entry).is_none() {
        return Err(vec![loading.problem(
            entry,
            Position::NONE,
            "there is no such file",
        )]);
    }
    loading.load(entry, &mut Vec::new());
    let Loading {
        mut problems,
        files,
        ..
    } = loading;
    problems.extend(check::functions(engine, sources, &files));
    if !problems.is_empty() {
        problems.sort_by(|a, b| {
            (&a.file, a.line, a.column, &a.message).cmp(&(&b.file, b.line, b.column, &b.message))
        });
        problems.dedup();
        return Err(problems);
    }
    let captured = files
        .values()
        .flatten()
        .flat_map(|file| check::captured(&file.ast))
        .collect();
    let files = with_fixed(files);
    Ok(Program {
        name: sources.name.clone(),
        entry: entry.to_owned(),
        files,
        fragments: Vec::new(),
        captured,
    })
}

/// A file that was parsed, and what it imports.
pub(super) struct Loaded {
    pub(super) ast: AST,
    pub(super) text: Arc<str>,
    pub(super) label: String,
    /// Alias → path.
    pub(super) imports: Vec<(String, String)>,
}

struct Loading<'a> {
    engine: &'a Engine,
    sources: &'a Sources,
    entry: &'a str,
    files: BTreeMap<String, Option<Loaded>>,
    problems: Vec<Problem>,
}

impl Loading<'_> {
    fn problem(&self, path: &str, at: Position, message: impl Into<String>) -> Problem {
        problem(self.sources, path, at, message)
    }

    /// Parses a file and all that it imports; `above` are the files that led here.
    fn load(&mut self, path: &str, above: &mut Vec<String>) {
        let Some(text) = self.sources.text(path) else {
            return;
        };
        // Known from here on, so that a file that is imported twice is parsed once.
        self.files.insert(path.to_owned(), None);
        let Some(ast) = self.parse(path, &text) else {
            return;
        };
        let mut imports = Vec::new();
        above.push(path.to_owned());
        for import in check::imports(&ast) {
            if let Some(target) = self.follow(path, &import, above) {
                imports.push((import.alias, target));
            }
        }
        above.pop();
        let label = label(self.sources, path);
        self.files.insert(
            path.to_owned(),
            Some(Loaded {
                ast,
                text,
                label,
                imports,
            }),
        );
    }

    fn follow(&mut self, path: &str, import: &Import, above: &mut Vec<String>) -> Option<String> {
        let Some(name) = &import.name else {
            let message = "an import needs its module's name in quotes: what is imported must be known when the role is loaded";
            self.problems
                .push(self.problem(path, import.position, message));
            return None;
        };
        let target = match resolve(self.sources.paths(), self.entry, path, name) {
            Ok(target) => target,
            Err((message, hint)) => {
                let mut problem = self.problem(path, import.position, message);
                problem.hint = hint;
                self.problems.push(problem);
                return None;
            }
        };
        if let Some(first) = above.iter().position(|file| *file == target) {
            let circle = above[first..]
                .iter()
                .map(String::as_str)
                .chain([target.as_str()]);
            let message = format!("import cycle: {}", circle.collect::<Vec<_>>().join(" → "));
            self.problems
                .push(self.problem(path, import.position, message));
            return None;
        }
        if !self.files.contains_key(&target) {
            self.load(&target, above);
        }
        Some(target)
    }

    /// Parses a file. An undefined variable is told and then taken as defined, to find the next one.
    fn parse(&mut self, path: &str, text: &str) -> Option<AST> {
        let mut scope = Scope::new();
        for name in self.engine.variables() {
            scope.push(*name, ());
        }
        let mut undefined = Vec::new();
        let parsed = loop {
            syntax::begin();
            let error = match self.engine.rhai().compile_with_scope(&scope, text) {
                Ok(ast) => break Some(ast),
                Err(error) => error,
            };
            let position = error.position();
            match error.err_type() {
                ParseErrorType::VariableUndefined(name) if undefined.len() < MAX_UNDEFINED => {
                    scope.push(name.clone(), ());
                    undefined.push((name.clone(), position));
                }
                other => {
                    let (message, hint) = wording(other);
                    let mut problem = self.problem(path, position, message);
                    problem.hint = hint;
                    self.problems.push(problem);
                    break None;
                }
            }
        };
        self.tell_undefined(path, parsed.as_ref(), undefined);
        if let Some(ast) = &parsed {
            self.tell_assigned(path, ast);
        }
        parsed.map(|mut ast| {
            ast.set_source(label(self.sources, path));
            ast
        })
    }

    fn tell_assigned(&mut self, path: &str, ast: &AST) {
        for (name, position) in check::assigned(ast, self.engine.variables()) {
            let mut problem = self.problem(path, position, format!("`{name}` cannot be changed"));
            problem.hint = Some(format!("work on a copy: let mine = {name};"));
            self.problems.push(problem);
        }
    }

    fn tell_undefined(
        &mut self,
        path: &str,
        ast: Option<&AST>,
        undefined: Vec<(String, Position)>,
    ) {
        let locals = ast.map(check::locals).unwrap_or_default();
        for (name, position) in undefined {
            let mut problem = self.problem(path, position, format!("undefined variable `{name}`"));
            let known = self.engine.variables().iter().copied();
            problem.hint = if locals.contains(&name) {
                Some(
                    "functions do not see the variables of their file: pass it as an argument"
                        .to_owned(),
                )
            } else {
                nearest(&name, known.chain(locals.iter().map(String::as_str)))
                    .map(|near| format!("did you mean `{near}`?"))
            };
            self.problems.push(problem);
        }
    }
}

/// A problem at a place of a file of the sources.
pub(super) fn problem(
    sources: &Sources,
    path: &str,
    at: Position,
    message: impl Into<String>,
) -> Problem {
    let (line, column) = (at.line().unwrap_or(0), at.position().unwrap_or(0));
    Problem::error(sources.folder.join(path), line, column, message)
}

fn label(sources: &Sources, path: &str) -> String {
    if sources.name.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", sources.name)
    }
}

/// What a syntax error says.
fn wording(error: &ParseErrorType) -> (String, Option<String>) {
    let hint = match error {
        ParseErrorType::BadInput(LexError::ImproperSymbol(word, _)) if word == "eval" => {
            return (
                "`eval` is not available".to_owned(),
                Some("write the code itself, or a function or closure that is called".to_owned()),
            );
        }
        ParseErrorType::ModuleUndefined(name) => {
            return (
                format!("undefined module `{name}`"),
                Some(format!("import it: import \"{name}\" as {name};")),
            );
        }
        ParseErrorType::Reserved(word) => {
            return (
                format!("`{word}` is a reserved word"),
                Some(
                    "it may follow a dot or be a map's key, but cannot name a variable".to_owned(),
                ),
            );
        }
        _ => None,
    };
    (lower_first(&error.to_string()), hint)
}

/// Marks the modules that need no run to be evaluated.
fn with_fixed(files: BTreeMap<String, Option<Loaded>>) -> BTreeMap<String, File> {
    let files: BTreeMap<_, _> = files
        .into_iter()
        .filter_map(|(path, file)| Some((path, file?)))
        .collect();
    let fixed: Vec<_> = files.keys().map(|path| is_fixed(&files, path)).collect();
    files
        .into_iter()
        .zip(fixed)
        .map(|((path, loaded), fixed)| {
            let Loaded {
                ast, text, label, ..
            } = loaded;
            (
                path,
                File {
                    label,
                    text,
                    ast,
                    fixed,
                    module: OnceLock::new(),
                },
            )
        })
        .collect()
}

/// Has a file nothing at its top level that depends on a run, nor has what it imports? There is no cycle.
fn is_fixed(files: &BTreeMap<String, Loaded>, path: &str) -> bool {
    files.get(path).is_some_and(|file| {
        file.ast.statements().iter().all(is_constant)
            && file
                .imports
                .iter()
                .all(|(_, target)| is_fixed(files, target))
    })
}

fn is_constant(statement: &Stmt) -> bool {
    match statement {
        Stmt::Noop(_) | Stmt::Export(..) => true,
        Stmt::Import(import, _) => matches!(import.0, Expr::StringConstant(..)),
        Stmt::Var(variable, ..) => variable.1.is_constant(),
        _ => false,
    }
}
