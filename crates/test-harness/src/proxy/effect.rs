//! Effects of faults on requests.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;
use serde_json::json;

use super::body::{Body, complete};

/// The answer of the API server to a request.
pub(super) type Answering = Pin<Box<dyn Future<Output = Result<Response<Incoming>, Error>> + Send>>;

/// An effect of a fault on a request.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Answer(u16, Vec<(&'static str, String)>),
    Delay(Duration),
    Cut,
    LoseAnswer,
    Hold,
    HoldAnswer,
    /// Replaces a text in the answer.
    Rewrite(String, String),
    Expire,
    Silence,
}

/// Returns an error in the API server's format.
pub(super) fn refusal(
    code: u16,
    headers: &[(&'static str, String)],
) -> anyhow::Result<Response<Body>> {
    let mut answer = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    for (name, value) in headers {
        answer = answer.header(*name, value);
    }
    Ok(answer.body(complete(status(code).to_string()))?)
}

/// Returns a watch whose only event is that its resourceVersion is too old.
pub(super) fn expiry() -> anyhow::Result<Response<Body>> {
    let event = json!({"type": "ERROR", "object": status(410)});
    Ok(Response::builder()
        .header("content-type", "application/json")
        .body(complete(format!("{event}\n")))?)
}

fn status(code: u16) -> serde_json::Value {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("injected {code}"), "reason": reason, "code": code,
    })
}
