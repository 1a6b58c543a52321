//! Compiles a program: parses and checks each file that the entry imports, directly or not, and returns
//! all diagnostics together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rhai::{AST, Expr, LexError, ParseErrorType, Position, Scope, Stmt};

use super::check;
use super::engine::Engine;
use super::error::lower_first;
use super::names::nearest;
use super::parsed_file::{Files, Import, ParsedFile};
use super::program::{File, Program};
use super::sources::{Sources, diagnostic, label, resolve};
use super::syntax;
use super::syntax_hints;
use crate::model::Diagnostic;

/// The maximum number of undefined variables that are reported per file. The parser stops at each, so
/// that the file is parsed again for the next one.
const MAX_UNDEFINED: usize = 50;
impl Engine {
    /// Compiles `entry` (a path within `sources`) and each module that it imports, directly or not. Fails with
    /// all diagnostics: syntax errors, undefined variables, unknown functions, unresolved imports.
    pub fn compile(&self, sources: &Sources, entry: &str) -> Result<Program, Vec<Diagnostic>> {
        let mut loading = ProgramLoader::new(self, sources, entry);
        if sources.get(entry).is_none() {
            return Err(vec![loading.diagnostic(
                entry,
                Position::NONE,
                "file not found",
            )]);
        }
        loading.load(entry, &mut Vec::new());
        let (files, problems) = loading.finish();
        if !problems.is_empty() {
            return Err(sort_diagnostics(problems));
        }
        Ok(Program {
            name: sources.name.clone(),
            entry: entry.to_owned(),
            captured: captured(&files),
            texts: BTreeMap::new(),
            files: with_fixed(files),
            snippets: Vec::new(),
        })
    }
}

/// Sorts diagnostics by position, and removes duplicates.
pub(super) fn sort_diagnostics(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    problems.sort_by(|a, b| {
        (&a.file, a.line, a.column, &a.message).cmp(&(&b.file, b.line, b.column, &b.message))
    });
    problems.dedup();
    problems
}

/// Returns the names of variables that closures of any file capture.
pub(super) fn captured(files: &Files) -> BTreeSet<String> {
    let files = files.values().flatten();
    files.flat_map(|file| check::captured(&file.ast)).collect()
}

/// Loads the files of a program.
pub(super) struct ProgramLoader<'a> {
    engine: &'a Engine,
    sources: &'a Sources,
    entry: &'a str,
    files: Files,
    problems: Vec<Diagnostic>,
    /// Variables that the scripts of this program see in addition to those of every script.
    variables: Vec<&'static str>,
}

/// The grammar of a text, and the variables that it can use.
#[derive(Clone, Copy)]
pub(super) struct Syntax<'a> {
    /// True for one expression, false for statements.
    pub(super) expression: bool,
    /// Variables in addition to those of every script.
    pub(super) variables: &'a [&'static str],
    /// Variables that exist only elsewhere, with the places for a hint.
    pub(super) elsewhere: &'a [(&'static str, &'static str)],
}

impl<'a> ProgramLoader<'a> {
    /// Creates a loader that looks for modules beside `entry`.
    pub(super) fn new(engine: &'a Engine, sources: &'a Sources, entry: &'a str) -> Self {
        Self {
            engine,
            sources,
            entry,
            files: BTreeMap::new(),
            problems: vec![],
            variables: vec![],
        }
    }

    /// Adds variables that the scripts see.
    pub(super) fn with_variables(mut self, variables: Vec<&'static str>) -> Self {
        self.variables = variables;
        self
    }

    /// Returns whether a file was loaded already, with or without success.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Returns the loaded files and the diagnostics.
    pub(super) fn finish(mut self) -> (Files, Vec<Diagnostic>) {
        let functions = check::functions(self.engine, self.sources, &self.files);
        self.problems.extend(functions);
        (self.files, self.problems)
    }

    fn diagnostic(&self, path: &str, at: Position, message: impl Into<String>) -> Diagnostic {
        diagnostic(self.sources, path, at, message)
    }

    /// Parses a file and its imports. `above` contains the files that import it.
    pub(super) fn load(&mut self, path: &str, above: &mut Vec<String>) {
        if let Some(text) = self.sources.text(path) {
            let variables = self.variables.clone();
            let syntax = Syntax {
                expression: false,
                variables: &variables,
                elsewhere: &[],
            };
            self.load_text(path, text, syntax, above);
        }
    }

    /// Loads a text in place of the file with this path.
    pub(super) fn load_text(
        &mut self,
        path: &str,
        text: Arc<str>,
        syntax: Syntax<'_>,
        above: &mut Vec<String>,
    ) {
        // Known from here on, so that a file that is imported twice is parsed once.
        self.files.insert(path.to_owned(), None);
        let Some(ast) = self.parse(path, &text, syntax) else {
            return;
        };
        let mut imports = Vec::new();
        above.push(path.to_owned());
        for import in check::imports(&ast) {
            if let Some(target) = self.load_import(path, &import, above) {
                imports.push((import.alias, target));
            }
        }
        above.pop();
        let label = label(self.sources, path);
        self.files.insert(
            path.to_owned(),
            Some(ParsedFile {
                ast,
                text,
                label,
                imports,
            }),
        );
    }

