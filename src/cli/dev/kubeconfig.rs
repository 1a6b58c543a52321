//! The kubeconfig of the embedded API server: what kubectl needs to reach it.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::distr::{Alphanumeric, SampleString};
use serde_json::json;

use crate::model::yaml;

/// Characters of a token that is made up: about 190 bits.
const TOKEN: usize = 32;

/// Address and credentials of a server.
pub(super) struct Kubeconfig<'a> {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// The certificate, in PEM, of the authority that signed its own.
    pub(super) authority: &'a str,
    /// Bearer token of the administrator.
    pub(super) token: &'a str,
}

/// A token that nobody can guess.
pub(super) fn token() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), TOKEN)
}

impl Kubeconfig<'_> {
    /// Writes the file, readable by its owner alone; returns where it is.
    pub(super) fn write(&self, file: Option<&Path>) -> anyhow::Result<PathBuf> {
        let file = file.map_or_else(|| self.temporary(), Path::to_owned);
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&file)
            .and_then(|mut out| out.write_all(self.text().as_bytes()));
        written.with_context(|| format!("cannot write the kubeconfig {}", file.display()))?;
        Ok(file)
    }

    /// One file per port, so that several servers do not share one.
    fn temporary(&self) -> PathBuf {
        let name = format!("rhai-operator-{}.kubeconfig", self.address.port());
        std::env::temp_dir().join(name)
    }

    fn text(&self) -> String {
        const NAME: &str = "rhai-operator-dev";
        let authority = STANDARD.encode(self.authority);
        yaml::write(&json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": NAME, "cluster": {
                "server": format!("https://{}", self.address),
                "certificate-authority-data": authority,
            }}],
            "users": [{"name": NAME, "user": {"token": self.token}}],
            "contexts": [{"name": NAME, "context": {
                "cluster": NAME, "user": NAME, "namespace": "default",
            }}],
            "current-context": NAME,
        }))
    }
}
