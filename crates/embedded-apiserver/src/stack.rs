//! Stack space for code that descends nested values by recursion.
//!
//! A tokio worker has a stack of 2 MiB. An object with the maximum nesting needs less in an optimized
//! build, and more in a build without optimization. [`with_room`] then allocates another stack.

/// The stack that a request for the most deeply nested object needs, with a reserve.
const NEEDED: usize = if cfg!(debug_assertions) {
    16 << 20
} else {
    1 << 20
};

/// The size of an additional stack. The system provides memory for the pages that are used.
const SIZE: usize = 64 << 20;

/// Calls a function with enough stack for values with the maximum nesting.
pub(crate) fn with_room<T>(act: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(NEEDED, SIZE, act)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursion_that_exceeds_the_stack_of_the_thread_ends() {
        fn descend(levels: usize) -> usize {
            let frame = std::hint::black_box([0_u8; 1024]);
            if levels == 0 {
                return usize::from(frame[0]);
            }
            1 + descend(levels - 1)
        }
        // 8192 levels need more than 8 MiB, which exceeds the stack of a tokio worker and of a test thread.
        assert_eq!(with_room(|| descend(8 << 10)), 8 << 10);
    }
}
