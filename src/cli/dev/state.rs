//! The state of the embedded API server in a file, from one session to the next.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;

use super::private_file;
use embedded_apiserver::ApiServer;

/// Loads the objects of a file; `false` if there is none yet. A file that could not be saved to is an
/// error here, and not when there is something to lose.
pub(super) fn load(server: &ApiServer, file: &Path) -> anyhow::Result<bool> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        text => Some(text.with_context(|| format!("cannot read the state {}", file.display()))?),
    };
    private_file::try_out(file).with_context(|| unsaved(file))?;
    let Some(text) = text else {
        return Ok(false);
    };
    let wrong = || {
        format!(
            "{} is no state that `dev --state` has saved; remove it to begin anew",
            file.display()
        )
    };
    let state = serde_json::from_slice(&text).with_context(wrong)?;
    server.load(state).with_context(wrong)?;
    Ok(true)
}

/// Saves the objects, Secrets among them.
pub(super) fn save(server: &ApiServer, file: &Path) -> anyhow::Result<()> {
    let state = server.save().to_string();
    private_file::write(file, state.as_bytes()).with_context(|| unsaved(file))
}

fn unsaved(file: &Path) -> String {
    format!("cannot save the state to {}", file.display())
}
