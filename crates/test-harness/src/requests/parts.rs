//! The HTTP request of a step: method, path and query, body.

use std::fmt::Write;

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Step, Variables};

const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// A request without its headers.
pub struct RequestParts {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub uri: String,
    /// The media type of the body.
    pub media_type: &'static str,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// Returns the request of a step.
pub fn parts(step: &Step, variables: &Variables) -> anyhow::Result<RequestParts> {
    let (method, path) = step.request.split_once(' ').unwrap_or((&step.request, ""));
    let (method, media_type) = method_of(method);
    let uri = with_query(variables.path(path), step);
    anyhow::ensure!(!uri.contains("${"), "an unknown variable: {uri}");
    Ok(RequestParts {
        method: Method::from_bytes(method.as_bytes())?,
        uri,
        media_type,
        body: body(step)?,
    })
}

fn method_of(word: &str) -> (&str, &'static str) {
    match word {
        "MERGE" => ("PATCH", "application/merge-patch+json"),
        "JSON" => ("PATCH", "application/json-patch+json"),
        "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
        "APPLY" => ("PATCH", "application/apply-patch+yaml"),
        other => (other, "application/json"),
    }
}

fn with_query(mut uri: String, step: &Step) -> String {
    let mut query: Vec<(&str, String)> = Vec::new();
    for (name, value) in &step.query {
        let values = value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![value.clone()]);
        for value in values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            query.push((name, text));
        }
    }
    if let Some(by) = &step.by {
        query.push(("fieldManager", by.clone()));
    }
    if step.force {
        query.push(("force", "true".to_owned()));
    }
    for (name, value) in query {
        uri.push(if uri.contains('?') { '&' } else { '?' });
        let _ = write!(uri, "{name}={}", utf8_percent_encode(&value, QUERY));
    }
    uri
}

fn body(step: &Step) -> anyhow::Result<Vec<u8>> {
    let times = step.times.unwrap_or(1);
    Ok(match (&step.body, &step.raw) {
        (Some(body), None) => {
            let text = serde_json::to_string(body)?;
            anyhow::ensure!(!text.contains("${"), "an unknown variable: {text}");
            // A file contains a mark in place of a very long text.
            text.replace("<long>", &"x".repeat(times)).into_bytes()
        }
        (None, Some(raw)) => raw.repeat(times).into_bytes(),
        (None, None) => Vec::new(),
        (Some(_), Some(_)) => anyhow::bail!("both body and raw"),
    })
}
