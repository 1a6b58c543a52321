//! Built-in kinds: defaults, validation, and the preparation of their strategies on create and update.
//!
//! The module consists of pure functions on objects. Callers set names, uids and times before, and store,
//! allocate and respond afterwards.

mod canonical;
mod defaults;
pub(crate) mod metadata;
pub(crate) mod path;
mod prepare;
pub(crate) mod quantity;
pub(crate) mod quota;
pub(crate) mod schedule;
pub(crate) mod service;
pub(crate) mod validate;
mod warnings;

#[cfg(test)]
mod tests;

pub(crate) use canonical::canonical;
pub(crate) use defaults::defaults;
pub(crate) use prepare::{prepare_for_create, prepare_for_update};
pub(crate) use validate::validate;
pub(crate) use warnings::warnings;
