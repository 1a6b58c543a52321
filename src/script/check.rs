//! Finds calls of functions that do not exist in a parsed script, and lists its imports and variables.
//!
//! A method call can also call a closure in a map. Values from outside contain no closures, so that the
//! key of such a closure occurs in the program as a key, a property or a string. A method name that does
//! not occur in this way is unknown.

use std::collections::{BTreeMap, BTreeSet};

use rhai::{AST, ASTNode, Dynamic, Expr, FnCallExpr, FnPtr, Position, Stmt};

use super::engine::Engine;
use super::names::FunctionNames;
use super::parsed_file::{Import, ParsedFile};
use super::sources::{Sources, diagnostic};
use crate::model::Diagnostic;

/// Returns the imports of a script, including those in functions.
pub(super) fn imports(ast: &AST) -> Vec<Import> {
    let mut imports = Vec::new();
    visit_nodes(ast, |node| {
        if let ASTNode::Stmt(Stmt::Import(import, _)) = node {
            let name = match &import.0 {
                Expr::StringConstant(name, _) => Some(name.to_string()),
                _ => None,
            };
            let (alias, position) = (import.1.as_str().to_owned(), import.0.position());
            imports.push(Import {
                name,
                alias,
                position,
            });
        }
    });
    imports
}

/// Returns the names of the variables and parameters that a script defines.
pub(super) fn locals(ast: &AST) -> BTreeSet<String> {
    let mut locals = BTreeSet::new();
    visit_nodes(ast, |node| match node {
        ASTNode::Stmt(Stmt::Var(variable, ..)) => {
            locals.insert(variable.0.as_str().to_owned());
        }
        ASTNode::Stmt(Stmt::For(parts, _)) => {
            locals.insert(parts.0.as_str().to_owned());
        }
        _ => {}
    });
    locals.extend(
        ast.iter_functions()
            .flat_map(|function| function.params)
            .map(str::to_owned),
    );
    locals
}

/// Returns the names of the variables that closures of a script capture.
pub(super) fn captured(ast: &AST) -> BTreeSet<String> {
    let mut captured = BTreeSet::new();
    visit_nodes(ast, |node| {
        if let ASTNode::Stmt(Stmt::Share(variables)) = node {
            captured.extend(variables.iter().map(|(name, _)| name.as_str().to_owned()));
        }
    });
    captured
}

/// Returns assignments to a variable of the run or to a part of it. The engine does not refuse a new key
/// in a constant map.
pub(super) fn assigned(ast: &AST, variables: &[&str]) -> Vec<(String, Position)> {
    let mut assigned = Vec::new();
    visit_nodes(ast, |node| {
        if let ASTNode::Stmt(Stmt::Assignment(parts)) = node
            && let Some((name, position)) = root(&parts.1.lhs)
            && variables.contains(&name)
        {
            assigned.push((name.to_owned(), position));
        }
    });
    assigned
}

/// Returns the variable that a chain of properties begins with, unless it is local.
fn root(expression: &Expr) -> Option<(&str, Position)> {
    match expression {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => root(&parts.lhs),
        Expr::Variable(variable, None, position) if variable.0.is_none() => {
            Some((variable.1.as_str(), *position))
        }
        _ => None,
    }
}

fn visit_nodes(ast: &AST, mut visit: impl FnMut(&ASTNode)) {
    ast.walk(&mut |path: &[ASTNode]| {
        if let Some(node) = path.last() {
            visit(node);
        }
        true
    });
}

/// Returns a diagnostic for each call of a function that does not exist.
pub(super) fn functions(
    engine: &Engine,
    sources: &Sources,
    files: &BTreeMap<String, Option<ParsedFile>>,
) -> Vec<Diagnostic> {
    let mut words = BTreeSet::new();
    let mut exported = BTreeMap::new();
    for (path, file) in files {
        let Some(file) = file else { continue };
        collect_words(&file.ast, &mut words);
        exported.insert(path.as_str(), functions_of(&file.ast));
    }
    let mut problems = Vec::new();
    for (path, file) in files {
        let Some(file) = file else { continue };
        let mut names = engine.names().clone();
        names.include(&exported[path.as_str()]);
        let scope = CallableFunctions {
            names,
            words: &words,
            exported: &exported,
            file,
        };
        visit_nodes(&file.ast, |node| {
            if let Some((position, message, hint)) = scope.wrong_call(node) {
                let mut problem = diagnostic(sources, path, position, message);
                problem.hint = hint;
                problems.push(problem);
            }
        });
    }
    problems
}

fn functions_of(ast: &AST) -> FunctionNames {
    let mut names = FunctionNames::default();
    for function in ast.iter_functions() {
        names.add(function.name, function.params.len());
    }
    names
}

