//! Checkpoints: where long native work learns that it must end.
//!
//! A thread that has a run installs a check. Everything below, parsers included, passes checkpoints
//! between two steps of its work, and gives up with [`Interrupted`] where the check fails. Without a
//! check every checkpoint is passed.
//!
//! A step takes at most some tens of milliseconds: what cannot be split bounds its input instead.

use std::cell::Cell;

/// Passes of [`tick`] for one look: a step of a parser takes some 100 ns, a look as long.
const STRIDE: u32 = 256;

thread_local! {
    static CHECK: Cell<Option<fn() -> bool>> = const { Cell::new(None) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// The work must end. Whoever installed the check knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted: the run is over")]
pub struct Interrupted;

/// A check of this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "a check is removed when it is dropped"]
pub struct Installed {
    before: Option<fn() -> bool>,
}

/// Installs a check for this thread: it returns whether the work may go on.
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

/// Passes a checkpoint; fails where the work of this thread must end.
pub fn pass() -> Result<(), Interrupted> {
    match CHECK.get() {
        Some(check) if !check() => Err(Interrupted),
        _ => Ok(()),
    }
}

/// Passes a checkpoint of an inner loop: looks now and then only.
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
