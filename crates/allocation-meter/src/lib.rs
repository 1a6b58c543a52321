//! A global allocator that counts the bytes that each thread holds.
//!
//! [`Metered`] wraps another allocator. [`Measurement`] reads the count relative to its start.
//!
//! # Guarantees
//! - Counting never fails, never allocates, and never unwinds: an allocation succeeds exactly if that of
//!   the wrapped allocator does.
//! - Only the thread's own allocations change its count.
//!
//! # Caveats
//! - Memory that another thread frees stays in this thread's count, and is subtracted from the count of the
//!   other thread, which can become negative. See [`uncounted`].
//! - Without [`Metered`] as the global allocator every count is 0.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::marker::PhantomData;

struct Counters {
    live: Cell<isize>,
    peak: Cell<isize>,
}

thread_local! {
    // Initialized at compile time and without a destructor: using it never allocates, and it outlives
    // every other thread-local.
    static COUNTERS: Counters = const {
        Counters {
            live: Cell::new(0),
            peak: Cell::new(0),
        }
    };
}

/// Adds to the count of this thread. The cast is lossless, because a layout has at most `isize::MAX` bytes.
fn add(bytes: usize) {
    COUNTERS.with(|counters| {
        let live = counters.live.get().wrapping_add_unsigned(bytes);
        counters.live.set(live);
        if live > counters.peak.get() {
            counters.peak.set(live);
        }
    });
}

/// Subtracts from the count of this thread.
fn subtract(bytes: usize) {
    COUNTERS.with(|counters| {
        let live = counters.live.get().wrapping_sub_unsigned(bytes);
        counters.live.set(live);
    });
}

/// An allocator that counts the allocations of the allocator `A`.
#[derive(Debug, Default)]
pub struct Metered<A>(A);

impl<A> Metered<A> {
    /// Wraps an allocator.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }
}

// SAFETY: each method passes its arguments to the wrapped allocator and returns its result, both unchanged.
// Counting does not allocate and does not unwind.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Metered<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller satisfies the contract of `alloc`.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            add(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller satisfies the contract of `alloc_zeroed`.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            add(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: the caller satisfies the contract of `dealloc`, and the block came from the wrapped
        // allocator.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller satisfies the contract of `realloc`, and the block came from the wrapped
        // allocator.
        let moved = unsafe { self.0.realloc(block, layout, size) };
        if !moved.is_null() {
            if size >= layout.size() {
                add(size - layout.size());
            } else {
                subtract(layout.size() - size);
            }
        }
        moved
    }
}

/// Returns the bytes that this thread has allocated and not freed, since the thread began.
pub fn live() -> isize {
    COUNTERS.with(|counters| counters.live.get())
}

/// Returns the largest [`live`] since the thread, or its innermost [`Measurement`], began.
pub fn peak() -> isize {
    COUNTERS.with(|counters| counters.peak.get())
}

/// Runs `body` without changing the count of this thread, even if it unwinds.
///
/// Use it for code that receives or drops blocks of other threads.
pub fn uncounted<T>(body: impl FnOnce() -> T) -> T {
    struct Restore {
        live: isize,
        peak: isize,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            COUNTERS.with(|counters| {
                counters.live.set(self.live);
                counters.peak.set(self.peak);
            });
        }
    }
    let _restore = Restore {
        live: live(),
        peak: peak(),
    };
    body()
}

/// A measurement of the current thread, from its start until it is dropped.
///
/// Measurements nest: an inner one must be dropped before the outer one.
#[derive(Debug)]
#[must_use = "a measurement ends when it is dropped"]
pub struct Measurement {
    start: isize,
    /// The peak of the outer measurement.
    outer_peak: isize,
    /// Makes the type neither `Send` nor `Sync`, because a measurement belongs to one thread.
    thread: PhantomData<*const ()>,
}

impl Measurement {
    /// Starts a measurement of this thread.
    pub fn start() -> Self {
        COUNTERS.with(|counters| {
            let start = counters.live.get();
            Self {
                start,
                outer_peak: counters.peak.replace(start),
                thread: PhantomData,
            }
        })
    }

    /// Returns the number of bytes that the thread holds beyond those at the start, or 0 if it freed more
    /// than it allocated.
    pub fn live(&self) -> usize {
        self.relative(live())
    }

    /// Returns the largest [`Self::live`] so far.
    pub fn peak(&self) -> usize {
        self.relative(peak())
    }

    fn relative(&self, count: isize) -> usize {
        usize::try_from(count.wrapping_sub(self.start)).unwrap_or(0)
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        COUNTERS.with(|counters| {
            counters.peak.set(counters.peak.get().max(self.outer_peak));
        });
    }
}

#[cfg(test)]
mod tests;

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
