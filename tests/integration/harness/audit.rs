//! The API server's audit log: what was really asked, by whom.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use kube::Client;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::wait::{SOON, eventually};

/// The log of one cluster.
pub(crate) struct Audit {
    path: PathBuf,
    client: Client,
}

/// A point in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u64);

/// One answered request (or, of a watch, its beginning and its end).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) verb: String,
    #[serde(rename = "requestURI")]
    pub(crate) uri: String,
    /// When the request came in: RFC 3339, UTC, microseconds, so that texts compare as times.
    #[serde(rename = "requestReceivedTimestamp")]
    pub(crate) received: String,
    /// When it was answered.
    #[serde(rename = "stageTimestamp")]
    pub(crate) answered: String,
    user: Name,
    #[serde(default)]
    pub(crate) object_ref: Target,
    #[serde(default)]
    response_status: Status,
}

/// What a request was about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Target {
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Name {
    /// Empty for who is nobody (any more).
    #[serde(default)]
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

impl Audit {
    pub(super) fn new(path: PathBuf, client: Client) -> Self {
        Self { path, client }
    }

    /// Now.
    pub(crate) async fn mark(&self) -> anyhow::Result<Mark> {
        let written = tokio::fs::metadata(&self.path).await?.len();
        Ok(Mark(self.flush(Mark(written)).await?.1))
    }

    /// All requests that were answered since a mark.
    pub(crate) async fn since(&self, mark: Mark) -> anyhow::Result<Requests> {
        let (lines, _) = self.flush(mark).await?;
        lines
            .lines()
            .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
            .collect::<anyhow::Result<_>>()
            .map(Requests)
    }

    /// The log from a mark to now: to a request of ours, so that earlier answers are in it.
    async fn flush(&self, mark: Mark) -> anyhow::Result<(String, u64)> {
        static MARKS: AtomicUsize = AtomicUsize::new(0);
        let number = MARKS.fetch_add(1, Ordering::Relaxed);
        let ours = format!("/version?mark={number}");
        let request = http::Request::get(&ours).body(Vec::new())?;
        self.client.request_text(request).await?;
        let needle = format!("\"requestURI\":\"{ours}\"");
        eventually(SOON, "the audit log", || async {
            let text = self.read(mark).await?;
            let found = text.find(&needle).context("our own request is missing")?;
            let end = found + text[found..].find('\n').context("half a line")? + 1;
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

/// Requests, to be narrowed down and counted.
#[derive(Clone, Debug)]
pub(crate) struct Requests(pub(crate) Vec<Request>);

impl Requests {
    /// Those of one user, by its full name.
    pub(crate) fn by(self, user: &str) -> Self {
        self.filter(|request| request.user() == user)
    }

    /// All but watches.
    pub(crate) fn without_watches(self) -> Self {
        self.filter(|request| request.verb != "watch")
    }

    /// Those that change something, refused ones included.
    pub(crate) fn writes(self) -> Self {
        self.filter(Request::is_write)
    }

    /// Those that a condition picks.
    pub(crate) fn filter(mut self, keep: impl FnMut(&Request) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    /// How many of each: `patch widgets/status` → 3.
    pub(crate) fn counted(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for request in &self.0 {
            *counts.entry(request.summary()).or_default() += 1;
        }
        counts
    }
}

impl Request {
    /// The full name of the user who asked.
    pub(crate) fn user(&self) -> &str {
        &self.user.username
    }

    /// The HTTP status of the answer.
    pub(crate) fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Returns whether it asks to change something. A review is created, but it is a question.
    pub(crate) fn is_write(&self) -> bool {
        let asks = matches!(self.verb.as_str(), "get" | "list" | "watch" | "head");
        !asks && !self.object_ref.resource.ends_with("reviews")
    }

    /// How long after another was answered this one came in, by the server's clock.
    pub(crate) fn received_after(&self, other: &Self) -> anyhow::Result<Duration> {
        let received: jiff::Timestamp = self.received.parse()?;
        let answered: jiff::Timestamp = other.answered.parse()?;
        // What comes in before the answer is out takes no time at all.
        Ok(received
            .duration_since(answered)
            .try_into()
            .unwrap_or_default())
    }

    fn summary(&self) -> String {
        let Target {
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
