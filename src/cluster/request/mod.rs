//! Requests: each has a deadline, within which answers that pass are asked again.
//!
//! What was written is in the caches before the call returns (see [`super::watch`]).

mod delete;
mod fetch;
mod managers;
mod write;

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::call::{self, Bounds, Call};
use super::error::{Error, ErrorKind, Target};
use super::{ApiKind, Cluster};
use crate::clock::Instant;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object, ObjectRef};

/// What stays readable in a path; names like `system:node` are allowed in one.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b':');

/// The answer to a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it now is.
    pub object: Arc<Object>,
    /// What became of it.
    pub effect: Effect,
    /// What the server warned of, e.g. of fields that it dropped.
    pub warnings: Vec<String>,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object is new.
    Created,
    /// The object is another than before, as far as we know.
    Changed,
    /// The object is as it was in the cache: its resource version did not move.
    Unchanged,
}

/// What came of a delete.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// It is gone.
    Gone,
    /// It is marked, and goes when its finalizers are through.
    Marked(Arc<Object>),
    /// It was not there.
    Absent,
}

/// How objects are selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListQuery {
    /// Of what kind.
    pub gvk: Gvk,
    /// In one namespace, or in all.
    pub namespace: Option<Arc<str>>,
    /// With these labels.
    pub labels: LabelSelector,
    /// With these fields.
    pub fields: FieldSelector,
}

/// Options of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Who owns the fields written.
    pub manager: String,
    /// Takes fields from other managers; only applies heed it.
    pub force: bool,
    /// Unknown fields are refused; else they are dropped with a warning. Applies always refuse them.
    pub strict: bool,
    /// Writes a subresource instead of the object: `status`, `scale`.
    pub subresource: Option<&'static str>,
    /// Ends earlier than the default deadline.
    pub deadline: Option<Instant>,
}

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Kubernetes' own, for built-in kinds.
    Strategic,
}

/// What happens to dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They are collected afterwards.
    #[default]
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// What happens to dependents.
    pub propagation: Propagation,
    /// Only this very object.
    pub uid: Option<String>,
    /// Only this very version of it.
    pub resource_version: Option<String>,
    /// Ends earlier than the default deadline.
    pub deadline: Option<Instant>,
}

impl PatchKind {
    fn content_type(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

impl Propagation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

impl Cluster {
    /// The kind as the cluster serves it, or the error that says that it does not.
    pub(super) async fn served(&self, gvk: &Gvk) -> Result<Arc<ApiKind>, Error> {
        self.kind(gvk).await?.ok_or_else(|| {
            let target = Target {
                verb: "find",
                resource: gvk.kind_group(),
                ..Target::default()
            };
            let message = format!("the cluster does not serve {gvk}");
            Error::local(ErrorKind::KindAbsent, message, target)
        })
    }

    async fn send(&self, call: &Call, deadline: Option<Instant>) -> Result<call::Answer, Error> {
        let bounds = Bounds {
            deadline,
            write_deadline: self.write_deadline.clone(),
        };
        call.send(&self.transport, &self.shared.settings, &bounds)
            .await
    }

    /// A path that is not served any more throws doubt on what discovery said.
    fn doubting(&self, error: Error, gvk: &Gvk) -> Error {
        if error.kind == ErrorKind::KindAbsent {
            self.shared.discovery.doubt(gvk);
        }
        error
    }
}

fn target(
    kind: &ApiKind,
    verb: &'static str,
    object: &ObjectRef,
    subresource: Option<&str>,
) -> Target {
    let mut resource = kind.resource();
    if let Some(subresource) = subresource {
        resource = format!("{resource}/{subresource}");
    }
    let namespace = object.namespace.as_deref().filter(|_| kind.namespaced);
    Target {
        verb,
        resource,
        namespace: namespace.unwrap_or_default().to_owned(),
        name: object.name.to_string(),
    }
}

fn parse(gvk: &Gvk, body: &[u8], target: &Target) -> Result<Arc<Object>, Error> {
    let malformed = |cause: String| Error::local(ErrorKind::Malformed, cause, target.clone());
    let text = std::str::from_utf8(body).map_err(|cause| malformed(cause.to_string()))?;
    let object = Object::from_json(gvk, text).map_err(|cause| malformed(cause.to_string()))?;
    Ok(Arc::new(object))
}

fn path(kind: &ApiKind, object: &ObjectRef, subresource: Option<&str>) -> Result<String, Error> {
    if kind.namespaced && object.namespace.is_none() {
        let message = format!("{} lives in a namespace, and none is given", kind.gvk.kind);
        let target = target(kind, "address", object, subresource);
        return Err(Error::local(ErrorKind::Invalid, message, target));
    }
    let target = || target(kind, "address", object, subresource);
    kind.check_namespace(object.namespace_or_empty(), target)?;
    if matches!(&*object.name, "." | "..") {
        let message = format!("{:?} is no name", &*object.name);
        return Err(Error::local(ErrorKind::Invalid, message, target()));
    }
    let mut path = kind.path(object.namespace.as_deref());
    for segment in [Some(&*object.name), subresource].into_iter().flatten() {
        if !segment.is_empty() {
            path.push('/');
            path.extend(utf8_percent_encode(segment, PATH));
        }
    }
    Ok(path)
}
