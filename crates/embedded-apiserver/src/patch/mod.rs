//! The three patches beside server-side apply: each takes the live object and gives the patched one.
//!
//! <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/>

mod json;
mod merge;
mod order;
mod strategic;

pub(crate) use json::{json, unknown_fields};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;

#[cfg(test)]
mod tests;
