//! Edited kubeconfigs: the result is a client, or an error with its causes.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::sample::Index;
use rcgen::{CertificateParams, KeyPair};
use rhai_operator::cluster::connect::{self, Options, Source};

use test_harness::edit;

/// With each kind of credentials, but for those that run a program.
static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = STANDARD.encode(certificate.self_signed(&key).unwrap().pem());
    let key = STANDARD.encode(key.serialize_pem());
    let credentials = [
        "{token: secret}".to_owned(),
        "{username: a, password: b}".to_owned(),
        format!("{{client-certificate-data: {certificate}, client-key-data: {key}}}"),
        "{token: secret, as: b, as-groups: [c]}".to_owned(),
    ];
    let kubeconfigs = credentials.map(|user| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\npreferences: {{}}\n\
             clusters:\n- name: here\n  cluster:\n    server: https://127.0.0.1:1/base\n    \
             certificate-authority-data: {certificate}\n    tls-server-name: localhost\n    \
             insecure-skip-tls-verify: false\n    proxy-url: http://127.0.0.1:1\n\
             users:\n- name: me\n  user: {user}\n\
             contexts:\n- name: here\n  context: {{cluster: here, user: me, namespace: there}}\n"
        )
    });
    kubeconfigs.to_vec()
});

async fn connects(text: &[u8]) -> Result<(), connect::Error> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let source = Source::Configured {
        kubeconfig: Some(file.path().to_owned()),
        context: None,
    };
    let options = Options {
        source,
        ..Options::default()
    };
    connect::connect(options).await.map(drop)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(edit::config(300))]

    #[test]
    fn an_edited_kubeconfig_is_used_or_refused(seed in any::<Index>(), edits in edit::edits()) {
        let text = edit::apply(seed.get(&SEEDS).as_bytes(), &edits);
        if let Err(error) = block_on(connects(&text)) {
            let error = format!("{:#}", anyhow::Error::new(error));
            prop_assert!(!error.is_empty());
        }
    }
}

#[test]
fn kubeconfigs_are_used_as_they_are() {
    for seed in &*SEEDS {
        let connected = block_on(connects(seed.as_bytes()));
        assert!(connected.is_ok(), "{connected:?}\n{seed}");
    }
}
