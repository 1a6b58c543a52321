//! Reads the events of a watch one by one.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use test_harness::requests::Watch;

/// The time to wait for a surplus event.
const SURPLUS: Duration = Duration::from_millis(200);

/// A stream of events.
pub(crate) struct Stream {
    body: Body,
    read: BytesMut,
}

enum Next {
    Event(Value),
    Closed,
    Broken,
    Nothing,
}

impl Stream {
    /// Returns the stream of a response body.
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            read: BytesMut::new(),
        }
    }

    /// Reads the requested events, and one more if there is one. Returns them and the way in which the stream
    /// ended.
    pub(crate) async fn events(
        &mut self,
        watch: &Watch,
        patience: Duration,
    ) -> (Vec<Value>, &'static str) {
        let mut events = Vec::new();
        loop {
            let is_full = watch.events.is_some_and(|wanted| events.len() >= wanted);
            let patience = if is_full { SURPLUS } else { patience };
            match self.next(patience).await {
                // Such bookmarks come at any time, about once a minute.
                Next::Event(event) if is_mere_bookmark(&event) => {}
                Next::Event(event) => events.push(event),
                Next::Closed => return (events, "closed by the server"),
                Next::Broken => return (events, "connection lost"),
                Next::Nothing if is_full => return (events, "open"),
                Next::Nothing => return (events, "waited in vain for another event"),
            }
        }
    }

    async fn next(&mut self, patience: Duration) -> Next {
        let until = clock::now() + patience;
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line = self.read.split_to(end + 1);
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Next::Event(parsed(&line));
            }
            match tokio::time::timeout_at(until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(mut data) = frame.into_data() {
                        while data.has_remaining() {
                            let chunk = data.chunk().to_vec();
                            data.advance(chunk.len());
                            self.read.extend_from_slice(&chunk);
                        }
                    }
                }
                Ok(Some(Err(_))) => return Next::Broken,
                Ok(None) if self.read.is_empty() => return Next::Closed,
                Ok(None) => return Next::Event(parsed(&self.read.split())),
                Err(_) => return Next::Nothing,
            }
        }
    }
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or_else(|_| String::from_utf8_lossy(line).into())
}

fn is_mere_bookmark(event: &Value) -> bool {
    let ends_initial_events = event.pointer("/object/metadata/annotations").is_some();
    event["type"] == "BOOKMARK" && !ends_initial_events
}
