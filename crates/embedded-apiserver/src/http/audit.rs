//! The audit log: one line of JSON per request, like the real server's log at the level `Metadata`. A watch
//! has an event at its start and none at its end.
//!
//! <https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/>

use std::fmt;
use std::io::Write;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, Method, Response, Uri};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::path::Target;
use super::respond::{self, Body};
use super::{ReceivedRequest, authorize};
use crate::access::{Attributes, review};
use crate::schema::decode;
use crate::user::User;

/// A writer of audit events.
pub struct Log(Mutex<Box<dyn Write + Send>>);

/// A request and its response.
pub(super) struct AuditedResponse<'a> {
    pub(super) incoming: &'a ReceivedRequest,
    /// The path and the query.
    pub(super) uri: &'a Uri,
    /// The authenticated user, not the impersonated one. Absent if the authentication failed.
    pub(super) user: Option<&'a User>,
    pub(super) response: &'a Response<Body>,
    pub(super) received: Timestamp,
    pub(super) now: Timestamp,
}

impl Log {
    /// Returns a log that writes to a file or another writer.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(out)))
    }

    /// Writes the line of a request before the client gets the response.
    pub(super) fn log(&self, answered: &AuditedResponse<'_>) {
        let line = format!("{}\n", answered.event());
        if let Err(error) = self.0.lock().write_all(line.as_bytes()) {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "a request is missing in the audit log");
        }
    }
}

impl AuditedResponse<'_> {
    fn event(&self) -> Value {
        let incoming = self.incoming;
        let target = Target::parse(&incoming.path);
        let attributes = authorize::attributes(incoming, &target);
        let code = self.response.status().as_u16();
        let stage = match (&*attributes.verb, code) {
            ("watch", 200) => "ResponseStarted",
            _ => "ResponseComplete",
        };
        let uri = self.uri.path_and_query();
        let mut event = json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": text(self.response.headers(), respond::AUDIT_ID),
            "stage": stage,
            "requestURI": uri.map_or_else(|| self.uri.path(), |uri| uri.as_str()),
            "verb": attributes.verb,
            "user": self.user.map_or_else(|| json!({}), review::user_info),
            "userAgent": text(&incoming.headers, USER_AGENT),
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": micros(self.received),
            "stageTimestamp": micros(self.now),
        });
        if authorize::impersonates(&incoming.headers) {
            event["impersonatedUser"] = review::user_info(&incoming.user);
        }
        if let Target::Resource(path) = &target {
            event["objectRef"] = object(&attributes, incoming, &path.version);
        }
        event
    }
}

/// Returns the `objectRef` of a request, without empty fields.
fn object(attributes: &Attributes, incoming: &ReceivedRequest, version: &str) -> Value {
    let made = (incoming.method == Method::POST && attributes.name.is_empty())
        .then(|| decode::json(&incoming.body).ok())
        .flatten();
    let made = made.as_ref().map(|made| &made.value["metadata"]["name"]);
    let name = made.and_then(Value::as_str).unwrap_or(&attributes.name);
    let fields = [
        ("resource", &*attributes.resource),
        ("namespace", &*attributes.namespace),
        ("name", name),
        ("apiGroup", &*attributes.group),
        ("apiVersion", version),
        ("subresource", &*attributes.subresource),
    ];
    let told = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let told: Map<String, Value> = told
        .map(|(field, value)| (field.to_owned(), value.into()))
        .collect();
    Value::Object(told)
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// Formats a time as RFC 3339 with microseconds, as in the log of the real server.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
