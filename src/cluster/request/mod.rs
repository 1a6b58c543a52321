//! Requests. Each has a deadline, and retries transient failures until then.
//!
//! The caches have the answer to a write before the call returns (see [`super::watch`]).

mod delete;
mod fetch;
mod managers;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::api_call::{self, ApiCall, Deadlines};
use super::error::{Error, ErrorKind, Target};
pub use super::list_query::ListQuery;
use super::{ApiKind, Cluster};
use crate::clock::Instant;
use crate::model::syntax::is_path_segment;
use crate::model::{Gvk, Object, ObjectRef};

/// The characters that a path does not escape. Names such as `system:node` are valid in a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b':');

/// The answer to a write.
#[derive(Clone, Debug)]
pub struct WriteResponse {
    /// The current object.
    pub object: Arc<Object>,
    /// The effect of the write.
    pub effect: Effect,
    /// True if the write was a dry run: the server stored nothing.
    pub planned: bool,
    /// Warnings of the server, for example about fields that it dropped.
    pub warnings: Vec<String>,
}

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object was created.
    Created,
    /// The object changed, as far as the cache shows.
    Changed,
    /// The object is unchanged: it has the resource version of the cache.
    Unchanged,
}

/// The result of a delete.
#[derive(Clone, Debug)]
pub enum DeleteResult {
    /// The object was deleted.
    Gone,
    /// The object is marked for deletion, and is deleted when its finalizers are released.
    Marked(Arc<Object>),
    /// The object was absent.
    Absent,
}

/// Options of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The field manager that owns the written fields.
    pub manager: String,
    /// Takes fields from other managers. Used by applies only.
    pub force: bool,
    /// If true, the server refuses unknown fields; otherwise it drops them with a warning. Applies always
    /// refuse them.
    pub strict: bool,
    /// Writes a subresource instead of the object: `status`, `scale`.
    pub subresource: Option<&'static str>,
    /// A deadline before the default one.
    pub deadline: Option<Instant>,
}

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON merge patch (RFC 7386).
    Merge,
    /// JSON patch (RFC 6902).
    Json,
    /// Strategic merge patch, for built-in kinds.
    Strategic,
}

