//! The three patches beside server-side apply: each takes the live object and gives the patched one.
//!
//! <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/>

mod json;
mod merge;
mod order;
mod strategic;

pub use json::{json, unknown_fields};
pub use merge::merge;
pub use strategic::strategic;

#[cfg(test)]
mod tests;
