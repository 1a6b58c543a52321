//! Client certificates of users, created with openssl.

use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// The trusted authority; the certificate expires after a time.
    TrustedFor(Duration),
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

impl Certificate {
    /// Copies the certificate, its key and its kubeconfig, and returns the new kubeconfig.
    pub fn copy(&self, stem: &Path) -> anyhow::Result<PathBuf> {
        let text = std::fs::read_to_string(&self.kubeconfig)?;
        let old_stem = self.kubeconfig.with_extension("");
        let kubeconfig = stem.with_extension("kubeconfig");
        let [old, new] = [&old_stem, stem].map(|path| path.display().to_string());
        for end in ["crt", "key"] {
            std::fs::copy(old_stem.with_extension(end), stem.with_extension(end))?;
        }
        std::fs::write(&kubeconfig, text.replace(&old, &new))?;
        Ok(kubeconfig)
    }

    /// Replaces the files of another certificate with those of this one, the key first.
    pub fn replace(&self, other: &Self) -> std::io::Result<()> {
        for end in ["key", "crt"] {
            std::fs::rename(
                self.kubeconfig.with_extension(end),
                other.kubeconfig.with_extension(end),
            )?;
        }
        Ok(())
    }
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
    sign(cluster.folder(), &key, &request, &certificate, signer).await?;
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

/// Signs a request.
async fn sign(
    folder: &Path,
    key: &Path,
    request: &Path,
    certificate: &Path,
    signer: Signer,
) -> anyhow::Result<()> {
    let [authority, authority_key, extensions] =
        ["client-ca.crt", "client-ca.key", "client.cnf"].map(|name| folder.join(name));
    let files = [Path::new("-in"), request, Path::new("-out"), certificate];
    if let Signer::TrustedFor(validity) = signer {
        let end = clock::Clock::system().timestamp() + validity;
        let end = end.strftime("%Y%m%d%H%M%SZ").to_string();
        let config = authority_config(certificate)?;
        let mut arguments: Vec<&Path> = ["ca", "-batch", "-notext", "-enddate", &end]
            .map(Path::new)
            .into();
        arguments.extend([
            Path::new("-config"),
            &config,
            Path::new("-extfile"),
            &extensions,
        ]);
        arguments.extend([
            Path::new("-cert"),
            &authority,
            Path::new("-keyfile"),
            &authority_key,
        ]);
        arguments.extend(files);
        return openssl(&arguments).await;
    }
    let mut arguments: Vec<&Path> = ["x509", "-req", "-set_serial", "2"].map(Path::new).into();
    arguments.extend([Path::new("-extfile"), &extensions]);
    arguments.extend(files);
    if signer == Signer::SelfSigned {
        arguments.extend([Path::new("-signkey"), key]);
    } else {
        arguments.extend([
            Path::new("-CA"),
            &authority,
            Path::new("-CAkey"),
            &authority_key,
        ]);
    }
    let days = if signer == Signer::Expired { "-1" } else { "1" };
    arguments.extend(["-days", days].map(Path::new));
    openssl(&arguments).await
}

/// Writes the configuration of `openssl ca`, the only command of openssl 3.0 that takes an end in seconds.
fn authority_config(certificate: &Path) -> anyhow::Result<PathBuf> {
    let [config, database, folder] =
        ["ca.cnf", "ca.txt", "ca.d"].map(|end| certificate.with_extension(end));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(&database, "")?;
    let text = format!(
        "[ca]\ndefault_ca = users\n[users]\ndatabase = {}\nnew_certs_dir = {}\ndefault_md = sha256\n\
         rand_serial = yes\nunique_subject = no\npolicy = subject\n\
         [subject]\ncommonName = supplied\norganizationName = optional\n",
        database.display(),
        folder.display(),
    );
    std::fs::write(&config, text)?;
    Ok(config)
}

async fn openssl(arguments: &[&Path]) -> anyhow::Result<()> {
    let output = Command::new("openssl").args(arguments).output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "openssl: {errors}");
    Ok(())
}
