//! Whatever comes as bytes from outside is read or refused: nothing panics, nothing hangs, and what is
//! told of it is sound.
//!
//! | module | what is changed |
//! |---|---|
//! | [`conversation`] | requests to the embedded API: the sequences of `tests/conformance/requests` |
//! | [`states`] | saved states of the embedded API |
//! | [`ports`] | bytes sent to the ports of the embedded API and of the operator |
//! | [`projects`] | `watches.yaml`, and the scripts, pipelines, templates and other files of roles |
//! | [`kubeconfigs`] | kubeconfigs |
//! | [`answers`] | answers and watch streams of an API server |
//!
//! What tenants write into custom resources has a suite of its own, `tests/hostile`. A run makes a bounded
//! number of changes, the same ones each time. A long run makes others, so many of each kind:
//!
//! ```console
//! $ PROPTEST_CASES=100000 cargo test --profile ci --test fuzz
//! ```
//!
//! A failure is made small and shown.

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod answers;
mod change;
mod conversation;
mod edit;
mod kubeconfigs;
mod ports;
mod projects;
mod states;

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
fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

proptest! {
    #![proptest_config(config(CASES))]

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
