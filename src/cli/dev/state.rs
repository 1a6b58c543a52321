//! The state of the embedded API server in a file, from one session to the next.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;

use crate::apiserver::ApiServer;

/// Loads the objects of a file; one that does not exist yet is an empty state.
pub(super) fn load(server: &ApiServer, file: &Path) -> anyhow::Result<()> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.with_context(|| format!("cannot read the state {}", file.display()))?,
    };
    let wrong = || format!("{} is no state of this command", file.display());
    let state = serde_json::from_slice(&text).with_context(wrong)?;
    server.load(state).with_context(wrong)
}

/// Saves the objects; the file is whole or as it was before.
pub(super) fn save(server: &ApiServer, file: &Path) -> anyhow::Result<()> {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    fs::write(&new, server.save().to_string())
        .and_then(|()| fs::rename(&new, file))
        .with_context(|| format!("cannot save the state to {}", file.display()))
}
