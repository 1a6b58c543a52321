//! Tests of client certificates over TLS. `tests/integration` compares them with the real server.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Api;
use kube::api::PostParams;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};

use super::server;
use crate::{ApiServer, Clock, Listening, Options, Trust, User};

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Returns the parameters of a client certificate for `bob` of `staff`.
fn bob() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = &mut params.distinguished_name;
    name.push(DnType::OrganizationName, "staff");
    name.push(DnType::CommonName, "bob");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// Starts a server that trusts an authority and knows the token of the user `robot`.
async fn serving(trusted: &Issuer) -> Listening {
    let server = server();
    let robot = User {
        name: "robot".to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..User::default()
    };
    server.add_token("robot-token", robot);
    listen(&server, trusted).await
}

/// Serves TLS connections with certificates of an authority.
async fn listen(server: &ApiServer, trusted: &Issuer) -> Listening {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let trust = Trust::in_authorities(trusted.pem().as_bytes()).unwrap();
    server.serve_tls(listener, Some(trust)).unwrap()
}

/// Returns the user that the server identifies by a certificate and a token, or the code of the error.
async fn whoami(
    listening: &Listening,
    issuer: &Issuer,
    params: CertificateParams,
    token: Option<&str>,
) -> Result<String, u16> {
    identity(client(listening, issuer, &params, token)).await
}

/// Returns a client with a certificate and a token.
fn client(
    listening: &Listening,
    issuer: &Issuer,
    params: &CertificateParams,
    token: Option<&str>,
) -> kube::Client {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let url = format!("https://{}", listening.address).parse().unwrap();
    let mut config = kube::Config::new(url);
    let authority = listening.authority.as_deref().unwrap();
    config.root_cert = Some(vec![super::whole::pem_der(authority)]);
    config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate.pem()));
    let key = STANDARD.encode(key.serialize_pem());
    config.auth_info.client_key_data = Some(key.into());
    config.auth_info.token = token.map(|token| token.to_owned().into());
    kube::Client::try_from(config).unwrap()
}

/// Returns the user that the server identifies for a client, or the code of the error.
async fn identity(client: kube::Client) -> Result<String, u16> {
    let review = Api::<SelfSubjectReview>::all(client)
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    match review {
        Ok(review) => {
            let info = review.status.unwrap().user_info.unwrap();
            let groups = info.groups.unwrap_or_default().join(",");
            Ok(format!("{} {groups}", info.username.unwrap()))
        }
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_certificate_is_a_user_before_a_token_is() {
    let trusted = authority("users");
    let server = serving(&trusted).await;
    let expected = Ok("bob staff,system:authenticated".to_owned());
    assert_eq!(whoami(&server, &trusted, bob(), None).await, expected);
    let both = whoami(&server, &trusted, bob(), Some("robot-token")).await;
    assert_eq!(both, expected);
}

#[tokio::test]
async fn an_untrusted_certificate_requires_a_token() {
    let trusted = authority("users");
    let server = serving(&trusted).await;
    let other = authority("users");
    assert_eq!(whoami(&server, &other, bob(), None).await, Err(401));
    assert_eq!(whoami(&server, &other, bob(), Some("none")).await, Err(401));
    let robot = whoami(&server, &other, bob(), Some("robot-token")).await;
    assert_eq!(robot, Ok("robot system:authenticated".to_owned()));
    let mut late = bob();
    late.not_after = date_time_ymd(2020, 1, 1);
    assert_eq!(whoami(&server, &trusted, late, None).await, Err(401));
    let mut of_server = bob();
    of_server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    assert_eq!(whoami(&server, &trusted, of_server, None).await, Err(401));
}

#[tokio::test]
async fn a_certificate_expires_on_an_open_connection() {
    let trusted = authority("users");
    let now = Arc::new(Mutex::new(Clock::system().timestamp()));
    let clock = {
        let now = Arc::clone(&now);
        Clock::from_fn(move || *now.lock())
    };
    let options = Options {
        clock,
        ..Options::default()
    };
    let listening = listen(&ApiServer::new(options), &trusted).await;
    let mut params = bob();
    params.not_after = date_time_ymd(2100, 1, 1);
    let client = client(&listening, &trusted, &params, None);
    let bob = Ok("bob staff,system:authenticated".to_owned());
    assert_eq!(identity(client.clone()).await, bob);
    *now.lock() = "2100-01-01T00:00:01Z".parse().unwrap();
    assert_eq!(identity(client).await, Err(401));
}

#[tokio::test]
async fn a_certificate_without_a_name_is_anonymous() {
    let trusted = authority("users");
    let server = serving(&trusted).await;
    let mut nameless = bob();
    nameless.distinguished_name.remove(DnType::CommonName);
    // An anonymous user is not allowed to create reviews.
    assert_eq!(whoami(&server, &trusted, nameless, None).await, Err(403));
}

#[test]
fn a_file_without_a_certificate_is_refused() {
    let refused = |pem: &str| {
        Trust::in_authorities(pem.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused("nonsense"), "no certificate in PEM");
    let broken = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n";
    assert!(!refused(broken).is_empty());
}
