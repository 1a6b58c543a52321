//! Sets up the engine: its standard library, its limits and its hooks.

use rhai::packages::{
    BasicArrayPackage, BasicBlobPackage, BasicMapPackage, BasicMathPackage, BitFieldPackage,
    CorePackage, LogicPackage, MoreStringPackage, Package,
};
use rhai::{Module, Shared};

use super::engine::Engine;
use super::limits::{MAX_DEPTH, MAX_VARIABLES, Values};
use super::modules::Modules;
use super::{builtin, syntax, thread_context};

/// The maximum depth of nested expressions.
const MAX_EXPRESSION_DEPTH: usize = 128;

/// The distance from [`MAX_DEPTH`] to the engine's own limit, whose error lacks the call chain.
const DEPTH_MARGIN: usize = 6;

impl Engine {
    /// Creates an engine with the functions of `modules`, for programs that see `variables`. A function of
    /// `modules` replaces a function of the standard library with the same name and types.
    pub fn new(modules: Vec<Shared<Module>>, variables: &[&'static str]) -> Self {
        Self::with(modules, variables, Values::default())
    }

    /// Creates an engine with other limits of values.
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
        Self::from_parts(engine, values, variables)
    }
}

/// Registers the standard library without its time package. Roles use `now`, whose time tests can set.
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

/// Sets every limit, because the engine's defaults differ between debug and release builds.
fn fence(engine: &mut rhai::Engine, values: Values) {
    engine
        // The interner is a lock that all threads share. Without it, two threads are twice as fast as one.
        .set_max_strings_interned(0)
        .set_strict_variables(true)
        .set_max_expr_depths(MAX_EXPRESSION_DEPTH, MAX_EXPRESSION_DEPTH)
        .set_max_call_levels(MAX_DEPTH + DEPTH_MARGIN)
        .set_max_variables(MAX_VARIABLES)
        .set_max_functions(usize::MAX)
        .set_max_modules(usize::MAX)
        // `thread_context` counts operations.
        .set_max_operations(0)
        .set_max_string_size(values.text)
        .set_max_array_size(values.elements)
        .set_max_map_size(values.entries)
        .disable_symbol("eval")
        // The host defines `print` and `debug`. The engine's own write to stdout.
        .on_print(|_| {})
        .on_debug(|_, _, _| {});
}
