//! Layers between us and the server: measure, fence, plan.

mod fence;
mod measure;

pub use fence::Fence;
pub use measure::{Measure, Observer};
