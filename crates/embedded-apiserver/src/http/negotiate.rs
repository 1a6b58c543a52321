//! Negotiates the media types of bodies and responses.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources>

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};

use super::query::Query;
use super::strategy::{MEDIA_TYPES, strategy_of, unknown_media_type};
use crate::error::ApiError;
use crate::go;
use crate::registry::{Media, PatchType};
use crate::resource::Resource;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) media: Media,
    pub(super) pretty: bool,
    pub(super) shape: ObjectForm,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            media: Media::Json,
            pretty: false,
            shape: ObjectForm::Object,
        }
    }
}

/// The representation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectForm {
    /// The whole object.
    Object,
    /// A row of a table, which includes this much of the object.
    Table(Include),
    /// `PartialObjectMetadata`
    Metadata,
}

/// The part of the object that a table row contains (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

/// An entry of an Accept header.
struct Range<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        Self {
            media: parts.next().unwrap_or_default(),
            parameters: parts.filter_map(|part| part.split_once('=')).collect(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        let found = self.parameters.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }

    /// Returns the weight of the media type, from 0 to 1.
    fn weight(&self) -> f64 {
        let weight = self.parameter("q").and_then(|q| q.parse().ok());
        weight.unwrap_or(1.0)
    }
}

/// Returns the entries of an Accept header by descending weight.
fn ranges(accept: &str) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = accept.split(',').map(Range::parse).collect();
    ranges.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    ranges
}

pub(super) fn accept(headers: &HeaderMap) -> String {
    let values = headers.get_all(ACCEPT).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

/// Returns whether the client accepts aggregated discovery.
pub(super) fn wants_aggregated(accept: &str) -> bool {
    ranges(accept).iter().any(|range| {
        range.media == "application/json"
            && range.parameter("g") == Some("apidiscovery.k8s.io")
            && range.parameter("v") == Some("v2")
            && range.parameter("as") == Some("APIGroupDiscoveryList")
    })
}

impl Form {
    /// Negotiates the form of the response from the headers and the query.
    pub(super) fn negotiate(
        headers: &HeaderMap,
        query: &Query,
        resource: &Resource,
    ) -> Result<Self, ApiError> {
        let strategy = strategy_of(resource);
        let accept = accept(headers);
        let plain = Self {
            pretty: is_pretty(headers, query),
            ..Self::default()
        };
        if accept.trim().is_empty() {
            return Ok(plain);
        }
        for range in ranges(&accept) {
            let media = match range.media {
                "*/*" | "application/json" => Media::Json,
                "application/*" if strategy.accepts_any_application() => Media::Json,
                "application/yaml" => Media::Yaml,
                PROTOBUF => Media::Protobuf,
                _ => continue,
            };
            let Some(shape) = shape(&range, query)? else {
                continue;
            };
            let served = match shape {
                // Custom resources have no protobuf. Their metadata does.
                ObjectForm::Object => strategy.has_protobuf() || media != Media::Protobuf,
                ObjectForm::Table(_) => media != Media::Protobuf && resource.is_stored(),
                ObjectForm::Metadata => true,
            };
            if !served {
                continue;
            }
            return Ok(Self {
                media,
                shape,
                ..plain
            });
        }
        let has_form = ranges(&accept).iter().any(|range| {
            matches!(
                range.media,
                "*/*" | "application/json" | "application/yaml" | PROTOBUF
            )
        });
        Err(strategy.not_acceptable(has_form))
    }

    /// Returns the form of an error that no form was found for: protobuf if the client prefers it.
    pub(super) fn of_error(headers: &HeaderMap) -> Self {
        let accept = accept(headers);
        let known = [PROTOBUF, "application/json", "application/yaml", "*/*"];
        let ranges = ranges(&accept);
        let preferred = ranges
            .iter()
            .find(|range| known.contains(&range.media) && range.parameter("as").is_none());
        match preferred {
            Some(range) if range.media == PROTOBUF => Self {
                media: Media::Protobuf,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// Returns the media type of the response.
    pub(super) fn content_type(self) -> &'static str {
        match self.media {
            Media::Json => "application/json",
            Media::Yaml => "application/yaml",
            Media::Protobuf => PROTOBUF,
        }
    }

    /// The media type of a watch.
    pub(super) fn watch_type(self) -> &'static str {
        match self.media {
            Media::Json => "application/json",
            Media::Yaml => "application/yaml;stream=watch",
            Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// Returns the representation that an entry requests, if the server supports it.
fn shape(range: &Range<'_>, query: &Query) -> Result<Option<ObjectForm>, ApiError> {
    let meta = range.parameter("g") == Some("meta.k8s.io");
    let version = matches!(range.parameter("v"), Some("v1" | "v1beta1"));
    Ok(match range.parameter("as") {
        None => Some(ObjectForm::Object),
        Some("Table") if meta && version => Some(ObjectForm::Table(include(query)?)),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") if meta && version => {
            Some(ObjectForm::Metadata)
        }
        Some(_) => None,
    })
}

fn include(query: &Query) -> Result<Include, ApiError> {
    match query.get("includeObject") {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => Err(ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be \
             'Metadata', 'Object', 'None', or empty",
            go::quote(other)
        ))),
    }
}

/// Returns whether to indent JSON: if the query says so, or by default for browsers and curl, whose output
/// people read.
fn is_pretty(headers: &HeaderMap, query: &Query) -> bool {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let read = |agent: &str| {
        let heads = ["curl", "Wget", "Mozilla/5.0"];
        heads.iter().any(|head| agent.starts_with(head))
    };
    query
        .flag("pretty")
        .unwrap_or_else(|| agent.is_some_and(read))
}

/// Returns the media type of a body without its parameters.
fn content_type(headers: &HeaderMap) -> &str {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let head = value.and_then(|value| value.split(';').next());
    head.unwrap_or_default().trim()
}

/// Returns the media type of the body of a create or an update.
pub(super) fn body_media(headers: &HeaderMap, has_protobuf: bool) -> Result<Media, ApiError> {
    match content_type(headers) {
        "" | "application/json" => Ok(Media::Json),
        "application/yaml" => Ok(Media::Yaml),
        PROTOBUF if has_protobuf => Ok(Media::Protobuf),
        _ => Err(unknown_media_type(MEDIA_TYPES)),
    }
}

/// Returns the type of a patch.
pub(super) fn patch_type(headers: &HeaderMap, resource: &Resource) -> Result<PatchType, ApiError> {
    let strategy = strategy_of(resource);
    match content_type(headers) {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        "application/strategic-merge-patch+json" if strategy.has_strategic_merge_patch() => {
            Ok(PatchType::Strategic)
        }
        _ => Err(strategy.unknown_patch_type()),
    }
}
