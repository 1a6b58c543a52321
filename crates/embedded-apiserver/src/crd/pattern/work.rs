//! Limits the work of searches.
//!
//! A unit of work is one position of a pattern at one byte of a text. It takes 10 ns at worst in an optimized
//! build.

use std::cell::Cell;

/// The maximum work of one search: about a second at worst.
const MAX_SEARCH: u64 = 100_000_000;
/// The maximum work of all searches in one budget: about five seconds at worst. A rule with the maximum cost
/// of the real server fits, because a search costs a fortieth of its work there.
const MAX_TOTAL: u64 = 500_000_000;

thread_local! {
    /// The remaining work. Absent outside of a budget.
    static REMAINING: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Limits the work of all searches on this thread until it is dropped, for example those of one object. A
/// budget within another one does not add to it.
#[derive(Debug)]
#[must_use = "the budget ends when it is dropped"]
pub struct SearchBudget(Option<u64>);

impl SearchBudget {
    /// Begins a budget.
    pub fn begin() -> Self {
        let outer = REMAINING.get();
        REMAINING.set(Some(outer.unwrap_or(MAX_TOTAL)));
        Self(outer)
    }
}

impl Drop for SearchBudget {
    fn drop(&mut self) {
        REMAINING.set(self.0.and_then(|_| REMAINING.get()));
    }
}

/// Spends the work of one search.
pub(super) fn spend_search(work: u64, bytes: usize) -> Result<(), String> {
    if work > MAX_SEARCH {
        let size = match bytes {
            0..10_240 => format!("{bytes} bytes"),
            _ => format!("{} KiB", bytes >> 10),
        };
        return Err(format!(
            "a search of {size} for this pattern could take too long"
        ));
    }
    spend(work)
}

/// Spends work.
pub(super) fn spend(work: u64) -> Result<(), String> {
    let Some(remaining) = REMAINING.get() else {
        return Ok(());
    };
    let Some(rest) = remaining.checked_sub(work) else {
        REMAINING.set(Some(0));
        return Err("all searches for patterns together could take too long".to_owned());
    };
    REMAINING.set(Some(rest));
    Ok(())
}
