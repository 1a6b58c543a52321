//! Parses lists and watch streams into cached objects.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Content, Watch, WatchSpec};
use crate::clock::Instant;
use crate::cluster::ApiKind;
use crate::cluster::api_call::{ApiCall, RetryPolicy};
use crate::cluster::error::{self, Error, ErrorKind, Target};
use crate::cluster::transport::ResponseBody;
use crate::model::redact::PublicText;
use crate::model::{Gvk, Object};
use crate::telemetry::log;

/// The characters that a query does not escape.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');
/// Capacity of the buffer between events, in bytes.
const IDLE_BUFFER: usize = 4096;
/// The number of objects per page. A page of 500 Pods has 3 MB, which causes no memory peak and needs few
/// requests.
const PAGE_SIZE: usize = 500;

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                        application/json;q=0.5";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                             application/json;q=0.5";

/// Appends a parameter to a path with or without a query.
pub(in crate::cluster) fn push_parameter(uri: &mut String, name: &str, value: &str) {
    uri.push(if uri.contains('?') { '&' } else { '?' });
    uri.push_str(name);
    uri.push('=');
    uri.extend(utf8_percent_encode(value, QUERY));
}

/// One page of a list.
pub(in crate::cluster) struct ListPage {
    pub(in crate::cluster) resource_version: Box<str>,
    pub(in crate::cluster) next: Option<String>,
    pub(in crate::cluster) objects: Vec<Arc<Object>>,
    /// The reason that items are missing: they have no address.
    pub(in crate::cluster) malformed: Vec<String>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    /// Required: without it, an answer that is not a list would look as if all objects were deleted.
    #[serde(borrow, deserialize_with = "null_is_empty")]
    items: Vec<&'a RawValue>,
}

/// Deserializes a list of a server in Go, which can write an empty one as null.
fn null_is_empty<'de, D, T>(reader: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(reader)?.unwrap_or_default())
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Box<str>,
    r#continue: Option<String>,
}

/// Creates the call of a list. `page` is the continue token.
pub(in crate::cluster) fn list_call(
    kind: &ApiKind,
    namespace: Option<&str>,
    parameters: &[(&str, String)],
    content: Content,
    page: Option<&str>,
) -> ApiCall {
    let mut uri = kind.path(namespace);
    push_parameter(&mut uri, "limit", &PAGE_SIZE.to_string());
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        push_parameter(&mut uri, name, value);
    }
    if let Some(page) = page {
        push_parameter(&mut uri, "continue", page);
    }
    let target = collection(kind, namespace, "list");
    ApiCall {
        accept: match content {
            Content::Full => "application/json",
            Content::Metadata => METADATA_LIST,
        },
        ..ApiCall::get(target, uri)
    }
}

pub(in crate::cluster) fn parse_page(
    gvk: &Gvk,
    content: Content,
    body: &[u8],
    target: &Target,
) -> Result<ListPage, Error> {
    let malformed = |cause: &dyn std::error::Error| {
        Error::local(ErrorKind::Malformed, cause.to_string(), target.clone())
    };
    let list: List<'_> = serde_json::from_slice(body).map_err(|cause| malformed(&cause))?;
    let mut malformed = Vec::new();
    let mut objects = Vec::with_capacity(list.items.len());
    for item in list.items {
        match parse(gvk, content, item.get()) {
            Ok(object) => objects.push(object),
            Err(cause) => malformed.push(describe(&cause)),
        }
    }
    let is_elsewhere = |object: &&Arc<Object>| {
        let namespace = object.namespace.as_deref().unwrap_or_default();
        !target.namespace.is_empty() && target.namespace != namespace
    };
    if let Some(object) = objects.iter().find(is_elsewhere) {
        let message = format!("the server answered with {}", object.object_ref());
        return Err(Error::local(ErrorKind::Malformed, message, target.clone()));
    }
    Ok(ListPage {
        resource_version: list.metadata.resource_version,
        next: list.metadata.r#continue.filter(|next| !next.is_empty()),
        objects,
        malformed,
    })
}

/// Logs that the server sent an item that is not an object.
pub(super) fn report_malformed(gvk: &Gvk, cause: &str) {
    let error = PublicText::outside_runs(cause);
    log::error!("ignoring a malformed object", kind = *gvk, error = error);
}

/// Joins an error and its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

fn parse(
    gvk: &Gvk,
    content: Content,
    text: &str,
) -> Result<Arc<Object>, crate::model::object::MalformedObject> {
    let object = match content {
        Content::Full => Object::from_json(gvk, text),
        Content::Metadata => Object::metadata_from_json(gvk, text),
    };
    let object = object?;
    if let Some(why) = &object.unreadable {
        let error = PublicText::outside_runs(why);
        log::warn!(
            "cannot read an object",
            object = object.object_ref(),
            error = error
        );
    }
    Ok(Arc::new(object))
}

