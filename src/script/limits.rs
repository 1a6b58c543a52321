//! Limits of one run.
//!
//! Two kinds of bounds: those of a run, in [`Limits`], and those of a single value, which the engine
//! checks at every call and are the same for all runs.

use std::fmt;

/// Calls within calls that the engine allows at all: 64 of them with deep expressions need 12 of the
/// 16 MB of stack that a worker has.
pub(super) const MAX_DEPTH: usize = 64;

/// Programs within programs ([`super::include`]), each of which may use [`MAX_DEPTH`].
pub(super) const MAX_INCLUDES: usize = 8;

/// Variables of one function.
pub(super) const MAX_VARIABLES: usize = 1_000;

/// Bounds of a single value, for all runs of an engine. The engine measures a value whenever a function
/// answers with it or changes it, so an array that grows one by one takes time by the square of its size:
/// these bounds end that within seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    /// Bytes of text in one value, nested strings included: ten times what etcd takes for one object.
    pub(super) text: usize,
    /// Elements of one array and of the arrays in it, bytes of a blob.
    pub(super) elements: usize,
    /// Entries of one map and of the maps in it: at some 100 bytes each, 40 MB, a thousand large Pods.
    pub(super) entries: usize,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            text: 16 << 20,
            elements: 100_000,
            entries: 400_000,
        }
    }
}

/// Bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations of the engine (an expression evaluated, a statement run, a function called). The
    /// default takes some seconds; a role needs thousands.
    pub operations: u64,
    /// Bytes that the run may hold at a time: all that its thread allocates, in native calls too.
    pub memory: usize,
    /// Calls within calls; at most 64.
    pub depth: usize,
    /// Calls of host functions that wait for something outside.
    pub host_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: 100_000_000,
            memory: 128 << 20,
            depth: MAX_DEPTH,
            host_calls: 10_000,
        }
    }
}

/// A bound that a run reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::operations`].
    Operations,
    /// [`Limits::memory`], or the largest value: 16 MiB of text, 100,000 elements of arrays, 400,000
    /// entries of maps.
    Memory,
    /// Levels of arrays and maps within one another; 1,000 for all runs.
    Nesting,
    /// [`Limits::depth`], or programs that include one another.
    Depth,
    /// [`Limits::host_calls`].
    HostCalls,
}

impl Limit {
    /// A word for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Memory => "memory",
            Self::Nesting => "nesting",
            Self::Depth => "depth",
            Self::HostCalls => "host_calls",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