/// The propagation policy for the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them afterwards.
    #[default]
    Background,
    /// They are deleted before the object.
    Foreground,
    /// They are not deleted.
    Orphan,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// The propagation policy.
    pub propagation: Propagation,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The resourceVersion that the object must have.
    pub resource_version: Option<String>,
    /// A deadline before the default one.
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
    /// Returns the kind, or the error that the cluster does not serve it.
    pub(super) async fn require_kind(&self, gvk: &Gvk) -> Result<Arc<ApiKind>, Error> {
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

    async fn send(
        &self,
        call: &ApiCall,
        deadline: Option<Instant>,
    ) -> Result<api_call::ApiResponse, Error> {
        let bounds = Deadlines {
            deadline,
            write_deadline: self.write_deadline.clone(),
        };
        call.send(&self.transport, &self.shared.settings, &bounds)
            .await
    }

    /// If a path is not served any more, the cached discovery is outdated.
    fn invalidate_if_absent(&self, error: Error, gvk: &Gvk) -> Error {
        if error.kind == ErrorKind::KindAbsent {
            self.shared.discovery.invalidate(gvk);
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

/// Parses the answer to a request for one object. An answer about another object is an error, because a
/// proxy or server that mixes up answers must not cause writes to other objects.
fn parse(gvk: &Gvk, body: &[u8], target: &Target) -> Result<Arc<Object>, Error> {
    let malformed = |cause: String| Error::local(ErrorKind::Malformed, cause, target.clone());
    let text = std::str::from_utf8(body).map_err(|cause| malformed(cause.to_string()))?;
    let object = Object::from_json(gvk, text).map_err(|cause| malformed(cause.to_string()))?;
    let types: TypeMeta<'_> =
        serde_json::from_str(text).map_err(|cause| malformed(cause.to_string()))?;
    let is_named = target.name.is_empty() || *target.name == *object.name;
    let is_placed = target.namespace == object.namespace.as_deref().unwrap_or_default();
    if is_named && is_placed && types.is_gvk(gvk) {
        return Ok(Arc::new(object));
    }
    let found = ObjectRef {
        gvk: types.gvk().unwrap_or_else(|| gvk.clone()),
        ..object.object_ref()
    };
    Err(malformed(format!("the server answered with {found}")))
}

/// Checks that an answer is about the object with this uid, if the caller knows it. Another object of the
/// same name is an error: either the answers were mixed up, or the object was deleted and created again.
/// The next attempt then starts from the new one.
fn check_uid(object: &Object, expected: Option<&str>, target: &Target) -> Result<(), Error> {
    let Some(expected) = expected.filter(|expected| *expected != &*object.uid) else {
        return Ok(());
    };
    let message = format!(
        "the server answered with {} of uid {}, expected uid {expected}",
        object.object_ref(),
        object.uid
    );
    Err(Error::local(ErrorKind::Malformed, message, target.clone()))
}

/// The type in an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
}

impl TypeMeta<'_> {
    fn gvk(&self) -> Option<Gvk> {
        let api_version = self.api_version.as_deref()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Some(Gvk::new(group, version, self.kind.as_deref()?))
    }

    /// Returns whether the type equals these. An answer without a type has the requested one.
    fn is_gvk(&self, gvk: &Gvk) -> bool {
        self.gvk().is_none_or(|own| own == *gvk)
    }
}

fn path(kind: &ApiKind, object: &ObjectRef, subresource: Option<&str>) -> Result<String, Error> {
    if kind.namespaced && object.namespace.is_none() {
        let message = format!("{} requires a namespace", kind.gvk.kind);
        let target = target(kind, "address", object, subresource);
        return Err(Error::local(ErrorKind::Invalid, message, target));
    }
    let target = || target(kind, "address", object, subresource);
    kind.check_namespace(object.namespace_or_empty(), target)?;
    if !object.name.is_empty() && !is_path_segment(&object.name) {
        let message = "expected a name of at most 1024 bytes that is not . or .., without / and %";
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses an answer to a request for the ConfigMap `a` of the namespace `b`.
    fn answered(text: &str) -> Result<Arc<Object>, String> {
        let target = Target {
            verb: "get",
            resource: "configmaps".to_owned(),
            namespace: "b".to_owned(),
            name: "a".to_owned(),
        };
        let gvk = Gvk::new("", "v1", "ConfigMap");
        parse(&gvk, text.as_bytes(), &target).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_about_the_object_that_was_asked_for_is_taken() {
        let metadata = r#""metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"1"}"#;
        let whole = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap",{metadata}}}"#);
        assert!(answered(&whole).is_ok());
        assert!(answered(&format!("{{{metadata}}}")).is_ok());
    }

    #[test]
    fn an_answer_about_another_uid_is_an_error() {
        let metadata = r#""metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"1"}"#;
        let object = answered(&format!("{{{metadata}}}")).unwrap();
        let check = |expected| check_uid(&object, expected, &Target::default());
        assert!(check(None).is_ok());
        assert!(check(Some("u")).is_ok());
        let error = check(Some("v")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed);
        assert!(
            error.message.ends_with("of uid u, expected uid v"),
            "{error}"
        );
    }

    #[test]
    fn an_answer_about_another_object_is_an_error() {
        for (api_version, kind, namespace, name) in [
            ("v1", "Secret", "b", "a"),
            ("apps/v1", "ConfigMap", "b", "a"),
            ("v1", "ConfigMap", "kube-system", "a"),
            ("v1", "ConfigMap", "b", "other"),
        ] {
            let error = answered(&format!(
                r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"{name}",
                   "namespace":"{namespace}","uid":"u","resourceVersion":"1"}}}}"#
            ));
            let error = error.expect_err(kind);
            assert!(error.contains("the server answered with"), "{error}");
        }
    }
}
