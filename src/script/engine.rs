//! The engine that all programs share: what it can do, how it is fenced.

use std::sync::Arc;

use rhai::packages::{
    BasicArrayPackage, BasicBlobPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage,
    CorePackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{Module, Shared};

use super::limits::{MAX_DEPTH, MAX_VARIABLES, Values};
use super::modules::Modules;
use super::names::FunctionNames;
use super::program::Program;
use super::snippet::Snippet;
use super::sources::Sources;
use super::{builtin, compile, snippet_compiler, syntax, thread_context};
use crate::model::Diagnostic;

/// Levels that an expression may be nested.
const MAX_EXPRESSION_DEPTH: usize = 128;

/// Levels beyond [`MAX_DEPTH`] at which the engine itself stops: ours come first and know the call chain.
const DEPTH_MARGIN: usize = 6;

/// The Rhai engine with the host's functions; cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    rhai: rhai::Engine,
    names: FunctionNames,
    values: Values,
    variables: Vec<&'static str>,
}

impl Engine {
    /// An engine with the functions of `modules`, for programs that see `variables`. A function of
    /// `modules` takes the place of the standard library's with the same name and types.
    pub fn new(modules: Vec<Shared<Module>>, variables: &[&'static str]) -> Self {
        Self::with(modules, variables, Values::default())
    }

    /// Makes an engine with other bounds of values.
    pub(super) fn with(
        modules: Vec<Shared<Module>>,
        variables: &[&'static str],
        values: Values,
    ) -> Self {
        let mut engine = rhai::Engine::new_raw();
        standard_library(&mut engine);
        for module in modules {
            engine.register_global_module(module);
        }
        fence(&mut engine, values);
        syntax::hook(&mut engine);
        thread_context::hook(&mut engine);
        engine.set_module_resolver(Modules);
        let names = FunctionNames::from_engine(&engine);
        Self(Arc::new(Inner {
            rhai: engine,
            names,
            values,
            variables: variables.to_vec(),
        }))
    }

    /// Compiles `entry` (a path within `sources`) and every module that it reaches; on failure says all
    /// that is wrong: syntax errors, undefined variables, unknown functions, unresolved imports.
    pub fn compile(&self, sources: &Sources, entry: &str) -> Result<Program, Vec<Diagnostic>> {
        compile::compile(self, sources, entry)
    }

    /// Compiles what is written inside other files (they are among the `sources` too) and every module
    /// that it reaches, looked for beside `entry`: the n-th fragment of the program is the n-th snippet.
    /// Also answers all that is wrong; if that is anything, the program is for looking at only.
    pub fn compile_snippets(
        &self,
        sources: &Sources,
        entry: &str,
        snippets: &[Snippet],
    ) -> (Program, Vec<Diagnostic>) {
        snippet_compiler::compile(self, sources, entry, snippets)
    }

    /// The engine itself, for the catalogue of functions.
    pub fn rhai(&self) -> &rhai::Engine {
        &self.0.rhai
    }

    pub(super) fn names(&self) -> &FunctionNames {
        &self.0.names
    }

    pub(super) fn values(&self) -> Values {
        self.0.values
    }

    /// The variables that every program sees.
    pub fn variables(&self) -> &[&'static str] {
        &self.0.variables
    }
}

/// All of it but the package of time: a role has `now`, and a run is a function of the cluster's state.
fn standard_library(engine: &mut rhai::Engine) {
    CorePackage::new().register_into_engine(engine);
    BitFieldPackage::new().register_into_engine(engine);
    LogicPackage::new().register_into_engine(engine);
    BasicMathPackage::new().register_into_engine(engine);
    BasicArrayPackage::new().register_into_engine(engine);
    BasicBlobPackage::new().register_into_engine(engine);
    BasicMapPackage::new().register_into_engine(engine);
    MoreStringPackage::new().register_into_engine(engine);
    engine.register_global_module(builtin::module());
}

/// Every limit is set here: the engine's own defaults differ between debug and release builds.
fn fence(engine: &mut rhai::Engine, values: Values) {
    engine
        // The interner is a lock that all threads share: without it two threads do twice as much.
        .set_max_strings_interned(0)
        .set_strict_variables(true)
        .set_max_expr_depths(MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_DEPTH)
        .set_max_call_levels(MAX_DEPTH + DEPTH_MARGIN)
        .set_max_variables(MAX_VARIABLES)
        .set_max_functions(usize::MAX)
        .set_max_modules(usize::MAX)
        // Counted by us, see `current`.
        .set_max_operations(0)
        .set_max_string_size(values.text)
        .set_max_array_size(values.elements)
        .set_max_map_size(values.entries)
        .disable_symbol("eval")
        // `print` and `debug` are the host's; the engine's own would write to stdout.
        .on_print(|_| {})
        .on_debug(|_, _, _| {});
}
