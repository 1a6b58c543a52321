//! Recorded responses of the real server, with which a comparison takes seconds.
//!
//! The recordings are a local cache in cargo's target folder (or in the folder `CONFORMANCE_RECORDINGS`).
//! They are never committed: the live server is authoritative.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::fixtures;
use crate::step_response::StepResponse;
use test_harness::requests::Sequence;
use test_harness::run_folder;

#[derive(Serialize, Deserialize)]
struct Recording {
    /// A digest of the requests. Responses to other requests are not used.
    key: u64,
    answers: Vec<StepResponse>,
}

/// Records the responses to a sequence.
pub(crate) fn record(sequence: &Sequence, answers: &[StepResponse]) -> anyhow::Result<()> {
    let file = file(sequence);
    fs::create_dir_all(file.parent().expect("a folder for a theme"))?;
    let recording = Recording {
        key: key(sequence),
        answers: answers.to_vec(),
    };
    // The file is replaced atomically, because another run can read it at the same time.
    let new = file.with_extension(format!("new-{}", std::process::id()));
    fs::write(&new, serde_json::to_vec_pretty(&recording)?)?;
    Ok(fs::rename(new, file)?)
}

/// Returns the recorded responses to a sequence.
pub(crate) fn answers(sequence: &Sequence) -> anyhow::Result<Vec<StepResponse>> {
    let file = file(sequence);
    let text = fs::read(&file).with_context(|| format!("no recording {}", file.display()))?;
    let recording: Recording = serde_json::from_slice(&text)?;
    anyhow::ensure!(
        recording.key == key(sequence),
        "the requests changed since {} was recorded",
        file.display()
    );
    Ok(recording.answers)
}

fn key(sequence: &Sequence) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", sequence.steps).hash(&mut hasher);
    fixtures::TEXT.hash(&mut hasher);
    hasher.finish()
}

fn file(sequence: &Sequence) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let name = sequence.name.replace(|c| !is_plain(c), "-");
    folder().join(&sequence.theme).join(format!("{name}.json"))
}

fn folder() -> PathBuf {
    std::env::var_os("CONFORMANCE_RECORDINGS").map_or_else(
        || run_folder::target().join("conformance/recordings"),
        PathBuf::from,
    )
}
