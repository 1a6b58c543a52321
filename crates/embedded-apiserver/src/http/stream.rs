//! The body of a watch: one JSON document per line, or one message of protobuf after its length.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::json;

use super::representation::Representation;
use super::respond::{self, Body};
use crate::protobuf;
use crate::registry::{Media, Watch, WatchEvent};
use crate::stack;

/// Returns the response that streams the events of a watch until it ends.
pub(super) fn response(watch: Watch, show: Representation) -> Response<Body> {
    let content_type = show.form.watch_type();
    let stream = stream::unfold((watch, show), |(mut watch, mut show)| async move {
        let sent = watch.next().await?;
        let mut lines = Vec::new();
        stack::with_room(|| {
            for one in sent {
                write(&mut lines, &mut show, one);
            }
        });
        let frame: Result<Frame<Bytes>, Infallible> = Ok(Frame::data(lines.into()));
        Some((frame, (watch, show)))
    });
    let mut response = respond::response(200, content_type, Bytes::new());
    *response.body_mut() = StreamBody::new(stream).boxed_unsync();
    response
}

fn write(lines: &mut Vec<u8>, show: &mut Representation, sent: WatchEvent) {
    let form = show.form;
    let (kind, object) = match sent {
        WatchEvent::Object(change, object) => (change.text(), show.event(&object)),
        WatchEvent::Bookmark(revision, initial_end) => {
            ("BOOKMARK", show.bookmark(revision, initial_end))
        }
        WatchEvent::Failed(error) => ("ERROR", error.status()),
    };
    if form.media == Media::Protobuf {
        lines.extend(protobuf::encode_event(kind, &object).unwrap_or_default());
        return;
    }
    // The type comes first, so that a client can handle it before it has read the object.
    if form.media == Media::Yaml {
        let event = json!({"type": kind, "object": object});
        let text = serde_yaml::to_string(&event).unwrap_or_default();
        lines.extend_from_slice(text.as_bytes());
        lines.extend_from_slice(b"---\n");
        return;
    }
    lines.extend_from_slice(b"{\"type\":\"");
    lines.extend_from_slice(kind.as_bytes());
    lines.extend_from_slice(b"\",\"object\":");
    lines.extend(serde_json::to_vec(&object).unwrap_or_default());
    lines.extend_from_slice(b"}\n");
}
