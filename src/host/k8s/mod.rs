//! The cluster: applying, reading, writing, and what it serves.
//!
//! Reads come from caches wherever the answer is known, absence included, and are subscriptions:
//! when the answer changes, the custom resource is reconciled again.

mod apply;
mod discovery;
mod json_patch;
mod read;
mod write;

use rhai::Module;

pub(crate) use self::apply::apply;
pub(super) use self::apply::{create, former};
pub(super) use self::read::read;
pub(crate) use self::write::{delete, propagation};

/// The package.
pub(super) fn module() -> Module {
    let mut module = Module::new();
    for part in [
        apply::module(),
        discovery::module(),
        read::module(),
        write::module(),
    ] {
        module.combine(part);
    }
    module
}
