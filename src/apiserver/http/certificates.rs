//! TLS of a server that has just begun: an authority of its own, and a certificate by it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::serve::Tls;

/// Under which names a server on loopback is asked for.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    "127.0.0.1",
    "::1",
];

/// What TLS needs, and the certificate of the authority in PEM, for a server at an address.
pub(super) fn issue(address: SocketAddr) -> io::Result<(Tls, String)> {
    let authority = authority().map_err(io::Error::other)?;
    let pem = authority.pem();
    let config = config(address, &authority)?;
    let tls = Tls {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        user: Arc::new(|_| None),
    };
    Ok((tls, pem))
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.distinguished_name).push(DnType::CommonName, "kubernetes-ca");
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn config(
    address: SocketAddr,
    authority: &CertifiedIssuer<'static, KeyPair>,
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
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
