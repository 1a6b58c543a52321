//! Stack space for the parser and the writer, which recurse for each level of a value.

/// The stack that a text with the maximum nesting needs, with a reserve.
pub(crate) const NEEDED: usize = if cfg!(debug_assertions) {
    16 << 20
} else {
    2 << 20
};

/// The size of an additional stack. The system provides memory for the pages that are used.
const SIZE: usize = 32 << 20;

/// Calls a function with enough stack for a value with the maximum nesting.
pub(crate) fn with_room<T>(act: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(NEEDED, SIZE, act)
}