fn collection(kind: &ApiKind, namespace: Option<&str>, verb: &'static str) -> Target {
    Target {
        verb,
        resource: kind.resource(),
        namespace: namespace.unwrap_or_default().to_owned(),
        name: String::new(),
    }
}

/// Creates the call that opens a watch.
pub(super) fn watch_call(
    spec: &WatchSpec,
    kind: &ApiKind,
    version: &str,
    timeout: Duration,
) -> ApiCall {
    let namespace = spec.namespace.as_deref();
    let mut uri = kind.path(namespace);
    push_parameter(&mut uri, "watch", "true");
    push_parameter(&mut uri, "allowWatchBookmarks", "true");
    push_parameter(&mut uri, "resourceVersion", version);
    push_parameter(
        &mut uri,
        "timeoutSeconds",
        &timeout.as_secs().max(1).to_string(),
    );
    if !spec.labels.is_empty() {
        push_parameter(&mut uri, "labelSelector", &spec.labels.to_string());
    }
    ApiCall {
        accept: match spec.content {
            Content::Full => "application/json",
            Content::Metadata => METADATA,
        },
        retry: RetryPolicy::Never,
        ..ApiCall::get(collection(kind, namespace, "watch"), uri)
    }
}

/// An event of a watch stream.
pub(super) enum WatchEvent {
    Applied(Arc<Object>),
    Deleted(Arc<Object>),
    /// A bookmark: the server has sent all changes up to this version.
    Bookmark(Box<str>),
}

/// The part of an event that identifies a version of an object.
#[derive(Deserialize)]
struct IdentifiedObject<'a> {
    #[serde(borrow)]
    metadata: Identity<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// An open watch.
pub(super) struct EventStream<'a> {
    watch: &'a Watch,
    target: Target,
    body: ResponseBody,
    buffer: Vec<u8>,
    /// The start of the next line.
    start: usize,
    /// The end of the part in which no line end was found.
    searched: usize,
    /// A connection without data until this time is dead, because the server ends a watch earlier.
    until: Instant,
}

impl<'a> EventStream<'a> {
    pub(super) fn new(
        watch: &'a Watch,
        target: Target,
        body: ResponseBody,
        until: Instant,
    ) -> Self {
        Self {
            watch,
            target,
            body,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            until,
        }
    }

