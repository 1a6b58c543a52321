//! Layers between us and the server: measure, fence, plan.

mod attributes;
mod fence;
mod measure;
mod plan;

pub use fence::Fence;
pub(super) use fence::FenceLayer;
pub use measure::{Measure, Observer};
pub use plan::Plan;
