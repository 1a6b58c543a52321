//! The kubeconfig of the embedded API server: what kubectl needs to reach it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::distr::{Alphanumeric, SampleString};
use serde_json::json;
use tempfile::TempDir;

use super::private_file;
use crate::model::yaml;

/// The length of a random token: about 190 bits.
const TOKEN: usize = 32;

/// Address and credentials of a server.
pub(super) struct Kubeconfig<'a> {
    /// The address that the server listens on.
    pub(super) address: SocketAddr,
    /// The certificate, in PEM, of the authority that signed its own.
    pub(super) authority: &'a str,
    /// Bearer token of the administrator.
    pub(super) token: &'a str,
}

/// A kubeconfig file. If the user did not name it, it is deleted when this value is dropped.
pub(super) struct KubeconfigFile {
    file: PathBuf,
    _folder: Option<TempDir>,
}

impl KubeconfigFile {
    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }
}

/// Returns the address at which clients on this machine reach a server that listens on `address`.
pub(super) fn client_address(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Returns a random token.
pub(super) fn token() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), TOKEN)
}

impl Kubeconfig<'_> {
    /// Writes the file, readable by its owner alone.
    pub(super) fn write(&self, named: Option<&Path>) -> anyhow::Result<KubeconfigFile> {
        let folder = match named {
            Some(_) => None,
            None => Some(private_file::create_folder().context(
                "cannot create a private folder for the kubeconfig\n  hint: name a file with --kubeconfig-out",
            )?),
        };
        let own = folder
            .as_ref()
            .map(|folder| folder.path().join("kubeconfig"));
        let file = named.map(Path::to_owned).or(own).unwrap_or_default();
        let written = private_file::write(&file, self.text().as_bytes());
        written.with_context(|| format!("cannot write the kubeconfig {}", file.display()))?;
        Ok(KubeconfigFile {
            file,
            _folder: folder,
        })
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_through_loopback() {
        let reached = |address: &str| super::client_address(address.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(reached("[::]:80"), "[::1]:80");
        assert_eq!(reached("10.0.0.1:80"), "10.0.0.1:80");
    }

    #[test]
    fn a_file_without_a_given_name_is_private_and_goes_with_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = Kubeconfig {
            address: SocketAddr::from(([127, 0, 0, 1], 6443)),
            authority: "",
            token: "t",
        };
        let made_up = kubeconfig.write(None).unwrap();
        let file = made_up.path().to_owned();
        let private = fs::metadata(file.parent().unwrap()).unwrap();
        assert_eq!(private.permissions().mode() & 0o777, 0o700);
        let other = kubeconfig.write(None).unwrap();
        assert_ne!(other.path(), file);
        drop(made_up);
        assert!(!file.parent().unwrap().exists());
        let named = folder.path().join("kubeconfig");
        drop(kubeconfig.write(Some(&named)).unwrap());
        assert!(named.exists());
    }
}
