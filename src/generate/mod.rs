//! Generates the files of a project: definitions from the inputs of its roles, RBAC rules from their code, manifests
//! from both, packages for Helm and OLM, and the files of a new project.
//!
//! The functions return values and texts. The commands in `cli` read and write the files.
//!
//! Reading order: `crd/mod.rs`, `crd/schema.rs`, `crd/compatibility.rs`, `scaffold/mod.rs`, `rbac/mod.rs`,
//! `manifests/mod.rs`, `chart/mod.rs`, `bundle/mod.rs`.

pub(crate) mod bundle;
pub(crate) mod chart;
pub(crate) mod crd;
pub(crate) mod manifests;
mod project_file;
pub(crate) mod rbac;
pub(crate) mod scaffold;
mod settings;

pub(crate) use project_file::ProjectFile;
pub(crate) use settings::Settings;
