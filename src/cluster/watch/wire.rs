//! Lists and watch streams as the server sends them, parsed straight into cached objects.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt;
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Content, Spec};
use crate::clock::Instant;
use crate::cluster::ApiKind;
use crate::cluster::call::{Attempts, Call};
use crate::cluster::error::{self, Error, ErrorKind, Target};
use crate::model::{Gvk, Object};

/// What stays readable in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');
/// A page of 500 Pods is 3 MB: no visible peak, few requests.
const PAGE: usize = 500;

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
pub(in crate::cluster) struct Page {
    pub(in crate::cluster) resource_version: Box<str>,
    pub(in crate::cluster) next: Option<String>,
    pub(in crate::cluster) objects: Vec<Arc<Object>>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Box<str>,
    r#continue: Option<String>,
}

/// A list's call: `page` says where to go on.
pub(in crate::cluster) fn list_call(
    kind: &ApiKind,
    namespace: Option<&str>,
    parameters: &[(&str, String)],
    content: Content,
    page: Option<&str>,
) -> Call {
    let mut uri = kind.path(namespace);
    push_parameter(&mut uri, "limit", &PAGE.to_string());
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        push_parameter(&mut uri, name, value);
    }
    if let Some(page) = page {
        push_parameter(&mut uri, "continue", page);
    }
    let target = collection(kind, namespace, "list");
    Call {
        accept: match content {
            Content::Full => "application/json",
            Content::Metadata => METADATA_LIST,
        },
        ..Call::get(target, uri)
    }
}

pub(in crate::cluster) fn parse_page(
    gvk: &Gvk,
    content: Content,
    body: &[u8],
    target: &Target,
) -> Result<Page, Error> {
    let malformed = |cause: &dyn std::error::Error| {
        Error::local(ErrorKind::Malformed, cause.to_string(), target.clone())
    };
    let list: List<'_> = serde_json::from_slice(body).map_err(|cause| malformed(&cause))?;
    let items = list.items.unwrap_or_default();
    let objects: Result<_, _> = items
        .iter()
        .map(|raw| parse(gvk, content, raw.get()))
        .collect();
    Ok(Page {
        resource_version: list.metadata.resource_version,
        next: list.metadata.r#continue.filter(|next| !next.is_empty()),
        objects: objects.map_err(|cause| malformed(&cause))?,
    })
}

fn parse(
    gvk: &Gvk,
    content: Content,
    text: &str,
) -> Result<Arc<Object>, crate::model::object::Malformed> {
    let object = match content {
        Content::Full => Object::from_json(gvk, text),
        Content::Metadata => Object::metadata_from_json(gvk, text),
    };
    object.map(Arc::new)
}

fn collection(kind: &ApiKind, namespace: Option<&str>, verb: &'static str) -> Target {
    Target {
        verb,
        resource: kind.resource(),
        namespace: namespace.unwrap_or_default().to_owned(),
        name: String::new(),
    }
}

/// The call that opens a watch.
pub(super) fn watch_call(spec: &Spec, kind: &ApiKind, version: &str, timeout: Duration) -> Call {
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
    Call {
        accept: match spec.content {
            Content::Full => "application/json",
            Content::Metadata => METADATA,
        },
        attempts: Attempts::One,
        ..Call::get(collection(kind, namespace, "watch"), uri)
    }
}

/// What a watch says.
pub(super) enum Event {
    Applied(Arc<Object>),
    Deleted(Arc<Object>),
    /// Everything up to this version has been sent.
    Bookmark(Box<str>),
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// An open watch.
pub(super) struct Events<'a> {
    spec: &'a Spec,
    target: Target,
    body: Body,
    buffer: Vec<u8>,
    /// How far the buffer is searched for the end of a line.
    searched: usize,
    /// A connection that says nothing until then is dead: the server ends a watch before.
    until: Instant,
}

impl<'a> Events<'a> {
    pub(super) fn new(spec: &'a Spec, target: Target, body: Body, until: Instant) -> Self {
        Self {
            spec,
            target,
            body,
            buffer: Vec::new(),
            searched: 0,
            until,
        }
    }

    /// The next event; `None` when the server ended the watch in good order.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(length) = self.line_length() {
                let event = self.parse(length);
                self.buffer.drain(..=length);
                self.searched = 0;
                return event.map(Some);
            }
            // What the last event needed is not kept for the next.
            if self.buffer.is_empty() {
                self.buffer.shrink_to(4096);
            }
            match tokio::time::timeout_at(self.until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Ok(Some(Err(cause))) => {
                    return Err(Error::unreachable(&cause, self.target.clone()));
                }
                Ok(None) => return Ok(None),
                Err(_) => {
                    let words = "the watch was silent beyond its time";
                    return Err(Error::local(ErrorKind::Timeout, words, self.target.clone()));
                }
            }
        }
    }

    fn line_length(&mut self) -> Option<usize> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let length = found.map(|offset| self.searched + offset);
        self.searched = length.unwrap_or(self.buffer.len());
        length
    }

    fn parse(&self, length: usize) -> Result<Event, Error> {
        let malformed = |cause: &dyn std::error::Error| {
            Error::local(ErrorKind::Malformed, cause.to_string(), self.target.clone())
        };
        let line: Line<'_> =
            serde_json::from_slice(&self.buffer[..length]).map_err(|cause| malformed(&cause))?;
        let text = line.object.get();
        if line.r#type == "ERROR" {
            return Err(self.refused(text));
        }
        let content = match &*line.r#type {
            "BOOKMARK" => Content::Metadata,
            _ => self.spec.content,
        };
        let object = parse(&self.spec.gvk, content, text).map_err(|cause| malformed(&cause))?;
        Ok(match &*line.r#type {
            "BOOKMARK" => Event::Bookmark(object.resource_version.clone()),
            "DELETED" => Event::Deleted(object),
            _ => Event::Applied(object),
        })
    }

    /// An ERROR event carries a Status.
    fn refused(&self, status: &str) -> Error {
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
