//! Reads scripts: statements, expressions, and calls of functions.

use std::rc::Rc;

use rhai::{ASTFlags, ASTNode, BinaryExpr, Dynamic, Expr, FnPtr, Ident, Stmt};

use super::Reading;
use super::syntax::{first_key, is_own_namespace, literal, map_entries, root, type_of};
use super::values::{Function, RESULT, Scope, Unit};
use crate::generate::rbac::manifest_text;
use crate::generate::rbac::objects::{Manifest, ObjectSet, grants};
use crate::script::Program;

impl<'r> Reading<'r> {
    /// Reads all scripts and snippets of the entry's program.
    pub(super) fn scripts(&mut self) {
        let program: &'r Program = self.entry.program();
        let files = program.scripts().map(|(path, ast)| (Unit::File(path), ast));
        let snippets = program.snippets().filter_map(|snippet| {
            let ast = program.snippet(snippet)?;
            Some((Unit::Snippet(snippet), ast))
        });
        for (unit, ast) in files.chain(snippets) {
            let scope = Scope {
                unit,
                ast,
                function: String::new(),
            };
            let value = self.block(&scope, ast.statements());
            self.values.add(unit, "", RESULT, value);
            let functions = ast.iter_functions();
            for function in functions.filter(|function| !function.name.starts_with("anon$")) {
                self.function(&scope, function.name, function.params.len());
            }
        }
    }

    fn function(&mut self, outer: &Scope<'r>, name: &str, arity: usize) {
        let scope = Scope {
            function: format!("{name}/{arity}"),
            ..outer.clone()
        };
        if let Some(function) = self.definition(&scope, name, Some(arity)) {
            let value = self.body(&scope, &function);
            self.values.add(scope.unit, &scope.function, RESULT, value);
        }
    }

    pub(super) fn body(&mut self, scope: &Scope<'r>, function: &Function) -> ObjectSet {
        let mut value = ObjectSet::default();
        function.ast.walk(&mut |path| {
            if let [ASTNode::Stmt(statement)] = path {
                value = self.statement(scope, statement);
            }
            true
        });
        value
    }

    /// Returns a function of the unit of a scope.
    pub(super) fn definition(
        &mut self,
        scope: &Scope<'r>,
        name: &str,
        arity: Option<usize>,
    ) -> Option<Rc<Function>> {
        let functions = self
            .functions
            .entry(scope.unit)
            .or_insert_with(|| Function::all(scope.ast));
        let mut functions = functions.iter();
        let found = functions.find(|function| {
            function.name == name && arity.is_none_or(|arity| function.parameters.len() == arity)
        });
        found.cloned()
    }

    fn block(&mut self, scope: &Scope<'r>, statements: &[Stmt]) -> ObjectSet {
        let mut value = ObjectSet::default();
        for statement in statements {
            value = self.statement(scope, statement);
        }
        value
    }

    fn statement(&mut self, scope: &Scope<'r>, statement: &Stmt) -> ObjectSet {
        match statement {
            Stmt::If(flow, _) | Stmt::TryCatch(flow, _) => {
                self.expression(scope, &flow.expr);
                let mut value = self.block(scope, flow.body.statements());
                value.join(self.block(scope, flow.branch.statements()));
                value
            }
            Stmt::Switch(parts, _) => {
                self.expression(scope, &parts.0);
                let cases = parts.1.expressions.iter();
                cases
                    .map(|case| {
                        self.expression(scope, &case.lhs);
                        self.expression(scope, &case.rhs)
                    })
                    .collect()
            }
            Stmt::While(flow, _) | Stmt::Do(flow, ..) => {
                self.expression(scope, &flow.expr);
                self.block(scope, flow.body.statements())
            }
            Stmt::For(parts, _) => {
                let items = self.expression(scope, &parts.2.expr);
                self.assign(scope, &parts.0, items);
                self.block(scope, parts.2.body.statements());
                ObjectSet::default()
            }
            Stmt::Var(parts, ..) => {
                let value = self.expression(scope, &parts.1);
                self.assign(scope, &parts.0, value);
                ObjectSet::default()
            }
            Stmt::Assignment(parts) => {
                let value = self.expression(scope, &parts.1.rhs);
                self.expression(scope, &parts.1.lhs);
                self.add_to(scope, root(&parts.1.lhs), value);
                ObjectSet::default()
            }
            Stmt::FnCall(call, position) => self.call(scope, call, *position),
            Stmt::Block(block) => self.block(scope, block.statements()),
            Stmt::Expr(expression) => self.expression(scope, expression),
            Stmt::BreakLoop(Some(value), ..) => self.expression(scope, value),
            Stmt::Return(Some(value), ..) => {
                let value = self.expression(scope, value);
                let result = value.clone();
                self.values.add(scope.unit, &scope.function, RESULT, result);
                value
            }
            _ => ObjectSet::default(),
        }
    }

