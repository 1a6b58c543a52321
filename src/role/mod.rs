//! Loads roles: compiles a folder of scripts, templates, files and variables to a [`Role`].
//!
//! A role is loaded whole into memory: a run reads no file. Loading reports all errors that it can find
//! without running the role, each with its position. All files are inside the role's folder; a symbolic link
//! that points outside is an error.

mod compiled_role;
mod entries;
mod fields;
mod file_watch;
mod input;
mod input_parser;
mod inputs;
mod load;
mod meta;
mod permissions;
mod project;
mod roles;
mod snake_case;
pub(crate) mod template_names;
pub(crate) mod template_rewrite;
mod template_size;
mod template_structure;
mod toolchain;
mod variables;

pub use compiled_role::{Entry, Role};
pub use fields::unknown_fields;
pub use file_watch::FileWatch;
pub use input::{FORMATS, Input, Kind, Pattern, Size};
pub use inputs::{Violation, violations};
pub use load::{LoadedRole, load};
pub(crate) use meta::api_rule;
pub use meta::parse_inputs;
pub use permissions::{ApiRule, Permissions};
pub use project::{NoSuchRole, Project, role_names};
pub use roles::Roles;
pub use snake_case::{snake_case, snake_case_keys};
pub use toolchain::Toolchain;
pub use variables::variables;

#[cfg(test)]
mod tests;
