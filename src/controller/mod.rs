//! When to run: queue, triggers, periods, backoff.

pub mod queue;

pub use queue::Queue;
