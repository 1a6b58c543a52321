//! Whatever the embedded API is sent, it answers: nothing panics, a refusal is a proper `Status`, and
//! what it keeps is sound.
//!
//! What is sent are the sequences of `tests/conformance/requests`, some of their bodies changed at
//! random ([`change`]). A run makes a bounded number of changes, the same ones each time;
//! `PROPTEST_CASES=100000` makes so many others. A failure is made small and shown.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod change;
mod conversation;

#[allow(dead_code, reason = "the conformance tests use more of it")]
#[path = "../conformance/request.rs"]
mod request;
#[allow(dead_code, reason = "the conformance tests use more of it")]
#[path = "../conformance/sequence.rs"]
mod sequence;
#[allow(dead_code, reason = "the conformance tests use more of it")]
#[path = "../conformance/variables.rs"]
mod variables;

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

use self::change::Change;
use self::sequence::Sequence;

/// Some twenty seconds of one core, without optimisation.
const CASES: u32 = 96;

/// Those that send something.
static SEQUENCES: LazyLock<Vec<Sequence>> = LazyLock::new(|| {
    let has_body = |sequence: &Sequence| sequence.steps.iter().any(|step| step.body.is_some());
    let all = sequence::all().into_iter();
    all.filter(|sequence| !sequence.theme.starts_with("kubectl") && has_body(sequence))
        .collect()
});

/// So many cases as the environment asks for, at random; else a few that are always the same: what
/// is found today must not fail the build of someone who has changed nothing.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_sent_is_answered(
        sequence in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), change::strategy()), 1..6),
    ) {
        let sequence = sequence.get(&SEQUENCES);
        let changes: Vec<(usize, Change)> = changes
            .into_iter()
            .map(|(step, change)| (step.index(sequence.steps.len()), change))
            .collect();
        if let Err(wrong) = conversation::hold(sequence, &changes) {
            prop_assert!(false, "{}/{}: {wrong}", sequence.theme, sequence.name);
        }
    }
}

#[test]
fn what_is_sent_unchanged_is_answered() {
    for sequence in &*SEQUENCES {
        let held = conversation::hold(sequence, &[]);
        assert_eq!(held, Ok(()), "{}/{}", sequence.theme, sequence.name);
    }
}
