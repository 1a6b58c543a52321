//! Client certificates of users, created with openssl.

use std::path::{Path, PathBuf};

use kube::Client;
use tokio::process::Command;

use crate::cluster::{self, Cluster};

/// The signer of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The authority that the cluster trusts for client certificates.
    Trusted,
    /// The trusted authority; the certificate has expired.
    Expired,
    /// The user.
    SelfSigned,
}

/// A certificate with its key.
pub struct Certificate {
    /// A client with the certificate and without a token.
    pub client: Client,
    /// A kubeconfig with the certificate and without a token.
    pub kubeconfig: PathBuf,
}

/// Creates a certificate and its files: `stem` with `.crt`, `.key` and `.kubeconfig`.
pub(crate) async fn create(
    cluster: &Cluster,
    stem: &Path,
    subject: &str,
    signer: Signer,
) -> anyhow::Result<Certificate> {
    let [certificate, key, request] = ["crt", "key", "csr"].map(|end| stem.with_extension(end));
    let mut arguments: Vec<&Path> = ["req", "-new", "-nodes", "-newkey", "ec"]
        .map(Path::new)
        .into();
    arguments.extend(["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject].map(Path::new));
    arguments.extend([Path::new("-keyout"), &key, Path::new("-out"), &request]);
    openssl(&arguments).await?;
    let [authority, authority_key, extensions] =
        ["client-ca.crt", "client-ca.key", "client.cnf"].map(|name| cluster.folder().join(name));
    let mut arguments: Vec<&Path> = ["x509", "-req", "-set_serial", "2"].map(Path::new).into();
    arguments.extend([Path::new("-extfile"), &extensions]);
    arguments.extend([Path::new("-in"), &request, Path::new("-out"), &certificate]);
    match signer {
        Signer::SelfSigned => arguments.extend([Path::new("-signkey"), &key]),
        Signer::Trusted | Signer::Expired => {
            arguments.extend([Path::new("-CA"), &authority]);
            arguments.extend([Path::new("-CAkey"), &authority_key]);
        }
    }
    let days = if signer == Signer::Expired { "-1" } else { "1" };
    arguments.extend(["-days", days].map(Path::new));
    openssl(&arguments).await?;
    let kubeconfig = stem.with_extension("kubeconfig");
    let admin = std::fs::read_to_string(cluster.kubeconfig())?;
    let credentials = format!(
        r#"client-certificate: "{}", client-key: "{}""#,
        certificate.display(),
        key.display(),
    );
    std::fs::write(
        &kubeconfig,
        admin.replace("token: admin-token", &credentials),
    )?;
    Ok(Certificate {
        client: Client::try_from(cluster::config(&kubeconfig).await?)?,
        kubeconfig,
    })
}

async fn openssl(arguments: &[&Path]) -> anyhow::Result<()> {
    let output = Command::new("openssl").args(arguments).output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "openssl: {errors}");
    Ok(())
}
