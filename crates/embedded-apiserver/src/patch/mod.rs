//! The three patch types other than server-side apply. Each applies a patch to the live object and returns
//! the result.
//!
//! <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/>

mod json;
mod merge;
mod order;
mod strategic;

pub(crate) use json::{json, json_of_policy, unknown_fields};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;

#[cfg(test)]
mod tests;