/// Collects keys, properties and strings: the names that a closure in a map can have.
fn collect_words(ast: &AST, words: &mut BTreeSet<String>) {
    visit_nodes(ast, |node| match node {
        ASTNode::Expr(Expr::Map(map, _)) => {
            words.extend(map.0.iter().map(|(key, _)| key.as_str().to_owned()));
        }
        ASTNode::Expr(Expr::Property(property, _)) => {
            words.insert(property.2.to_string());
        }
        ASTNode::Expr(Expr::StringConstant(text, _)) => {
            words.insert(text.to_string());
        }
        ASTNode::Expr(Expr::DynamicConstant(value, _)) => {
            keys_within(value, words);
        }
        _ => {}
    });
}

/// Collects the keys of a literal, including nested ones.
fn keys_within(value: &Dynamic, words: &mut BTreeSet<String>) {
    if let Ok(map) = value.as_map_ref() {
        for (key, value) in map.iter() {
            words.insert(key.to_string());
            keys_within(value, words);
        }
    } else if let Ok(array) = value.as_array_ref() {
        for value in array.iter() {
            keys_within(value, words);
        }
    }
}

/// The functions that one file can call.
struct CallableFunctions<'a> {
    names: FunctionNames,
    words: &'a BTreeSet<String>,
    exported: &'a BTreeMap<&'a str, FunctionNames>,
    file: &'a ParsedFile,
}

type CallError = (Position, String, Option<String>);

impl CallableFunctions<'_> {
    fn wrong_call(&self, node: &ASTNode) -> Option<CallError> {
        match node {
            ASTNode::Expr(Expr::FnCall(call, position))
            | ASTNode::Stmt(Stmt::FnCall(call, position)) => self.wrong_function(call, *position),
            ASTNode::Expr(Expr::MethodCall(call, position)) => self.wrong_method(call, *position),
            ASTNode::Expr(Expr::DynamicConstant(value, position)) => {
                let pointer = value.read_lock::<FnPtr>()?;
                self.wrong_pointer(pointer.fn_name(), *position)
            }
            _ => None,
        }
    }

    fn wrong_function(&self, call: &FnCallExpr, position: Position) -> Option<CallError> {
        if call.is_operator_call() {
            return None;
        }
        if let (false, [module, ..]) = (call.namespace.is_empty(), &*call.namespace.path) {
            return self.wrong_qualified(module.as_str(), call, position);
        }
        if let ("Fn", [Expr::StringConstant(name, at)]) = (call.name.as_str(), &*call.args) {
            return self.wrong_pointer(name, *at);
        }
        self.wrong(&self.names, &call.name, &[call.args.len()], position)
    }

    /// `x.f(a)` is `f(x, a)`, or a function `f(a)` of the script with `x` as `this`.
    fn wrong_method(&self, call: &FnCallExpr, position: Position) -> Option<CallError> {
        if self.words.contains(call.name.as_str()) {
            return None;
        }
        let arity = call.args.len();
        self.wrong(&self.names, &call.name, &[arity + 1, arity], position)
    }

    fn wrong_pointer(&self, name: &str, position: Position) -> Option<CallError> {
        if name.starts_with("anon$") || self.names.arities(name).is_some() {
            return None;
        }
        Some((
            position,
            format!("unknown function `{name}`"),
            self.names.suggest(name),
        ))
    }

    fn wrong_qualified(
        &self,
        alias: &str,
        call: &FnCallExpr,
        position: Position,
    ) -> Option<CallError> {
        let (_, target) = self.file.imports.iter().find(|(known, _)| known == alias)?;
        let module = self.exported.get(target.as_str())?;
        let (position, message, hint) =
            self.wrong(module, &call.name, &[call.args.len()], position)?;
        Some((position, format!("{message} in module `{alias}`"), hint))
    }

    fn wrong(
        &self,
        names: &FunctionNames,
        name: &str,
        arities: &[usize],
        position: Position,
    ) -> Option<CallError> {
        let Some(taken) = names.arities(name) else {
            let is_variable = locals(&self.file.ast).contains(name);
            let hint = if is_variable {
                Some(format!(
                    "call the closure in variable `{name}` as `{name}.call(…)`"
                ))
            } else {
                names.suggest(name)
            };
            return Some((position, format!("unknown function `{name}`"), hint));
        };
        if arities.iter().any(|arity| taken.contains(arity)) {
            return None;
        }
        let taken: Vec<_> = taken.iter().map(usize::to_string).collect();
        let message = format!(
            "`{name}` takes {} argument{}, not {}",
            taken.join(" or "),
            if taken == ["1"] { "" } else { "s" },
            arities[0]
        );
        Some((position, message, None))
    }
}
