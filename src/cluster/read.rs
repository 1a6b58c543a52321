//! Cached reads. A read is a subscription: what was read, absence included, is watched from then on.
//!
//! Flow: the watches over CRs and children answer where they hold the object; else a metadata-only
//! watch of the kind and namespace says which version is the current one (or that there is none), and
//! a bounded cache of values holds what was read at that version. Where the kind may be read but not
//! watched, every read is a request, and no subscription.

use std::sync::Arc;

use super::request::ListQuery;
use super::{Cluster, Error};
use crate::model::{Object, ObjectRef};

/// What a read found.
#[derive(Clone, Debug)]
pub struct Read {
    /// The object, `None` if it is absent.
    pub object: Option<Arc<Object>>,
    /// Whether listeners hear of its next change.
    pub subscribed: bool,
}

/// What a read of many found.
#[derive(Clone, Debug)]
pub struct ReadList {
    /// The objects, by namespace and name.
    pub objects: Vec<Arc<Object>>,
    /// Whether listeners hear of the next change.
    pub subscribed: bool,
    /// Changes when a member comes, goes or changes; see [`Cluster::list_version`].
    pub version: u64,
}

impl Cluster {
    /// The object, from caches wherever the answer is known.
    pub async fn read(&self, object: &ObjectRef) -> Result<Read, Error> {
        let _ = object;
        todo!()
    }

    /// The objects, from caches wherever the answer is known.
    pub async fn read_list(&self, query: &ListQuery) -> Result<ReadList, Error> {
        let _ = query;
        todo!()
    }

    /// As [`Cluster::read`], if it needs no request and no waiting: `Some(None)` is known absence.
    pub fn cached(&self, object: &ObjectRef) -> Option<Option<Arc<Object>>> {
        let _ = object;
        None
    }

    /// Whether an object still is as a run read it (resource version, `None` for absent), as far as
    /// the watches know. A run's subscriptions begin with this question: what changed between its
    /// read and the registration would be lost otherwise.
    pub fn is_current(&self, object: &ObjectRef, resource_version: Option<&str>) -> bool {
        let _ = (object, resource_version);
        true
    }

    /// What [`ReadList::version`] would be now; `None` where no watch can tell.
    pub fn list_version(&self, query: &ListQuery) -> Option<u64> {
        let _ = query;
        None
    }
}
