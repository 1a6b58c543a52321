//! Cooperative interruption of long computations.
//!
//! The owner of a thread installs a check. Code that computes for a long time, such as a parser, calls
//! [`pass`] or [`tick`] between two steps of its work, and returns [`Interrupted`] if the check fails. On
//! a thread without a check, both always succeed.
//!
//! A step may take at most some tens of milliseconds. Code that cannot be split into such steps limits
//! the size of its input instead.

use std::cell::Cell;

/// The number of calls of [`tick`] per call of the check. A step of a parser takes about 100 ns, and so
/// does a check.
const STRIDE: u32 = 256;

thread_local! {
    static CHECK: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// The error of a computation that must end. The installer of the check knows the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted: the run is over")]
pub struct Interrupted;

/// A guard that removes a check from the thread when it is dropped.
#[derive(Debug)]
#[must_use = "a check is removed when it is dropped"]
pub struct Installed {
    before: Option<fn() -> bool>,
}

/// Installs a check for this thread. The check returns whether the work may continue.
pub fn install(check: fn() -> bool) -> Installed {
    Installed {
        before: CHECK.replace(Some(check)),
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CHECK.set(self.before);
    }
}

/// Calls the check of this thread. Fails if the work must end.
pub fn pass() -> Result<(), Interrupted> {
    match CHECK.get() {
        Some(check) if !check() => Err(Interrupted),
        _ => Ok(()),
    }
}

/// Calls the check once per 256 calls. For inner loops.
pub fn tick() -> Result<(), Interrupted> {
    let ticks = TICKS.get().wrapping_add(1);
    TICKS.set(ticks);
    if ticks.is_multiple_of(STRIDE) {
        pass()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_until_it_is_dropped() {
        assert_eq!(pass(), Ok(()));
        {
            let _outer = install(|| true);
            {
                let _inner = install(|| false);
                assert_eq!(pass(), Err(Interrupted));
            }
            assert_eq!(pass(), Ok(()));
        }
        assert_eq!(pass(), Ok(()));
    }

    #[test]
    fn ticks_look_now_and_then() {
        let _installed = install(|| false);
        let looks = (0..10 * STRIDE).filter(|_| tick().is_err()).count();
        assert_eq!(looks, 10);
    }
}
