//! The objects that the variables of a program can contain.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rhai::AST;

use crate::generate::rbac::objects::ObjectSet;
use crate::script::SnippetId;

/// A text of a program: a script file, or code within a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit<'r> {
    File(&'r str),
    Snippet(SnippetId),
}

/// A function of a unit; without a name the statements outside of functions. A closure belongs to the
/// function that contains it.
#[derive(Clone, Debug)]
pub(super) struct Scope<'r> {
    pub(super) unit: Unit<'r>,
    pub(super) ast: &'r AST,
    /// The name and the number of parameters, such as `release/1`.
    pub(super) function: String,
}

/// A function of a script.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    /// A syntax tree that contains nothing else: the engine gives no access to the body of one function.
    pub(super) ast: AST,
}

impl Function {
    /// Returns all functions of a script, closures included.
    pub(super) fn all(ast: &AST) -> Vec<Rc<Self>> {
        let functions = ast.iter_functions().map(|function| {
            let (name, arity) = (function.name, function.params.len());
            let mut only = ast.clone();
            only.clear_statements();
            only.retain_functions(|_, _, other, parameters| other == name && parameters == arity);
            Rc::new(Self {
                name: name.to_owned(),
                parameters: function.params.into_iter().map(str::to_owned).collect(),
                ast: only,
            })
        });
        functions.collect()
    }
}

type Key<'r> = (Unit<'r>, String, String);

/// The objects in variables and in results of functions.
#[derive(Default)]
pub(super) struct Values<'r> {
    variables: BTreeMap<Key<'r>, ObjectSet>,
    /// The entries of `results` and `vars`, and `item`.
    steps: BTreeMap<(&'static str, String), ObjectSet>,
    called: BTreeSet<(Unit<'r>, String)>,
    pub(super) has_changed: bool,
}

/// The name under which the result of a function is stored.
pub(super) const RESULT: &str = "return";

impl<'r> Values<'r> {
    pub(super) fn get(&self, unit: Unit<'r>, function: &str, variable: &str) -> Option<&ObjectSet> {
        let key = (unit, function.to_owned(), variable.to_owned());
        self.variables.get(&key)
    }

    pub(super) fn add(
        &mut self,
        unit: Unit<'r>,
        function: &str,
        variable: &str,
        objects: ObjectSet,
    ) {
        let key = (unit, function.to_owned(), variable.to_owned());
        let is_new = !self.variables.contains_key(&key);
        let has_grown = self.variables.entry(key).or_default().join(objects);
        self.has_changed |= is_new || has_grown;
    }

    pub(super) fn step(&self, map: &'static str, key: &str) -> Option<&ObjectSet> {
        self.steps.get(&(map, key.to_owned()))
    }

    /// Returns all entries of a map of steps.
    pub(super) fn all_steps(&self, map: &str) -> ObjectSet {
        let entries = self.steps.iter().filter(|((name, _), _)| *name == map);
        entries.map(|(_, objects)| objects.clone()).collect()
    }

    pub(super) fn add_step(&mut self, map: &'static str, key: &str, objects: ObjectSet) {
        let entry = self.steps.entry((map, key.to_owned())).or_default();
        self.has_changed |= entry.join(objects);
    }

    pub(super) fn call(&mut self, unit: Unit<'r>, function: &str) {
        self.has_changed |= self.called.insert((unit, function.to_owned()));
    }

    /// Returns whether anything calls a function. The statements outside of functions always run.
    pub(super) fn is_called(&self, scope: &Scope<'r>) -> bool {
        let key = (scope.unit, scope.function.clone());
        scope.function.is_empty() || self.called.contains(&key)
    }
}
