//! Layers around requests: measure, fence, plan.

mod attributes;
mod fence;
mod measure;
mod plan;

#[cfg(feature = "scenario-tests")]
pub(crate) use attributes::parse as parse_attributes;
pub use fence::Fence;
pub(super) use fence::FenceLayer;
pub use measure::{MeasureLayer, RequestObserver};
pub use plan::PlanLayer;
