//! When nothing is sent: what is remembered of an apply, and what it is compared with.

/// What is remembered of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memo {
    /// Hash of what was applied, for whom and how.
    pub(super) desired: u128,
    /// Hash of what our manager owns and of the values there.
    pub(super) owned: u64,
    /// The version at which `owned` was last computed.
    pub(super) resource_version: Box<str>,
}
