//! The engine and the template environment that compile roles.

use crate::script::Engine;

/// The engine and the template environment that compile roles.
#[derive(Clone)]
pub struct Toolchain {
    /// The engine of the scripts.
    pub engine: Engine,
    /// Sets up the environment of the templates: their syntax, filters and functions.
    pub templates: fn(&mut minijinja::Environment<'_>),
}
