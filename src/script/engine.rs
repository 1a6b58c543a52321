//! The engine that all programs share: what it can do, how it is fenced.

use std::sync::Arc;

use rhai::{Module, Shared};

use super::program::Program;
use super::sources::Sources;
use crate::model::Problem;

/// The Rhai engine with the host's functions; cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Engine(Arc<rhai::Engine>);

impl Engine {
    /// An engine with the functions of `modules`, for programs that see `variables`.
    pub fn new(modules: Vec<Shared<Module>>, _variables: &[&'static str]) -> Self {
        let mut engine = rhai::Engine::new();
        for module in modules {
            engine.register_global_module(module);
        }
        Self(Arc::new(engine))
    }

    /// Compiles `entry` (a path within `sources`) and every module that it reaches; on failure says all
    /// that is wrong: syntax errors, undefined variables, unknown functions, unresolved imports.
    pub fn compile(&self, _sources: &Sources, _entry: &str) -> Result<Program, Vec<Problem>> {
        Ok(Program {})
    }

    /// The engine itself, for the catalogue of functions.
    pub fn rhai(&self) -> &rhai::Engine {
        &self.0
    }
}
