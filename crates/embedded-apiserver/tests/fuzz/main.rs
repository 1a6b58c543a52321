//! Fuzz tests with random changes of requests and saved states: the embedded API responds to every request
//! with a valid response or a valid error, and it loads or refuses every state.
//!
//! [`conversation`] changes the sequences of `tests/conformance/requests`, [`states`] changes saved states.
//! A run makes a fixed number of changes, which are the same in each run. This command makes more and
//! different ones:
//!
//! ```console
//! $ PROPTEST_CASES=100000 cargo test --release -p embedded-apiserver --test fuzz
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    reason = "a panic fails the test"
)]

mod change;
mod conversation;
mod states;

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use test_harness::edit;
use test_harness::requests::{self, Sequence};

use self::change::Change;

/// The number of cases. They take about twenty seconds on one core without optimization.
const CASES: u32 = 96;

/// The sequences that send bodies.
static SEQUENCES: LazyLock<Vec<Sequence>> = LazyLock::new(|| {
    let has_body = |sequence: &Sequence| sequence.steps.iter().any(|step| step.body.is_some());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance");
    let mut sequences = requests::load(Path::new(folder));
    sequences.retain(|sequence| !sequence.theme.starts_with("kubectl") && has_body(sequence));
    sequences
});

proptest! {
    #![proptest_config(edit::config(CASES))]

    #[test]
    fn a_changed_request_gets_a_proper_answer(
        sequence in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), change::strategy()), 1..6),
    ) {
        let sequence = sequence.get(&SEQUENCES);
        let changes: Vec<(usize, Change)> = changes
            .into_iter()
            .map(|(step, change)| (step.index(sequence.steps.len()), change))
            .collect();
        if let Err(error) = conversation::check(sequence, &changes) {
            prop_assert!(false, "{}/{}: {error}", sequence.theme, sequence.name);
        }
    }
}

#[test]
fn an_unchanged_request_gets_a_proper_answer() {
    for sequence in &*SEQUENCES {
        let checked = conversation::check(sequence, &[]);
        assert_eq!(checked, Ok(()), "{}/{}", sequence.theme, sequence.name);
    }
}
