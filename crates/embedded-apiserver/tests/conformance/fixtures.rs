//! The custom resource definitions of `fixtures.yaml`, which every sequence can use.

use std::time::Duration;

use anyhow::Context;
use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use crate::exchange::TIMEOUT;
use crate::servers::Server;

/// The manifests, as one list.
pub(crate) const TEXT: &str = include_str!("fixtures.yaml");

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Creates the definitions, and waits until the server serves their kinds.
pub(crate) async fn install(server: &Server) -> anyhow::Result<()> {
    let definitions: Vec<Value> = serde_yaml::from_str(TEXT).context("fixtures.yaml")?;
    for definition in &definitions {
        let (code, answer) = send(server, Method::POST, DEFINITIONS, definition).await?;
        anyhow::ensure!(code == 201 || code == 409, "a fixture: {code} {answer}");
    }
    for definition in &definitions {
        await_served(server, definition).await?;
    }
    Ok(())
}

/// Waits until a kind is served. Requests for a newly established kind get 404 and 429 for some time.
async fn await_served(server: &Server, definition: &Value) -> anyhow::Result<()> {
    let text = |pointer| {
        definition
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    let version = text("/spec/versions/0/name");
    let path = format!("/apis/{group}/{version}/{plural}");
    let until = clock::now() + TIMEOUT;
    loop {
        let (code, answer) = send(server, Method::GET, &path, &Value::Null).await?;
        if code == 200 {
            return Ok(());
        }
        anyhow::ensure!(
            clock::now() < until,
            "{path} is not served: {code} {answer}"
        );
        clock::sleep(Duration::from_millis(50)).await;
    }
}

async fn send(
    server: &Server,
    method: Method,
    path: &str,
    body: &Value,
) -> anyhow::Result<(u16, String)> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Authorization", format!("Bearer {}", server.token()))
        .header("Content-Type", "application/json")
        .body(Body::from(serde_json::to_vec(body)?))?;
    let answer = server.send(request).await?;
    let code = answer.status().as_u16();
    let body = answer.into_body().collect_bytes().await?;
    Ok((code, String::from_utf8_lossy(&body).into_owned()))
}
