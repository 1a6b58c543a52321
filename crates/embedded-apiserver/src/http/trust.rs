//! Client certificates: the common name is the user, and the organizations are the groups.
//!
//! The TLS handshake accepts every certificate whose private key the client has. Requests with a certificate
//! that is expired, or that no trusted authority signed, get a 401 unless they have a valid token.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates>

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::authenticate::ConnectionIdentity;
use crate::user::User;

/// The authorities that sign trusted client certificates.
#[derive(Debug, Clone)]
pub struct Trust(Arc<dyn ClientCertVerifier>);

impl Trust {
    /// Trusts the authorities of a PEM file, like `--client-ca-file` of the real server.
    pub fn in_authorities(pem: &[u8]) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(io::Error::other)?;
            roots.add(certificate).map_err(io::Error::other)?;
        }
        if roots.is_empty() {
            return Err(io::Error::other("no certificate in PEM"));
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Self(verifier.build().map_err(io::Error::other)?))
    }

    /// Returns the verifier for TLS handshakes.
    pub(super) fn permissive_verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(PermissiveVerifier(Arc::clone(&self.0)))
    }

    /// Returns the identity of the first certificate. The others are intermediate certificates.
    pub(super) fn sender(
        &self,
        certificates: &[CertificateDer<'_>],
        now: Timestamp,
    ) -> ConnectionIdentity {
        let Some((certificate, intermediates)) = certificates.split_first() else {
            return ConnectionIdentity::Unknown;
        };
        let now = Duration::from_secs(now.as_second().unsigned_abs());
        let now = UnixTime::since_unix_epoch(now);
        let verified = self.0.verify_client_cert(certificate, intermediates, now);
        match (verified, X509Certificate::from_der(certificate)) {
            (Ok(_), Ok((_, parsed))) => {
                user(certificate, &parsed).map_or(ConnectionIdentity::Unknown, |user| {
                    ConnectionIdentity::Certificate {
                        user: user.into(),
                        not_after: end_of(&parsed),
                    }
                })
            }
            _ => ConnectionIdentity::Distrusted,
        }
    }
}

/// Returns the user of a trusted certificate, or nothing if it has no common name.
fn user(der: &[u8], certificate: &X509Certificate<'_>) -> Option<User> {
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?;
    let organizations = subject.iter_organization();
    let groups = organizations.filter_map(|value| value.as_str().ok());
    let groups = groups.chain(["system:authenticated"]);
    let mut credential = "X509SHA256=".to_owned();
    for byte in Sha256::digest(der) {
        // Writing to a string cannot fail.
        let _ = write!(credential, "{byte:02x}");
    }
    (!name.is_empty()).then(|| User {
        name: name.to_owned(),
        groups: groups.map(str::to_owned).collect(),
        extra: [(User::CREDENTIAL.to_owned(), vec![credential])].into(),
        ..User::default()
    })
}

/// Returns the last second at which a certificate is valid.
fn end_of(certificate: &X509Certificate<'_>) -> Timestamp {
    let seconds = certificate.validity().not_after.timestamp();
    // A certificate can be valid beyond the last timestamp, which is in the year 9999.
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// A verifier that requests a certificate and accepts any certificate whose key the client has.
#[derive(Debug)]
struct PermissiveVerifier(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for PermissiveVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
