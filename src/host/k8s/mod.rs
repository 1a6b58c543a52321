//! Host functions that apply, read and write objects, and that discover the kinds of the cluster.
//!
//! A read is answered from a cache if one covers the object, also if the object does not exist. Each read
//! is a subscription: when its result changes, the custom resource is reconciled again.

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
