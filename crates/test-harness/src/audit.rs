//! The API server's audit log: the requests that it answered, with their users.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use kube::Client;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::wait::{SOON, eventually};

/// The audit log of a cluster.
pub struct AuditLog {
    path: PathBuf,
    client: Client,
}

/// A position in the log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

/// An answered request. A watch has two entries: its start and its end.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The verb of Kubernetes: `get`, `patch`.
    pub verb: String,
    /// The path and the query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    /// The time at which the request arrived: RFC 3339, UTC, microseconds. Texts compare as times.
    #[serde(rename = "requestReceivedTimestamp")]
    pub received: String,
    /// The time of the answer.
    #[serde(rename = "stageTimestamp")]
    pub answered: String,
    user: UserName,
    /// The object or the list that the request names.
    #[serde(default)]
    pub object_ref: ObjectReference,
    #[serde(default)]
    response_status: ResponseStatus,
}

/// The object or the list that a request names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// The plural name of the kind.
    pub resource: String,
    /// `status`, `scale`; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// The name; empty for lists, and for creates with a generated name.
    pub name: String,
}

#[derive(Clone, Debug, Deserialize)]
struct UserName {
    /// Empty if the server did not authenticate the request.
    #[serde(default)]
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf, client: Client) -> Self {
        Self { path, client }
    }

    /// Returns the end of the log.
    pub async fn mark(&self) -> anyhow::Result<Mark> {
        let written = tokio::fs::metadata(&self.path).await?.len();
        Ok(Mark(self.flush(Mark(written)).await?.1))
    }

    /// Returns the requests that were answered after a mark.
    pub async fn since(&self, mark: Mark) -> anyhow::Result<Requests> {
        let (lines, _) = self.flush(mark).await?;
        lines
            .lines()
            .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
            .collect::<anyhow::Result<_>>()
            .map(Requests)
    }

    /// Reads the log from a mark to a request that this function sends. Earlier answers are before it.
    async fn flush(&self, mark: Mark) -> anyhow::Result<(String, u64)> {
        static MARKS: AtomicUsize = AtomicUsize::new(0);
        let number = MARKS.fetch_add(1, Ordering::Relaxed);
        let probe = format!("/version?mark={number}");
        let request = http::Request::get(&probe).body(Vec::new())?;
        self.client.request_text(request).await?;
        let needle = format!("\"requestURI\":\"{probe}\"");
        eventually(SOON, "the audit log", || async {
            let text = self.read(mark).await?;
            let found = text.find(&needle).context("the probe is not in the log")?;
            let end = found + text[found..].find('\n').context("the line is incomplete")? + 1;
            let start = text[..found].rfind('\n').map_or(0, |newline| newline + 1);
            anyhow::Ok((text[..start].to_owned(), mark.0 + end as u64))
        })
        .await
    }

    async fn read(&self, mark: Mark) -> anyhow::Result<String> {
        let mut file = tokio::fs::File::open(&self.path).await?;
        file.seek(std::io::SeekFrom::Start(mark.0)).await?;
        let mut text = String::new();
        file.read_to_string(&mut text).await?;
        Ok(text)
    }
}

/// A list of requests.
#[derive(Clone, Debug)]
pub struct Requests(pub Vec<Request>);

impl Requests {
    /// Keeps the requests of one user, by its full name.
    pub fn by(self, user: &str) -> Self {
        self.filter(|request| request.user() == user)
    }

    /// Removes watches.
    pub fn without_watches(self) -> Self {
        self.filter(|request| request.verb != "watch")
    }

    /// Keeps writes, refused ones included.
    pub fn writes(self) -> Self {
        self.filter(Request::is_write)
    }

    /// Keeps the requests that fulfill a condition.
    pub fn filter(mut self, keep: impl FnMut(&Request) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    /// Counts the requests by verb and resource: `patch widgets/status` → 3.
    pub fn counted(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for request in &self.0 {
            *counts.entry(request.summary()).or_default() += 1;
        }
        counts
    }
}

impl Request {
    /// Returns the full name of the user.
    pub fn user(&self) -> &str {
        &self.user.username
    }

    /// Returns the HTTP status of the answer.
    pub fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Returns whether the request is a write. A review is created but changes nothing.
    pub fn is_write(&self) -> bool {
        let reads = matches!(self.verb.as_str(), "get" | "list" | "watch" | "head");
        !reads && !self.object_ref.resource.ends_with("reviews")
    }

    /// Returns the time from the answer of another request to the arrival of this one, by the server's
    /// clock.
    pub fn received_after(&self, other: &Self) -> anyhow::Result<Duration> {
        let received: jiff::Timestamp = self.received.parse()?;
        let answered: jiff::Timestamp = other.answered.parse()?;
        // The time is zero if the request arrived before the answer.
        Ok(received
            .duration_since(answered)
            .try_into()
            .unwrap_or_default())
    }

    fn summary(&self) -> String {
        let ObjectReference {
            resource,
            subresource,
            ..
        } = &self.object_ref;
        match (resource.as_str(), subresource.as_str()) {
            ("", _) => format!("{} {}", self.verb, self.uri),
            (resource, "") => format!("{} {resource}", self.verb),
            (resource, subresource) => format!("{} {resource}/{subresource}", self.verb),
        }
    }
}
