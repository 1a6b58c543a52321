//! A compiled script with all modules that it reaches.

/// What [`super::Engine::compile`] makes; run by a [`super::Job`].
#[derive(Debug)]
pub struct Program {}
