//! Reads calls of functions: of scripts, closures, modules and of the host.

use rhai::{ASTNode, Expr, FnCallExpr, FnPtr, Position, Stmt};

use super::Reading;
use super::host_calls::Arguments;
use super::syntax::closure_of;
use super::values::{RESULT, Scope, Unit};
use crate::generate::rbac::objects::ObjectSet;
use crate::script::Program;

/// Methods that put their arguments into the receiver.
const MUTATORS: [&str; 7] = [
    "push",
    "append",
    "insert",
    "set",
    "mixin",
    "+=",
    "fill_with",
];

impl<'r> Reading<'r> {
    pub(super) fn method(
        &mut self,
        scope: &Scope<'r>,
        receiver: &ObjectSet,
        root: Option<&str>,
        call: &FnCallExpr,
        position: Position,
    ) -> ObjectSet {
        let given = self.arguments(scope, &call.args, receiver);
        if MUTATORS.contains(&call.name.as_str()) {
            self.add_to(scope, root, given.iter().cloned().collect());
        }
        if let Some(function) = self.definition(scope, &call.name, Some(call.args.len())) {
            let key = format!("{}/{}", function.name, function.parameters.len());
            let this = receiver.clone();
            self.values.add(scope.unit, &key, "this", this);
            return self.script_call(scope, scope.unit, &call.name, &given);
        }
        let arguments = Arguments {
            receiver: Some(receiver),
            expressions: &call.args,
            objects: &given,
        };
        self.native_call(scope, &call.name, &arguments, position)
    }

    pub(super) fn call(
        &mut self,
        scope: &Scope<'r>,
        call: &FnCallExpr,
        position: Position,
    ) -> ObjectSet {
        if call.name == "curry"
            && let [Expr::DynamicConstant(value, _), captured @ ..] = &*call.args
            && let Some(pointer) = value.read_lock::<FnPtr>()
        {
            let name = pointer.fn_name().to_owned();
            return self.closure(scope, &name, captured.len(), &ObjectSet::default());
        }
        let given = self.arguments(scope, &call.args, &ObjectSet::default());
        if let (false, [alias, ..]) = (call.namespace.is_empty(), &*call.namespace.path) {
            return match self.imported(scope, alias.as_str()) {
                Some(path) => self.script_call(scope, Unit::File(path), &call.name, &given),
                None => ObjectSet::union(&given),
            };
        }
        let arity = Some(call.args.len());
        if self.definition(scope, &call.name, arity).is_some() {
            return self.script_call(scope, scope.unit, &call.name, &given);
        }
        let arguments = Arguments {
            receiver: None,
            expressions: &call.args,
            objects: &given,
        };
        self.native_call(scope, &call.name, &arguments, position)
    }

    /// Returns the objects of each argument. Closures get the objects of the receiver.
    fn arguments(
        &mut self,
        scope: &Scope<'r>,
        arguments: &[Expr],
        receiver: &ObjectSet,
    ) -> Vec<ObjectSet> {
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = match closure_of(argument) {
                Some((name, captured)) => {
                    let mut elements = receiver.clone();
                    elements.join(ObjectSet::union(&all));
                    self.closure(scope, &name, captured, &elements)
                }
                None => self.expression(scope, argument),
            };
            all.push(value);
        }
        all
    }

    pub(super) fn closure(
        &mut self,
        scope: &Scope<'r>,
        name: &str,
        captured: usize,
        element: &ObjectSet,
    ) -> ObjectSet {
        let Some(function) = self.definition(scope, name, None) else {
            return ObjectSet::default();
        };
        for parameter in function.parameters.iter().skip(captured) {
            let element = element.clone();
            self.values
                .add(scope.unit, &scope.function, parameter, element);
        }
        if name.starts_with("anon$") {
            return self.body(scope, &function);
        }
        let key = format!("{name}/{}", function.parameters.len());
        for parameter in &function.parameters {
            let element = element.clone();
            self.values.add(scope.unit, &key, parameter, element);
        }
        self.values.call(scope.unit, &key);
        let result = self.values.get(scope.unit, &key, RESULT);
        result.cloned().unwrap_or_default()
    }

    fn script_call(
        &mut self,
        scope: &Scope<'r>,
        unit: Unit<'r>,
        name: &str,
        given: &[ObjectSet],
    ) -> ObjectSet {
        let program: &'r Program = self.entry.program();
        let ast = match unit {
            Unit::File(path) => program.scripts().find(|(one, _)| *one == path),
            Unit::Snippet(_) => None,
        };
        let callee = Scope {
            unit,
            ast: ast.map_or(scope.ast, |(_, ast)| ast),
            function: format!("{name}/{}", given.len()),
        };
        let Some(function) = self.definition(&callee, name, Some(given.len())) else {
            return ObjectSet::union(given);
        };
        for (parameter, objects) in function.parameters.iter().zip(given) {
            let objects = objects.clone();
            self.values.add(unit, &callee.function, parameter, objects);
        }
        self.values.call(unit, &callee.function);
        let result = self.values.get(unit, &callee.function, RESULT);
        result.cloned().unwrap_or_default()
    }

    /// Returns the path of the module with an alias.
    fn imported(&self, scope: &Scope<'r>, alias: &str) -> Option<&'r str> {
        let program: &'r Program = self.entry.program();
        let importer = match scope.unit {
            Unit::File(path) => Some(path),
            Unit::Snippet(_) => None,
        };
        let mut found = None;
        scope.ast.walk(&mut |path| {
            if let Some(ASTNode::Stmt(Stmt::Import(import, _))) = path.last()
                && import.1.as_str() == alias
                && let Expr::StringConstant(name, _) = &import.0
            {
                found = program.module(importer, name);
            }
            found.is_none()
        });
        found
    }
}
