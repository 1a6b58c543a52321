//! What one run may use up.

/// Bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations of the engine.
    pub operations: u64,
    /// Bytes that the values of the run may hold, by estimate.
    pub memory: usize,
    /// Calls of host functions that go outside.
    pub host_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: 100_000_000,
            memory: 64 << 20,
            host_calls: 10_000,
        }
    }
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::operations`].
    Operations,
    /// [`Limits::memory`], or the largest string, array or map.
    Memory,
    /// Calls within calls.
    Depth,
    /// [`Limits::host_calls`].
    HostCalls,
}