    fn assign(&mut self, scope: &Scope<'r>, variable: &Ident, value: ObjectSet) {
        let name = variable.as_str();
        self.values.add(scope.unit, &scope.function, name, value);
    }

    pub(super) fn add_to(&mut self, scope: &Scope<'r>, variable: Option<&str>, value: ObjectSet) {
        if let Some(name) = variable {
            self.values.add(scope.unit, &scope.function, name, value);
        }
    }

    pub(super) fn expression(&mut self, scope: &Scope<'r>, expression: &Expr) -> ObjectSet {
        match expression {
            Expr::DynamicConstant(value, _) => self.constant(scope, value),
            Expr::StringConstant(text, _) => manifest_text::objects_of_literal(text),
            Expr::InterpolatedString(parts, _) => self.interpolated(scope, parts),
            Expr::Array(items, _) => {
                let items = items.iter();
                items.map(|item| self.expression(scope, item)).collect()
            }
            Expr::Map(map, _) => self.map_literal(scope, &map.0),
            Expr::Variable(variable, _, _) => self.variable(scope, &variable.1),
            Expr::ThisPtr(_) => self.variable(scope, "this"),
            Expr::Stmt(block) => self.block(scope, block.statements()),
            Expr::FnCall(call, position) => self.call(scope, call, *position),
            Expr::Dot(chain, ..) => {
                let (receiver, root) = match self.entry_of_map(chain) {
                    Some(value) => (value, None),
                    None => (self.expression(scope, &chain.lhs), root(&chain.lhs)),
                };
                self.link(scope, receiver, root, &chain.rhs)
            }
            Expr::Index(chain, flags, _) => {
                let receiver = match self.entry_of_map(chain) {
                    Some(value) => value,
                    None => self.expression(scope, &chain.lhs),
                };
                self.index(scope, receiver, root(&chain.lhs), &chain.rhs, *flags)
            }
            Expr::And(operands, _) | Expr::Or(operands, _) => {
                for operand in operands.iter() {
                    self.expression(scope, operand);
                }
                ObjectSet::default()
            }
            Expr::Coalesce(operands, _) => {
                let operands = operands.iter();
                operands.map(|one| self.expression(scope, one)).collect()
            }
            _ => ObjectSet::default(),
        }
    }

    fn constant(&mut self, scope: &Scope<'r>, value: &Dynamic) -> ObjectSet {
        if let Some(pointer) = value.read_lock::<FnPtr>() {
            let name = pointer.fn_name().to_owned();
            return self.closure(scope, &name, 0, &ObjectSet::default());
        }
        let value = rhai::serde::from_dynamic::<serde_json::Value>(value);
        value.map_or_else(
            |_| ObjectSet::computed(),
            |value| ObjectSet::of_value(&value),
        )
    }

    fn interpolated(&mut self, scope: &Scope<'r>, parts: &[Expr]) -> ObjectSet {
        let mut text = String::new();
        for part in parts {
            self.expression(scope, part);
            match part {
                Expr::StringConstant(literal, _) => text.push_str(literal),
                _ => text.push_str("{{ }}"),
            }
        }
        manifest_text::objects_of_literal(&text)
    }

