//! The Rhai engine that all programs share.

use std::sync::Arc;

use super::limits::Values;
use super::names::FunctionNames;

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
    /// Shares an engine that is set up.
    pub(super) fn from_parts(
        engine: rhai::Engine,
        values: Values,
        variables: &[&'static str],
    ) -> Self {
        let names = FunctionNames::from_engine(&engine);
        Self(Arc::new(Inner {
            rhai: engine,
            names,
            values,
            variables: variables.to_vec(),
        }))
    }

    /// Returns the Rhai engine, for the catalogue of functions.
    pub fn rhai(&self) -> &rhai::Engine {
        &self.0.rhai
    }

    pub(super) fn names(&self) -> &FunctionNames {
        &self.0.names
    }

    pub(super) fn values(&self) -> Values {
        self.0.values
    }

    /// Returns the variables that every program sees.
    pub fn variables(&self) -> &[&'static str] {
        &self.0.variables
    }
}
