//! The resources that the server serves: versions, verbs and strategies.
//!
//! Built-in resources are data from the discovery of a real server (`recipe.py`). Custom resources exist as
//! long as their definitions.

mod builtin;
mod catalogue;
mod custom;
mod entry;
mod names;
mod strategy;
mod version;

pub use builtin::{BuiltinResource, builtin_resources};
pub(crate) use catalogue::Catalogue;
pub(crate) use entry::Resource;
pub(crate) use names::{api_version, split_api_version};
pub(crate) use strategy::Generation;
pub(crate) use version::{CompiledVersion, GroupVersion, Version};
