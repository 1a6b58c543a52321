//! TLS: the server's own authority, and the certificates that it signs.
//!
//! Other authorities sign the certificates of clients. The module `trust` checks those.

use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

use super::trust::Trust;

/// The names in the certificate of a server on loopback.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    "127.0.0.1",
    "::1",
];

/// The TLS of a listener: the acceptor, and the authorities of client certificates.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(super) acceptor: TlsAcceptor,
    pub(super) trust: Option<Trust>,
}

/// The authority that signs the certificates of the server. Pods and clients know its certificate.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// Returns an authority with a new key. No client trusts it yet.
    pub(crate) fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.distinguished_name).push(DnType::CommonName, "kubernetes-ca");
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let issuer = CertifiedIssuer::self_signed(params, key);
        issuer.map(Self).map_err(io::Error::other)
    }

    /// Returns the certificate of the authority in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for a server at an address. Returns its TLS configuration.
    pub(super) fn issue(&self, address: SocketAddr, trust: Option<Trust>) -> io::Result<Tls> {
        let config = config(address, &self.0, trust.as_ref())?;
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            trust,
        })
    }
}

fn config(
    address: SocketAddr,
    authority: &CertifiedIssuer<'static, KeyPair>,
    trust: Option<&Trust>,
) -> io::Result<ServerConfig> {
    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    names.push(address.ip().to_string());
    names.dedup();
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    (params.distinguished_name).push(DnType::CommonName, "kube-apiserver");
    let certificate = params
        .signed_by(&key, authority)
        .map_err(io::Error::other)?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(io::Error::other)?;
    let clients = match trust {
        Some(trust) => trust.permissive_verifier(),
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
