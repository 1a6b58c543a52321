//! Generates the files of a project: definitions from the inputs of its roles, and the files of a new project.
//!
//! The functions return values and texts. The commands in `cli` read and write the files.
//!
//! Reading order: `crd/mod.rs`, `crd/schema.rs`, `crd/compatibility.rs`, `scaffold/mod.rs`.

pub(crate) mod crd;
pub(crate) mod scaffold;
