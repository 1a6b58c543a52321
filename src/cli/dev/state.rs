//! The state of the embedded API server in a file, from one session to the next.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use embedded_apiserver::ApiServer;

use super::private_file;
use crate::regular_file;

/// The largest state that is loaded.
const LIMIT: u64 = 1 << 30;

/// A state file that only this process uses: two sessions would each save over the other's objects.
pub(super) struct StateFile {
    path: PathBuf,
    /// Holds the lock. The state that is saved takes the place of this file, and the session ends.
    file: File,
}

impl StateFile {
    /// Locks a file, and creates it if it does not exist. Fails now, and not at the end of the session, if
    /// the objects could not be saved to the file.
    pub(super) fn lock(path: &Path) -> anyhow::Result<Self> {
        private_file::check_writable(path).with_context(|| cannot_save(path))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        loop {
            let opened = regular_file::open_private(path, &options);
            let file = opened.with_context(|| cannot_save(path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => bail!(
                    "cannot use the state {}: another process uses it\n  hint: end that process, or \
                     name another file",
                    path.display()
                ),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| cannot_save(path));
                }
            }
            // A session that ended in between has replaced the file that was opened.
            if is_at(&file, path).with_context(|| cannot_save(path))? {
                let path = path.to_owned();
                return Ok(Self { path, file });
            }
        }
    }

    /// Loads the objects of the file. Returns false if the file contains none.
    pub(super) fn load(&self, server: &ApiServer) -> anyhow::Result<bool> {
        let shown = self.path.display();
        let text = regular_file::read_open(&self.file, LIMIT);
        let text = text.with_context(|| format!("cannot read the state {shown}"))?;
        if text.is_empty() {
            return Ok(false);
        }
        let wrong = || {
            format!(
                "{shown}: expected a file that `dev --state` saved\n  hint: remove it, or name another file"
            )
        };
        let state = str::from_utf8(&text).with_context(wrong)?;
        server.load(state).with_context(wrong)?;
        Ok(true)
    }

    /// Saves the objects, Secrets among them, and gives the file up.
    pub(super) fn save(self, server: &ApiServer) -> anyhow::Result<()> {
        let state = server.save();
        let saved = private_file::write(&self.path, state.as_bytes());
        saved.with_context(|| cannot_save(&self.path))
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn cannot_save(file: &Path) -> String {
    format!("cannot save the state to {}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_of_one_session_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let server = ApiServer::new(embedded_apiserver::Options::default());
        let first = StateFile::lock(&path).unwrap();
        assert!(!first.load(&server).unwrap());
        let error = StateFile::lock(&path).err().unwrap().to_string();
        assert!(error.contains("another process uses it"), "{error}");
        first.save(&server).unwrap();
        let second = StateFile::lock(&path).unwrap();
        assert!(second.load(&server).unwrap());
    }

    #[test]
    fn a_file_that_was_replaced_while_it_was_opened_is_not_the_one_that_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let old = File::create(&path).unwrap();
        assert!(is_at(&old, &path).unwrap());
        private_file::write(&path, b"{}").unwrap();
        assert!(!is_at(&old, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&old, &path).unwrap());
    }
}
