//! A large stack for what descends deep data by recursion: a thread of tokio's has 2 MiB.

use std::thread;

/// The size of the stack, of which only what is used takes memory.
const SIZE: usize = 64 << 20;

/// Does something on a thread of its own, and waits for it. The result is none where it panics, or where
/// the system has no thread left.
pub(crate) fn on_large<T: Send>(act: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(SIZE);
        thread.spawn_scoped(scope, act).ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_recursion_ends_and_a_panic_is_contained() {
        fn descend(levels: usize) -> usize {
            let frame = std::hint::black_box([0_u8; 1024]);
            if levels == 0 {
                return usize::from(frame[0]);
            }
            1 + descend(levels - 1)
        }
        // More than 16 MiB: too much for a thread of tokio's, and of a test.
        assert_eq!(on_large(|| descend(16 << 10)), Some(16 << 10));
        assert_eq!(on_large(|| -> () { panic!("a test's") }), None);
    }
}
