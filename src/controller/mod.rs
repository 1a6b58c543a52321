//! When to run: queue, triggers, periods, backoff.

mod child_change;
mod loop_detector;
mod period;
pub mod queue;
mod seen;

pub use loop_detector::Limits as LoopLimits;
pub use queue::Queue;
