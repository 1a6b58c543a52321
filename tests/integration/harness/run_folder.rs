//! Where this run of the tests keeps its files: a folder per process under cargo's target folder.
//!
//! It goes when all tests passed. What a failed run left is there until the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Cargo's target folder, as the scripts in `tests/kubernetes` see it.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("CARGO_TARGET_TMPDIR is a folder in the target folder")
}

/// A new, empty folder of this run.
pub(super) fn make(name: &str) -> std::io::Result<PathBuf> {
    let folder = root().join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Removes all that this run kept.
pub(super) fn remove() {
    let _ = fs::remove_dir_all(path());
}

fn path() -> PathBuf {
    runs().join(std::process::id().to_string())
}

fn runs() -> PathBuf {
    target().join("kubernetes/runs")
}

fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        remove_former();
        // A process of the same number may have left its own.
        remove();
        path()
    })
}

/// Removes what runs left whose process is gone.
fn remove_former() {
    let Ok(entries) = fs::read_dir(runs()) else {
        return;
    };
    for entry in entries.flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