    fn map_literal(&mut self, scope: &Scope<'r>, entries: &[(Ident, Expr)]) -> ObjectSet {
        let values = entries.iter();
        let within: ObjectSet = values
            .map(|(_, value)| self.expression(scope, value))
            .collect();
        let entry = |name: &str| {
            let mut entries = entries.iter();
            entries.find_map(|(key, value)| (key.as_str() == name).then_some(value))
        };
        let (Some(version), Some(kind)) = (entry("apiVersion"), entry("kind")) else {
            return within;
        };
        let Some(gvk) = type_of(version, kind) else {
            return ObjectSet::computed();
        };
        let metadata = entry("metadata").and_then(map_entries).unwrap_or_default();
        let mut namespaces = entries.iter().chain(metadata);
        let names_namespace =
            namespaces.any(|(key, value)| key.as_str() == "namespace" && !is_own_namespace(value));
        let literal = entries
            .iter()
            .filter(|(key, _)| ["rules", "roleRef"].contains(&key.as_str()))
            .map(|(key, value)| Some((key.as_str().to_owned(), literal(value)?)))
            .collect::<Option<serde_json::Map<_, _>>>()
            .map(serde_json::Value::Object);
        ObjectSet::of_manifest(Manifest {
            names_namespace,
            grants: grants(&gvk, literal.as_ref()),
            gvk,
        })
    }

    fn variable(&self, scope: &Scope<'r>, name: &str) -> ObjectSet {
        let local = self.values.get(scope.unit, &scope.function, name);
        if let Some(local) = local.or_else(|| self.values.get(scope.unit, "", name)) {
            return local.clone();
        }
        match name {
            "cr" => self.own.iter().cloned().map(ObjectSet::of_kind).collect(),
            "spec" | "status" | "meta" | "vars" => ObjectSet::computed(),
            "results" => self.values.all_steps("results"),
            "item" => self.values.step("item", "").cloned().unwrap_or_default(),
            _ => ObjectSet::default(),
        }
    }

    /// Returns the objects of `results.x` and `vars.x`.
    fn entry_of_map(&self, chain: &BinaryExpr) -> Option<ObjectSet> {
        let Expr::Variable(variable, ..) = &chain.lhs else {
            return None;
        };
        let key = first_key(&chain.rhs)?;
        match &*variable.1 {
            "results" => Some(
                self.values
                    .step("results", key)
                    .cloned()
                    .unwrap_or_default(),
            ),
            "vars" => self.values.step("vars", key).cloned(),
            _ => None,
        }
    }

    /// Reads what follows a dot.
    fn link(
        &mut self,
        scope: &Scope<'r>,
        receiver: ObjectSet,
        root: Option<&str>,
        rest: &Expr,
    ) -> ObjectSet {
        match rest {
            Expr::MethodCall(call, position) | Expr::FnCall(call, position) => {
                self.method(scope, &receiver, root, call, *position)
            }
            Expr::Dot(chain, ..) => {
                let next = self.link(scope, receiver, root, &chain.lhs);
                self.link(scope, next, root, &chain.rhs)
            }
            Expr::Index(chain, flags, _) => {
                let next = self.link(scope, receiver, root, &chain.lhs);
                self.index(scope, next, root, &chain.rhs, *flags)
            }
            _ => receiver,
        }
    }

    /// Reads the index in brackets, and the rest of the chain.
    fn index(
        &mut self,
        scope: &Scope<'r>,
        receiver: ObjectSet,
        root: Option<&str>,
        rest: &Expr,
        flags: ASTFlags,
    ) -> ObjectSet {
        match rest {
            Expr::Dot(chain, ..) if !flags.contains(ASTFlags::BREAK) => {
                self.expression(scope, &chain.lhs);
                self.link(scope, receiver, root, &chain.rhs)
            }
            Expr::Index(chain, flags, _) if !flags.contains(ASTFlags::BREAK) => {
                self.expression(scope, &chain.lhs);
                self.index(scope, receiver, root, &chain.rhs, *flags)
            }
            other => {
                self.expression(scope, other);
                receiver
            }
        }
    }
}
