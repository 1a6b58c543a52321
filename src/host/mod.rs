//! Host functions: the functions that scripts can call, one file per package.
//!
//! Scripts reach the cluster, files and the clock only through these functions. The doc comments of the
//! exported functions are the manual: `docs/host-functions.md` is generated from them.

#![expect(
    unreachable_pub,
    clippy::unnecessary_box_returns,
    reason = "the plugin macros of rhai export what is `pub`, from their prelude, with boxed errors"
)]

pub(crate) mod arguments;
pub(crate) mod catalogue;
mod compile_cache;
pub(crate) mod crypto;
pub(crate) mod document;
pub(crate) mod encoding;
pub(crate) mod environment;
mod error;
pub(crate) mod fence;
pub(crate) mod files;
pub(crate) mod flow;
mod json_path;
pub(crate) mod k8s;
pub(crate) mod log;
pub(crate) mod path;
mod pattern;
pub(crate) mod quantity;
pub(crate) mod readiness;
mod regular_expression;
pub(crate) mod secret;
pub(crate) mod semantic_version;
pub(crate) mod session;
pub(crate) mod status;
pub mod template;
pub(crate) mod text;
pub(crate) mod time;

use rhai::{Module, Shared};

pub(crate) use self::error::{HostResult, invalid};
pub use self::session::{Ending, Session};
use crate::role::Toolchain;
use crate::script::Engine;

/// The packages, ready to be registered with an engine.
pub fn modules() -> Vec<Shared<Module>> {
    packages()
        .into_iter()
        .map(|(_, module)| Shared::new(module))
        .collect()
}

/// The packages that need no run of a role: pure functions of values.
pub fn pure_modules() -> Vec<Shared<Module>> {
    let packages = [
        path::module(),
        document::module(),
        text::module(),
        encoding::module(),
        semantic_version::module(),
        quantity::module(),
        time::module(),
    ];
    packages.into_iter().map(Shared::new).collect()
}

/// The packages under the titles that the manual gives them, in its order.
fn packages() -> Vec<(&'static str, Module)> {
    vec![
        ("Cluster", k8s::module()),
        ("Flow", flow::module()),
        ("Status and Events", status::module()),
        ("Log", log::module()),
        ("Secrets", secret::module()),
        ("Templates", template::module()),
        ("Files", files::module()),
        ("Nested values", path::module()),
        ("YAML and JSON", document::module()),
        ("Text", text::module()),
        ("Encodings and URLs", encoding::module()),
        ("Digests and passwords", crypto::module()),
        ("Versions", semantic_version::module()),
        ("Quantities", quantity::module()),
        ("Time", time::module()),
        ("Environment", environment::module()),
    ]
}

/// Constants in the scope of every script.
pub const VARIABLES: [&str; 7] = [
    "cr",
    "spec",
    "status",
    "meta",
    "vars",
    "finalizing",
    "reason",
];

/// Returns the toolchain of roles: the engine with all packages, and templates as in Ansible.
pub fn toolchain() -> Toolchain {
    Toolchain {
        engine: Engine::new(modules(), &VARIABLES),
        templates: template::configure,
    }
}
