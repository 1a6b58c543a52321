//! Admission webhooks that deny, change or never answer the operator's writes.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use libtest_mimic::Trial;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::widgets::{MAKE_MAP, Widgets, comes_to_rest};
use test_harness::{Case, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_denied_write_is_reported_and_retried: real "the embedded API calls no webhooks",
        a_changed_write_is_not_repeated: real "the embedded API calls no webhooks",
        a_webhook_that_never_answers_delays_only_its_own_objects: real "the embedded API calls no webhooks",
    ]
}

/// The answer of a webhook for ConfigMaps of its name.
#[derive(Clone, Copy, PartialEq)]
enum WebhookAnswer {
    Deny,
    /// Replaces `data.text`.
    Change,
    Hang,
}

/// A webhook's server; it ends when this is dropped.
struct Webhook {
    url: String,
    authority: String,
    _end: DropGuard,
}

impl Webhook {
    async fn start(answer: WebhookAnswer) -> anyhow::Result<Self> {
        let key = KeyPair::generate()?;
        let certificate =
            CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
        let private = PrivatePkcs8KeyDer::from(key.serialize_der());
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private.into())?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}/", listener.local_addr()?);
        let end = CancellationToken::new();
        let accepting = accept(listener, TlsAcceptor::from(Arc::new(config)), answer);
        tokio::spawn(end.clone().run_until_cancelled_owned(accepting));
        Ok(Self {
            url,
            authority: certificate.pem(),
            _end: end.drop_guard(),
        })
    }

    /// The configuration for ConfigMaps of this name in the test's namespace.
    fn configuration(&self, case: &Case, map: &str) -> Value {
        json!({
            "metadata": {"name": case.namespace},
            "webhooks": [{
                "name": "maps.webhooks.test",
                "clientConfig": {"url": self.url, "caBundle": STANDARD.encode(&self.authority)},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                    "operations": ["CREATE", "UPDATE"],
                }],
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": case.namespace},
                },
                "matchConditions": [
                    {"name": "name", "expression": format!("object.metadata.name == '{map}'")},
                ],
                "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 3,
            }],
        })
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, answer: WebhookAnswer) {
    while let Ok((connection, _)) = listener.accept().await {
        let tls = tls.clone();
        tokio::spawn(async move {
            let Ok(connection) = tls.accept(connection).await else {
                return;
            };
            let answer = service_fn(move |request| review(request, answer));
            // An error is an API server that has gone.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(connection), answer)
                .await;
        });
    }
}

async fn review(
    request: Request<Incoming>,
    answer: WebhookAnswer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response =
        json!({"uid": review["request"]["uid"], "allowed": answer != WebhookAnswer::Deny});
    match answer {
        WebhookAnswer::Deny => response["status"] = json!({"message": "not on a Sunday"}),
        WebhookAnswer::Change => {
            let patch = json!([{"op": "replace", "path": "/data/text", "value": "changed"}]);
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(patch.to_string()).into();
        }
        WebhookAnswer::Hang => pending().await,
    }
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    Ok(Response::new(Full::from(answer.to_string())))
}

/// Creates a ConfigMap of this name with a dry run.
async fn tried(case: &Case, name: &str) -> kube::Result<ConfigMap> {
    let map = json!({"metadata": {"name": name}, "data": {"text": "tried"}});
    let map = serde_json::from_value(map).map_err(kube::Error::SerdeError)?;
    let how = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    case.objects().create(&how, &map).await
}

/// Registers a webhook that may refuse, and waits until it does.
async fn refuses(case: &Case, webhook: &Webhook, name: &str) -> anyhow::Result<()> {
    let configuration = serde_json::from_value(webhook.configuration(case, name))?;
    let all = Api::<ValidatingWebhookConfiguration>::all(case.cluster.client.clone());
    all.create(&PostParams::default(), &configuration).await?;
    eventually(SOON, "the webhook to be asked", || async {
        let tried = tried(case, name).await;
        ensure!(tried.is_err(), "{tried:?}");
        Ok(())
    })
    .await
}

async fn unregister(case: &Case) -> anyhow::Result<()> {
    let all = Api::<ValidatingWebhookConfiguration>::all(case.cluster.client.clone());
    all.delete(&case.namespace, &DeleteParams::default())
        .await?;
    Ok(())
}

async fn says(widgets: &Widgets, name: &str, text: &str) -> anyhow::Result<()> {
    eventually(
        SOON,
        &format!("{text:?} in the condition of {name}"),
        || async {
            let condition = widgets.condition(name, "Ready").await?;
            let message = condition["message"].as_str().unwrap_or_default();
            ensure!(message.contains(text), "{condition}");
            Ok(())
        },
    )
    .await
}

async fn a_denied_write_is_reported_and_retried(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(MAKE_MAP).await?;
    let webhook = Webhook::start(WebhookAnswer::Deny).await?;
    refuses(&case, &webhook, "denied").await?;
    widgets.make("denied", "one").await?;
    says(&widgets, "denied", "not on a Sunday").await?;
    assert_eq!(operator.health().await?.0, 200);
    unregister(&case).await?;
    widgets.is_done("denied").await?;
    widgets.has_text("denied", "one").await
}

async fn a_changed_write_is_not_repeated(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(MAKE_MAP).await?;
    let webhook = Webhook::start(WebhookAnswer::Change).await?;
    let configuration = webhook.configuration(&case, "changed");
    let configuration: MutatingWebhookConfiguration = serde_json::from_value(configuration)?;
    let all = Api::<MutatingWebhookConfiguration>::all(case.cluster.client.clone());
    all.create(&PostParams::default(), &configuration).await?;
    eventually(SOON, "the webhook to be asked", || async {
        let data = tried(&case, "changed").await?.data;
        let text = data.and_then(|mut data| data.remove("text"));
        ensure!(text.as_deref() == Some("changed"), "{text:?}");
        anyhow::Ok(())
    })
    .await?;
    widgets.make("changed", "one").await?;
    widgets.is_done("changed").await?;
    widgets.has_text("changed", "changed").await?;
    comes_to_rest(&case, &operator, Duration::from_secs(2)).await?;
    let name = &case.namespace;
    all.delete(name, &DeleteParams::default())
        .await
        .context("the configuration")?;
    Ok(())
}

async fn a_webhook_that_never_answers_delays_only_its_own_objects(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let operator = widgets.operator(MAKE_MAP).await?;
    let webhook = Webhook::start(WebhookAnswer::Hang).await?;
    refuses(&case, &webhook, "held").await?;
    widgets.make("held", "one").await?;
    for number in 0..5 {
        let name = format!("other-{number}");
        widgets.make(&name, "two").await?;
        widgets.is_done(&name).await?;
    }
    says(&widgets, "held", "failed calling webhook").await?;
    assert_eq!(operator.health().await?.0, 200);
    assert_eq!(operator.readiness().await?.0, 200);
    unregister(&case).await?;
    widgets.is_done("held").await
}
