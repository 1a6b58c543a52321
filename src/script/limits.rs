//! Limits of one run.
//!
//! There are two kinds: limits of a run ([`Limits`]), and limits of a single value ([`Values`]), which the
//! engine checks at every call and which are the same for all runs.

use std::fmt;

/// The maximum depth of calls. 64 nested calls with deep expressions need 12 MB of stack.
pub(super) const MAX_DEPTH: usize = 64;

/// The maximum depth of included programs ([`super::include`]), each of which may use [`MAX_DEPTH`].
pub(super) const MAX_INCLUDES: usize = 8;

/// The maximum number of variables of one function.
pub(super) const MAX_VARIABLES: usize = 1_000;

/// Limits of a single value, for all runs of an engine.
///
/// The engine measures a value whenever a function returns or changes it. The time to build an array
/// element by element therefore grows with the square of its size. These limits end such a loop within
/// seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    /// Bytes of text in one value, nested strings included: ten times the limit of etcd for one object.
    pub(super) text: usize,
    /// Elements of one array, including the arrays in it, or bytes of a blob.
    pub(super) elements: usize,
    /// Entries of one map, including the maps in it: about 40 MB, or a thousand large Pods.
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

/// Limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations of the engine: expressions, statements and calls. The default takes some seconds. A
    /// typical role needs thousands.
    pub operations: u64,
    /// Bytes that the run's thread may have allocated at a time, including allocations in native calls.
    pub memory: usize,
    /// Depth of calls; at most 64.
    pub depth: usize,
    /// Calls of host functions that wait for the cluster.
    pub host_calls: u64,
    /// Objects that the run applies or creates, each as often as the run applies it.
    pub objects: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: 100_000_000,
            memory: 128 << 20,
            depth: MAX_DEPTH,
            host_calls: 10_000,
            objects: 10_000,
        }
    }
}

/// A limit that a run exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::operations`].
    Operations,
    /// [`Limits::memory`], or the size of a value: 16 MiB of text, 100,000 elements of arrays, 400,000
    /// entries of maps.
    Memory,
    /// The depth of nested arrays and maps: 1,000 for all runs.
    Nesting,
    /// [`Limits::depth`], or the depth of included programs.
    Depth,
    /// [`Limits::host_calls`].
    HostCalls,
    /// [`Limits::objects`].
    Objects,
}

impl Limit {
    /// Returns the name of the limit in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Memory => "memory",
            Self::Nesting => "nesting",
            Self::Depth => "depth",
            Self::HostCalls => "host_calls",
            Self::Objects => "objects",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