    /// Returns the next event; `None` if the server ended the watch without an error.
    pub(super) async fn next(&mut self) -> Result<Option<WatchEvent>, Error> {
        loop {
            if let Some(end) = self.line_end() {
                let event = self.parse(&self.buffer[self.start..end]);
                self.start = end + 1;
                self.searched = self.start;
                match event? {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            self.compact();
            match tokio::time::timeout_at(self.until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Ok(Some(Err(cause))) => {
                    return Err(Error::unreachable(&*cause, self.target.clone()));
                }
                Ok(None) => return Ok(None),
                Err(_) => {
                    let words = "timeout: the server sent no event and did not end the watch";
                    return Err(Error::local(ErrorKind::Timeout, words, self.target.clone()));
                }
            }
        }
    }

    fn line_end(&mut self) -> Option<usize> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let end = found.map(|offset| self.searched + offset);
        self.searched = end.unwrap_or(self.buffer.len());
        end
    }

    /// Removes the parsed bytes, and releases the memory that a burst needed.
    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(IDLE_BUFFER);
        }
    }

    /// Parses an event; `None` for an object without an address, which must not block other events.
    fn parse(&self, line: &[u8]) -> Result<Option<WatchEvent>, Error> {
        let malformed = |cause: &dyn std::error::Error| self.malformed(cause.to_string());
        let line: Line<'_> = serde_json::from_slice(line).map_err(|cause| malformed(&cause))?;
        let text = line.object.get();
        if line.r#type == "ERROR" {
            return Err(self.error_event(text));
        }
        let spec = &self.watch.spec;
        let object = |content| {
            parse(&spec.gvk, content, text)
                .inspect_err(|cause| report_malformed(&spec.gvk, &describe(cause)))
                .ok()
        };
        let event = match &*line.r#type {
            "BOOKMARK" => {
                let bookmark = object(Content::Metadata);
                let version = bookmark.map(|bookmark| bookmark.resource_version.clone());
                return Ok(version.map(WatchEvent::Bookmark));
            }
            "DELETED" => object(spec.content).map(WatchEvent::Deleted),
            "ADDED" | "MODIFIED" => self
                .cached_version(text)
                .or_else(|| object(spec.content))
                .map(WatchEvent::Applied),
            other => {
                let message = format!("the server sent an event of the unknown type {other:?}");
                return Err(self.malformed(message));
            }
        };
        let Some(WatchEvent::Applied(object) | WatchEvent::Deleted(object)) = &event else {
            return Ok(event);
        };
        if spec.covers(object.namespace.as_deref()) {
            return Ok(event);
        }
        let message = format!("the server sent an event of {}", object.object_ref());
        Err(self.malformed(message))
    }

    fn malformed(&self, message: String) -> Error {
        Error::local(ErrorKind::Malformed, message, self.target.clone())
    }

    /// Returns the cached object if it has the version of the event. Most events are echoes of writes of
    /// this process, whose answers came first.
    fn cached_version(&self, text: &str) -> Option<Arc<Object>> {
        let IdentifiedObject { metadata } = serde_json::from_str(text).ok()?;
        let namespace = metadata.namespace.as_deref();
        let held = self.watch.get(namespace, &metadata.name)?;
        let same =
            *held.uid == *metadata.uid && *held.resource_version == *metadata.resource_version;
        same.then_some(held)
    }

    /// An ERROR event contains a Status.
    fn error_event(&self, status: &str) -> Error {
        #[derive(Deserialize)]
        struct Code {
            #[serde(default)]
            code: u16,
        }
        let code = serde_json::from_str::<Code>(status).map_or(500, |status| status.code);
        let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        error::classify(code, status.as_bytes(), None, self.target.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures::StreamExt;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::clock;
    use crate::cluster::transport;
    use crate::cluster::watch::{Purpose, WatchId};
    use crate::model::selector::LabelSelector;

    const TEXT: &str = concat!(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"5"}}}"#,
        "\n",
        r#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}"#,
        "\n",
    );

    /// A body that arrives in pieces of a size, and then ends or stalls.
    fn body(text: &str, piece: usize, ends: bool) -> ResponseBody {
        let chunks = text.as_bytes().chunks(piece);
        let pieces: Vec<_> = chunks.map(Bytes::copy_from_slice).collect();
        let frames = futures::stream::iter(pieces);
        let frames = frames.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        let rest = futures::stream::pending().take(usize::from(!ends));
        transport::body(StreamBody::new(frames.chain(rest)))
    }

    fn watch() -> Watch {
        let spec = WatchSpec {
            gvk: Gvk::new("", "v1", "ConfigMap"),
            namespace: None,
            labels: LabelSelector::default(),
            content: Content::Full,
            purpose: Purpose::Primary,
        };
        let id = WatchId(0);
        Watch::new(id, spec, Duration::from_mins(1), CancellationToken::new())
    }

    /// Returns the events up to the end or an error.
    async fn read(text: &str, piece: usize, ends: bool) -> (Vec<String>, Result<(), ErrorKind>) {
        let until = clock::now() + Duration::from_secs(5);
        let body = body(text, piece, ends);
        let watch = watch();
        let mut events = EventStream::new(&watch, Target::default(), body, until);
        let mut seen = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(WatchEvent::Applied(object))) => seen.push(format!("+{}", object.name)),
                Ok(Some(WatchEvent::Deleted(object))) => seen.push(format!("-{}", object.name)),
                Ok(Some(WatchEvent::Bookmark(version))) => seen.push(format!("={version}")),
                Ok(None) => return (seen, Ok(())),
                Err(error) => return (seen, Err(error.kind)),
            }
        }
    }

    #[tokio::test]
    async fn events_are_read_however_they_are_cut() {
        for piece in [1, 7, 80, 1000] {
            let (seen, end) = read(TEXT, piece, true).await;
            assert_eq!(seen, ["+a", "=5", "-a"], "{piece}");
            assert_eq!(end, Ok(()));
        }
    }

    #[tokio::test]
    async fn a_malformed_object_does_not_block_others() {
        let bad = r#"{"type":"ADDED","object":{"metadata":{"name":7}}}"#;
        let deep = format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"deep"}},"spec":{}{}}}}}"#,
            "[".repeat(2000),
            "]".repeat(2000)
        );
        let (seen, end) = read(&format!("{bad}\n{deep}\n{TEXT}"), 1000, true).await;
        assert_eq!(seen, ["+deep", "+a", "=5", "-a"]);
        assert_eq!(end, Ok(()));
        let list = format!(
            r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{{"metadata":{{"labels":1}}}},{{"metadata":{{"name":"deep"}},"spec":{}{}}},{{"metadata":{{"name":"b"}}}}]}}"#,
            "[".repeat(2000),
            "]".repeat(2000)
        );
        let gvk = Gvk::new("", "v1", "ConfigMap");
        let page = parse_page(&gvk, Content::Full, list.as_bytes(), &Target::default()).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| &*object.name).collect();
        assert_eq!((names, page.malformed.len()), (vec!["deep", "b"], 1));
        assert!(page.objects[0].unreadable.is_some());
    }

    #[tokio::test]
    async fn cached_objects_are_not_parsed_again() {
        let watch = watch();
        let object = |uid: &str, version: &str| {
            format!(r#"{{"metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}"}}}}"#)
        };
        let gvk = &watch.spec.gvk;
        let held = parse(gvk, Content::Full, &object("u", "2")).unwrap();
        watch.store.lock().applied(&held);
        for (uid, version, is_held) in [("u", "2", true), ("u", "3", false), ("v", "2", false)] {
            let line = format!(
                "{{\"type\":\"MODIFIED\",\"object\":{}}}\n",
                object(uid, version)
            );
            let body = body(&line, 1000, true);
            let until = clock::now() + Duration::from_secs(5);
            let mut events = EventStream::new(&watch, Target::default(), body, until);
            let Ok(Some(WatchEvent::Applied(seen))) = events.next().await else {
                panic!("no event of {uid} {version}");
            };
            assert_eq!(Arc::ptr_eq(&seen, &held), is_held, "{uid} {version}");
            assert_eq!((&*seen.uid, &*seen.resource_version), (uid, version));
        }
    }

    #[test]
    fn a_list_has_objects_of_the_namespace_that_was_asked_for() {
        let gvk = Gvk::new("", "v1", "ConfigMap");
        let page = |asked: &str| {
            let target = Target {
                namespace: asked.to_owned(),
                ..Target::default()
            };
            let item = r#"{"metadata":{"name":"a","namespace":"b","resourceVersion":"1"}}"#;
            let body = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":[{item}]}}"#);
            let page = parse_page(&gvk, Content::Full, body.as_bytes(), &target);
            page.map(|page| page.objects.len())
                .map_err(|error| error.kind)
        };
        assert_eq!(page(""), Ok(1));
        assert_eq!(page("b"), Ok(1));
        assert_eq!(page("c"), Err(ErrorKind::Malformed));
    }

    #[test]
    fn an_answer_that_is_not_a_list_is_an_error() {
        let gvk = Gvk::new("", "v1", "ConfigMap");
        let page = |body: &str| {
            let page = parse_page(&gvk, Content::Full, body.as_bytes(), &Target::default());
            page.map(|page| page.objects.len())
                .map_err(|error| error.kind)
        };
        assert_eq!(page(r#"{"metadata":{},"items":[]}"#), Ok(0));
        assert_eq!(page(r#"{"metadata":{},"items":null}"#), Ok(0));
        for body in ["{}", r#"{"kind":"Status","metadata":{}}"#, r#"{"items":1}"#] {
            assert_eq!(page(body), Err(ErrorKind::Malformed), "{body}");
        }
    }

    #[tokio::test]
    async fn an_event_that_the_watch_did_not_ask_for_is_an_error() {
        let (seen, end) = read(
            "{\"type\":\"GONE\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
            1000,
            true,
        )
        .await;
        assert_eq!((seen.len(), end), (0, Err(ErrorKind::Malformed)));
        let mut watch = watch();
        watch.spec.namespace = Some("b".into());
        let line = r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"c","resourceVersion":"1"}}}"#;
        let until = clock::now() + Duration::from_secs(5);
        let body = body(&format!("{line}\n"), 1000, true);
        let mut events = EventStream::new(&watch, Target::default(), body, until);
        let error = events.next().await.err().map(|error| error.kind);
        assert_eq!(error, Some(ErrorKind::Malformed));
    }

    #[tokio::test]
    async fn an_incomplete_event_is_ignored() {
        let (seen, end) = read(&TEXT[..TEXT.len() - 9], 50, true).await;
        assert_eq!((seen.len(), end), (2, Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_beyond_the_time_is_an_error() {
        let (seen, end) = read(TEXT, 1000, false).await;
        assert_eq!((seen.len(), end), (3, Err(ErrorKind::Timeout)));
    }

    #[tokio::test]
    async fn an_error_event_has_its_class() {
        let gone = r#"{"type":"ERROR","object":{"code":410,"reason":"Expired"}}"#;
        let (_, end) = read(&format!("{gone}\n"), 1000, true).await;
        assert_eq!(end, Err(ErrorKind::Gone));
        let (_, end) = read("<html>\n", 1000, true).await;
        assert_eq!(end, Err(ErrorKind::Malformed));
    }

    #[test]
    fn parameters_are_escaped() {
        let mut uri = "/x".to_owned();
        push_parameter(&mut uri, "labelSelector", "a in (b,c),d/e=f g");
        push_parameter(&mut uri, "limit", "5");
        assert_eq!(
            uri,
            "/x?labelSelector=a%20in%20%28b%2Cc%29%2Cd/e%3Df%20g&limit=5"
        );
    }
}
