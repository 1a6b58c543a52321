//! Readiness: a latch per part of the process, each with a word on why it is not ready.
//!
//! A part registers itself and holds a [`Part`]; dropping it takes the part out. The process is ready
//! when no part blocks. A part may be *noted*: named with its reason, without blocking (a CRD that is
//! not installed).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The state of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartState {
    /// It works.
    Ready,
    /// It does not work, for a reason that is no reason to take the process out of service.
    Noted(String),
    /// It does not work, so the process is not ready.
    NotReady(String),
}

/// The latches of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<PartStates>>);

#[derive(Debug, Default)]
struct PartStates {
    /// The states by name, and by a number that distinguishes parts with the same name.
    states: BTreeMap<(Arc<str>, u64), PartState>,
    added: u64,
}

/// The latch of one part; dropping it takes the part out.
#[derive(Debug)]
pub struct Part {
    key: (Arc<str>, u64),
    readiness: Readiness,
}

impl Readiness {
    /// Adds a part. Parts of one name do not affect each other.
    pub fn part(&self, name: &str, state: PartState) -> Part {
        let mut parts = self.0.lock();
        parts.added += 1;
        let key = (name.into(), parts.added);
        parts.states.insert(key.clone(), state);
        Part {
            key,
            readiness: self.clone(),
        }
    }

    /// Returns whether no part blocks.
    pub fn is_ready(&self) -> bool {
        !self
            .0
            .lock()
            .states
            .values()
            .any(|state| matches!(state, PartState::NotReady(_)))
    }

    /// Every part and its state, in the order of their names.
    pub fn parts(&self) -> Vec<(Arc<str>, PartState)> {
        let parts = self.0.lock();
        parts
            .states
            .iter()
            .map(|((name, _), state)| (Arc::clone(name), state.clone()))
            .collect()
    }
}

impl Part {
    /// Says how the part is.
    pub fn set(&self, state: PartState) {
        let mut parts = self.readiness.0.lock();
        parts.states.insert(self.key.clone(), state);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.readiness.0.lock().states.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starting() -> PartState {
        PartState::NotReady("starting".to_owned())
    }

    #[test]
    fn a_part_blocks_until_it_says_that_it_is_ready() {
        let readiness = Readiness::default();
        assert!(readiness.is_ready(), "nothing to wait for");
        let part = readiness.part("watch", starting());
        assert!(!readiness.is_ready());
        part.set(PartState::Ready);
        assert!(readiness.is_ready());
        part.set(PartState::NotReady("403".to_owned()));
        assert!(!readiness.is_ready());
    }

    #[test]
    fn a_noted_part_is_named_and_does_not_block() {
        let readiness = Readiness::default();
        let part = readiness.part("watch", starting());
        part.set(PartState::Noted("not installed".to_owned()));
        assert!(readiness.is_ready());
        assert_eq!(
            readiness.parts(),
            [("watch".into(), PartState::Noted("not installed".to_owned()))]
        );
    }

    #[test]
    fn a_part_that_ends_leaves_another_of_its_name() {
        let readiness = Readiness::default();
        let former = readiness.part("watch", starting());
        let _part = readiness.part("watch", PartState::Ready);
        drop(former);
        assert_eq!(readiness.parts(), [("watch".into(), PartState::Ready)]);
    }

    #[test]
    fn a_part_that_ends_blocks_no_more() {
        let readiness = Readiness::default();
        drop(readiness.part("watch", starting()));
        assert!(readiness.is_ready());
        assert!(readiness.parts().is_empty());
    }
}
