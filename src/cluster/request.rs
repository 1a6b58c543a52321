//! Requests: each has a deadline, within which answers that pass are asked again.
//!
//! What was written is in the caches before the call returns (see [`super::watch`]).

use std::sync::Arc;

use bytes::Bytes;

use super::{Cluster, Error};
use crate::clock::Instant;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object, ObjectRef};

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
    /// Takes fields from other managers (applies only).
    pub force: bool,
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

impl Cluster {
    /// The object as it is, or `None`.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Arc<Object>>, Error> {
        let _ = object;
        todo!()
    }

    /// The objects as they are, page by page.
    pub async fn list(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        let _ = query;
        todo!()
    }

    /// As [`Cluster::list`], but metadata only: the objects have no body.
    pub async fn list_metadata(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        let _ = query;
        todo!()
    }

    /// Creates an object; the body may carry `generateName` instead of a name.
    pub async fn create(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (gvk, namespace, body, options);
        todo!()
    }

    /// Applies an object server-side.
    pub async fn apply(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (object, body, options);
        todo!()
    }

    /// Patches an object, or with `options.subresource` its status.
    pub async fn patch(
        &self,
        object: &ObjectRef,
        kind: PatchKind,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (object, kind, body, options);
        todo!()
    }

    /// A merge patch of the status subresource.
    pub async fn patch_status(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (object, body, options);
        todo!()
    }

    /// Replaces an object (a PUT); the body carries the resource version.
    pub async fn replace(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (object, body, options);
        todo!()
    }

    /// Sets the number of replicas through the scale subresource; returns the `Scale` object.
    pub async fn scale(
        &self,
        object: &ObjectRef,
        replicas: i64,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let _ = (object, replicas, options);
        todo!()
    }

    /// Deletes an object; that it is absent is no error.
    pub async fn delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<Deleted, Error> {
        let _ = (object, options);
        todo!()
    }
}
