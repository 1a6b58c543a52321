//! Finds the roles that a pipeline calls.

use std::sync::Arc;

use super::step::{Action, Step};
use super::tree::SourceLocation;

/// A step's call of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCall {
    /// The name of the role.
    pub name: Arc<str>,
    /// The location of the name.
    pub location: SourceLocation,
}

/// Returns the calls of roles with a constant name, including those of steps within steps.
pub fn role_calls(steps: &[Step]) -> Vec<RoleCall> {
    let mut calls = Vec::new();
    for step in steps {
        if let Action::Role(role) = &step.action
            && let Some(name) = role.name.constant()
        {
            calls.push(RoleCall {
                name: name.into(),
                location: role.location.clone(),
            });
        }
        calls.extend(step.lists().flat_map(role_calls));
    }
    calls
}
