//! Built-in kinds: defaults, checks, and what their strategies do on create and update.
//!
//! Pure functions on objects. Names, uids and times are in the object before they are called; what
//! is stored, allocated or answered is their callers' business.

mod canonical;
mod defaults;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod path;
mod prepare;
pub(crate) mod quantity;
pub(crate) mod schedule;
pub(crate) mod service;
mod validate;
mod warnings;

#[cfg(test)]
mod tests;

pub(crate) use canonical::canonical;
pub(crate) use defaults::defaults;
pub(crate) use prepare::{prepare_for_create, prepare_for_update};
pub(crate) use validate::validate;
pub(crate) use warnings::warnings;