    fn load_import(
        &mut self,
        path: &str,
        import: &Import,
        above: &mut Vec<String>,
    ) -> Option<String> {
        let Some(name) = &import.name else {
            let message = "`import` requires the name of a module in quotes, because the role imports modules when it is loaded";
            self.problems
                .push(self.diagnostic(path, import.position, message));
            return None;
        };
        let target = match resolve(self.sources.paths(), self.entry, path, name) {
            Ok(target) => target,
            Err((message, hint)) => {
                let mut problem = self.diagnostic(path, import.position, message);
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
                .push(self.diagnostic(path, import.position, message));
            return None;
        }
        if !self.files.contains_key(&target) {
            self.load(&target, above);
        }
        Some(target)
    }

    /// Parses a file. Reports an undefined variable, and parses again as if it were defined, to find the next
    /// one.
    fn parse(&mut self, path: &str, text: &str, what: Syntax<'_>) -> Option<AST> {
        let mut scope = Scope::new();
        for name in self.engine.variables().iter().chain(what.variables) {
            scope.push(*name, ());
        }
        let rhai = self.engine.rhai();
        let mut undefined = Vec::new();
        let parsed = loop {
            syntax::begin();
            let ast = if what.expression {
                rhai.compile_expression_with_scope(&scope, text)
            } else {
                rhai.compile_with_scope(&scope, text)
            };
            let error = match ast {
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
                    let (position, known_mistake) = syntax_hints::improve(other, text, position);
                    let mut problem = self.diagnostic(path, position, message);
                    problem.hint = known_mistake.or(hint);
                    self.problems.push(problem);
                    break None;
                }
            }
        };
        self.tell_undefined(path, parsed.as_ref(), undefined, what);
        if let Some(ast) = &parsed {
            self.tell_assigned(path, ast, what.variables);
        }
        parsed.map(|mut ast| {
            ast.set_source(label(self.sources, path));
            ast
        })
    }

    fn tell_assigned(&mut self, path: &str, ast: &AST, variables: &[&str]) {
        let variables = [self.engine.variables(), variables].concat();
        for (name, position) in check::assigned(ast, &variables) {
            let mut problem =
                self.diagnostic(path, position, format!("`{name}` cannot be changed"));
            problem.hint = Some(format!("work on a copy: let mine = {name};"));
            self.problems.push(problem);
        }
    }

    fn tell_undefined(
        &mut self,
        path: &str,
        ast: Option<&AST>,
        undefined: Vec<(String, Position)>,
        what: Syntax<'_>,
    ) {
        let locals = ast.map(check::locals).unwrap_or_default();
        for (name, position) in undefined {
            let mut problem =
                self.diagnostic(path, position, format!("undefined variable `{name}`"));
            let known = self.engine.variables().iter().chain(what.variables);
            let elsewhere = what.elsewhere.iter().find(|(known, _)| *known == name);
            problem.hint = if let Some((_, place)) = elsewhere {
                Some((*place).to_owned())
            } else if locals.contains(&name) {
                Some(
                    "pass it as an argument: functions do not see the variables of their file"
                        .to_owned(),
                )
            } else {
                let locals = locals.iter().map(String::as_str);
                let near = nearest(&name, known.copied().chain(locals));
                let near = near.map(|near| format!("did you mean `{near}`?"));
                of_other_languages(&name).map(str::to_owned).or(near)
            };
            self.problems.push(problem);
        }
    }
}

/// Returns the message of a syntax error.
fn wording(error: &ParseErrorType) -> (String, Option<String>) {
    let hint = match error {
        ParseErrorType::BadInput(LexError::ImproperSymbol(word, _)) if word == "eval" => {
            return (
                "`eval` is not available".to_owned(),
                Some("call a function or a closure instead".to_owned()),
            );
        }
        ParseErrorType::ModuleUndefined(name) => {
            return (
                format!("undefined module `{name}`"),
                Some(format!("import it: import \"{name}\" as {name};")),
            );
        }
        ParseErrorType::Reserved(word) => {
            let hint = of_other_languages(word).unwrap_or(
                "use another name: reserved words are allowed only after a dot and as keys of maps",
            );
            return (
                format!("`{word}` is a reserved word"),
                Some(hint.to_owned()),
            );
        }
        ParseErrorType::BadInput(LexError::UnexpectedInput(word))
        | ParseErrorType::UnknownOperator(word) => of_other_languages(word).map(str::to_owned),
        ParseErrorType::UnexpectedEOF => return ("unexpected end of the code".to_owned(), None),
        _ => None,
    };
    (lower_first(&error.to_string()), hint)
}

/// Returns the Rhai equivalent of a keyword of another language.
fn of_other_languages(word: &str) -> Option<&'static str> {
    Some(match word {
        "and" => "write &&",
        "or" => "write ||",
        "not" => "write !",
        "is" => "compare with == or !=; an absent value is ()",
        "?" => "write if a { b } else { c }",
        "null" | "nil" | "None" | "none" | "undefined" => "write () for an absent value",
        "True" => "write true",
        "False" => "write false",
        "{" => "write the condition without braces",
        "let" | "const" | "for" | "while" | "loop" | "return" | "fn" | "import" => {
            "write one expression; only scripts can contain statements"
        }
        _ => return None,
    })
}

/// Marks the modules that the engine can evaluate once for all runs.
pub(super) fn with_fixed(files: Files) -> BTreeMap<String, File> {
    let files: BTreeMap<_, _> = files
        .into_iter()
        .filter_map(|(path, file)| Some((path, file?)))
        .collect();
    let fixed: Vec<_> = files.keys().map(|path| is_fixed(&files, path)).collect();
    files
        .into_iter()
        .zip(fixed)
        .map(|((path, loaded), fixed)| {
            let ParsedFile {
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

/// Returns whether the top level of a file and of its imports is independent of a run. Imports have no
/// cycles.
fn is_fixed(files: &BTreeMap<String, ParsedFile>, path: &str) -> bool {
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
