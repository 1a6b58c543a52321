//! Sends a sequence of requests to a new server and checks each response.

use bytes::Bytes;
use embedded_apiserver::{ApiServer, Body, Options, Service, User};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::Service as _;

use crate::change::Change;
use test_harness::requests::Variables;
use test_harness::requests::{self, RequestParts};
use test_harness::requests::{Sequence, Step};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Sends the changed steps of a sequence to a new server. The error describes an invalid response.
pub(crate) fn check(sequence: &Sequence, changes: &[(usize, Change)]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(check_new(sequence, changes))
}

async fn check_new(sequence: &Sequence, changes: &[(usize, Change)]) -> Result<(), String> {
    let server = ApiServer::new(Options::default());
    check_on(&server, sequence, changes).await?;
    server.settle();
    // Another server must be able to load the saved state.
    let other = ApiServer::new(Options::default());
    let loaded = other.load(&server.save());
    loaded.map_err(|error| format!("cannot load the saved state: {error}"))
}

/// Sends the changed steps of a sequence to a server.
pub(crate) async fn check_on(
    server: &ApiServer,
    sequence: &Sequence,
    changes: &[(usize, Change)],
) -> Result<(), String> {
    let mut service = server.service_as(User::admin());
    prepare(&mut service).await?;
    let mut variables = Variables::default();
    variables.set("ns", "default".into());
    variables.set("group", "own.example.com".into());
    for (number, step) in sequence.steps.iter().enumerate() {
        let changes = changes.iter().filter(|(at, _)| *at == number);
        let changes: Vec<&Change> = changes.map(|(_, change)| change).collect();
        let Some(parts) = changed(&step.filled(&variables), &variables, &changes) else {
            // The step needs a variable that an earlier step did not set.
            continue;
        };
        let what = format!("{} {}", parts.method, parts.uri);
        let text = String::from_utf8_lossy(&parts.body).into_owned();
        let body = sent(&mut service, parts, step)
            .await
            .map_err(|wrong| format!("{what}\n{text}\n{wrong}"))?;
        for (name, pointer) in &step.save {
            let value = body.pointer(pointer).cloned().unwrap_or_default();
            variables.set(name, value);
        }
    }
    Ok(())
}

/// Creates the kinds that the sequences use.
async fn prepare(service: &mut Service) -> Result<(), String> {
    let text = include_str!("../conformance/fixtures.yaml");
    let definitions: Vec<Value> = serde_yaml::from_str(text).unwrap();
    for definition in definitions {
        let parts = RequestParts {
            method: http::Method::POST,
            uri: DEFINITIONS.to_owned(),
            media_type: "application/json",
            body: definition.to_string().into_bytes(),
        };
        sent(service, parts, &Step::default()).await?;
    }
    Ok(())
}

/// Returns a step's request after its changes, or none if it has unknown variables.
fn changed(step: &Step, variables: &Variables, changes: &[&Change]) -> Option<RequestParts> {
    let mut step = step.clone();
    let mut of_text = Vec::new();
    for change in changes {
        let is_applied = step.body.as_mut().is_some_and(|body| change.to_value(body));
        if !is_applied {
            of_text.push(*change);
        }
    }
    if step.request.is_empty() {
        return None;
    }
    let mut parts = requests::parts(&step, variables).ok()?;
    for change in of_text {
        change.to_text(&mut parts.body, &mut parts.media_type);
    }
    Some(parts)
}

/// Sends a request, checks the response, and returns its body.
async fn sent(service: &mut Service, parts: RequestParts, step: &Step) -> Result<Value, String> {
    let mut request = Request::builder().method(parts.method).uri(&parts.uri);
    let own = step.headers.iter().filter(|(_, value)| !value.is_empty());
    for (name, value) in own {
        request = request.header(name, value);
    }
    if !step.headers.contains_key("Content-Type") {
        request = request.header("Content-Type", parts.media_type);
    }
    let Ok(request) = request.body(Full::new(Bytes::from(parts.body))) else {
        // No client can send such a request.
        return Ok(Value::Null);
    };
    let response = service.call(request).await;
    let response = response.unwrap_or_else(|never| match never {});
    if response.status() == 200 && is_stream(&parts.uri) {
        return Ok(Value::Null);
    }
    checked(response).await
}

/// Returns whether the response can be an endless stream.
fn is_stream(uri: &str) -> bool {
    uri.contains("watch")
}

async fn checked(response: Response<Body>) -> Result<Value, String> {
    let code = response.status().as_u16();
    let media_type = response.headers().get("content-type").cloned();
    let media_type = media_type.as_ref().and_then(|value| value.to_str().ok());
    let is_json = media_type.is_some_and(|media_type| media_type.starts_with("application/json"));
    let body = response.into_body().collect().await;
    let body = body.unwrap_or_else(|never| match never {}).to_bytes();
    if !is_json || body.is_empty() && code < 400 {
        return Ok(Value::Null);
    }
    let text = || format!("{code}: {}", String::from_utf8_lossy(&body));
    let body: Value = serde_json::from_slice(&body).map_err(|_| format!("no JSON: {}", text()))?;
    let is_status = body["kind"] == "Status"
        && body["status"] == "Failure"
        && body["code"] == code
        && body["message"]
            .as_str()
            .is_some_and(|message| !message.is_empty());
    if code >= 400 && !is_status {
        return Err(format!("no proper Status: {}", text()));
    }
    Ok(body)
}
