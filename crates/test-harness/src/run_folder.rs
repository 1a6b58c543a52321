//! The folder of one run of a test binary, under cargo's target folder.
//!
//! A run removes its folder if all tests pass. The next run removes the folders of ended processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns cargo's target folder, which the scripts in `tests/kubernetes` use too.
///
/// # Panics
///
/// If cargo did not build this program.
pub fn target() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| {
        let program = std::env::current_exe().expect("a path of this program");
        let mut folders = program.ancestors();
        // Cargo marks the root of its target folder: https://bford.info/cachedir/
        let target = folders.find(|folder| folder.join("CACHEDIR.TAG").exists());
        target
            .expect("a program in cargo's target folder")
            .to_owned()
    })
}

/// Returns a path of this repository.
pub fn repository(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("a crate two folders below the root").join(path)
}

/// Creates a folder of this run.
pub fn create(name: &str) -> std::io::Result<PathBuf> {
    let folder = root().join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Removes the files of this run.
pub fn remove() {
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
        remove_ended();
        // An ended process of the same number may have left its files.
        remove();
        path()
    })
}

/// Removes the folders of processes that have ended.
fn remove_ended() {
    let Ok(entries) = fs::read_dir(runs()) else {
        return;
    };
    for entry in entries.flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
