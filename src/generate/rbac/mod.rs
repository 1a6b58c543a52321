//! Derives the RBAC rules of an operator: the least permissions that the runtime and the roles need.
//!
//! [`reading`] finds the calls of the API in the code of roles, `collection` translates them to
//! permissions, `rules` groups these, and `document` writes them.

mod api_use;
mod collection;
mod comparison;
mod document;
mod fence;
mod kind_table;
mod manifest_text;
mod objects;
mod reading;
mod requirements;
mod rules;

pub(crate) use comparison::{Manifests, Paths, compare};
pub(crate) use document::{chart_document, document};
pub(crate) use kind_table::KindTable;
pub(crate) use requirements::Requirements;
pub(crate) use rules::policy_rules;

#[cfg(test)]
mod tests;
