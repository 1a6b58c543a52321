//! Tests of counting, with the system's allocator. Each test runs on its own thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::{ptr, thread};

use super::{Measurement, Metered, live, peak, uncounted};

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered::new(System);

fn block(bytes: usize) -> Vec<u8> {
    Vec::with_capacity(bytes)
}

#[test]
fn a_block_counts_until_it_is_freed() {
    let measurement = Measurement::start();
    let first = block(1_000);
    let second = block(500);
    assert_eq!(measurement.live(), 1_500);
    drop(first);
    assert_eq!((measurement.live(), measurement.peak()), (500, 1_500));
    drop(second);
    assert_eq!((measurement.live(), measurement.peak()), (0, 1_500));
}

#[test]
fn a_zeroed_block_counts() {
    let measurement = Measurement::start();
    let zeroed = vec![0_u8; 4_096];
    assert_eq!(measurement.live(), 4_096);
    drop(zeroed);
    assert_eq!(measurement.live(), 0);
}

#[test]
fn a_block_that_grows_or_shrinks_counts_with_its_new_size() {
    let measurement = Measurement::start();
    let mut bytes = block(100);
    bytes.push(1);
    bytes.reserve_exact(9_999);
    assert_eq!(measurement.live(), 10_000);
    bytes.shrink_to(10);
    assert_eq!((measurement.live(), measurement.peak()), (10, 10_000));
    drop(bytes);
    assert_eq!(measurement.live(), 0);
}

#[test]
fn a_large_block_costs_no_time_to_count() {
    let measurement = Measurement::start();
    // The test uses only address space, because it does not access the pages.
    drop(block(1 << 34));
    assert_eq!((measurement.live(), measurement.peak()), (0, 1 << 34));
}

#[test]
fn threads_do_not_see_each_other() {
    let measurement = Measurement::start();
    let (start, started) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        started.recv().expect("the test goes on");
        let measurement = Measurement::start();
        drop(block(1 << 20));
        measurement.peak()
    });
    let bytes = block(2_000);
    start.send(()).expect("the thread waits");
    assert_eq!(other.join().expect("no panic"), 1 << 20);
    // Starting and joining a thread allocates on this thread. The block of the other thread is not counted
    // here.
    assert!(measurement.peak() < 1 << 17, "{}", measurement.peak());
    drop(bytes);
}

#[test]
fn a_block_freed_elsewhere_stays_counted_and_lowers_the_count_there() {
    let (send, receive) = mpsc::channel::<Vec<u8>>();
    let other = thread::spawn(move || {
        let bytes = receive.recv().expect("a block");
        let measurement = Measurement::start();
        let before = live();
        drop(bytes);
        (before - live(), measurement.live())
    });
    let bytes = block(3_000);
    let before = live();
    send.send(bytes).expect("the thread waits");
    assert_eq!(other.join().expect("no panic"), (3_000, 0));
    assert!(live() > before - 3_000);
}

#[test]
fn uncounted_code_changes_neither_count_nor_peak() {
    let measurement = Measurement::start();
    let foreign = uncounted(|| block(5_000));
    assert_eq!((measurement.live(), measurement.peak()), (0, 0));
    let own = foreign.clone();
    let with_own = measurement.live();
    uncounted(move || drop(foreign));
    assert_eq!(measurement.live(), with_own);
    drop(own);
    assert_eq!(measurement.live(), 0);
}

#[test]
fn uncounted_code_that_panics_is_not_counted_either() {
    let before = live();
    let panicked = uncounted(|| {
        catch_unwind(AssertUnwindSafe(|| {
            uncounted(|| {
                std::mem::forget(block(7_000));
                std::panic::resume_unwind(Box::new(()));
            });
        }))
    });
    assert!(panicked.is_err());
    // `panicked` owns the allocations of the panic itself.
    uncounted(move || drop(panicked));
    assert_eq!(live(), before);
}

#[test]
fn an_inner_measurement_keeps_the_peak_of_the_outer_one() {
    let outer = Measurement::start();
    drop(block(9_000));
    {
        let inner = Measurement::start();
        drop(block(100));
        assert_eq!(inner.peak(), 100);
    }
    assert_eq!(outer.peak(), 9_000);
    {
        let _inner = Measurement::start();
        drop(block(10_000));
    }
    assert_eq!(outer.peak(), 10_000);
    assert!(peak() >= 10_000);
}

#[test]
fn a_count_below_the_start_reads_as_zero() {
    let bytes = block(100);
    let measurement = Measurement::start();
    drop(bytes);
    assert_eq!((measurement.live(), measurement.peak()), (0, 0));
    let again = block(40);
    assert_eq!(measurement.live(), 0);
    drop(again);
}

/// An allocator whose allocations always fail.
struct Exhausted;

// SAFETY: it returns only null, which every caller must handle.
unsafe impl GlobalAlloc for Exhausted {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[test]
fn refused_allocations_are_not_counted() {
    let exhausted = Metered::new(Exhausted);
    let layout = Layout::new::<u64>();
    let before = live();
    // SAFETY: the layout is not empty.
    assert!(unsafe { exhausted.alloc(layout) }.is_null());
    // SAFETY: the layout is not empty.
    assert!(unsafe { exhausted.alloc_zeroed(layout) }.is_null());
    // SAFETY: the layout is not empty.
    let block = unsafe { System.alloc(layout) };
    // SAFETY: the new size is not zero, and `Exhausted` does not access the block.
    assert!(unsafe { exhausted.realloc(block, layout, 1_000) }.is_null());
    assert_eq!(live(), before);
    // SAFETY: the block came from `System` with this layout.
    unsafe { System.dealloc(block, layout) };
}
