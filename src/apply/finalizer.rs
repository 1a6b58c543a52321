//! Putting finalizers on a custom resource and taking them off, whoever else writes to it meanwhile.

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::OnceCell;

use super::Error;
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::annotations::CLEANUP_FINALIZER;
use crate::model::owner::field_manager;
use crate::model::{Object, ObjectRef};

/// Attempts at a write that others' writes keep overtaking; each has seen the newest version.
const ATTEMPTS: usize = 8;

/// Writes the finalizers of a custom resource as `change` makes them of those that it has, under the
/// custom resource's own field manager. Returns it as it then is; `None` when it is gone, or when
/// another has taken its name.
pub async fn rewrite(
    cluster: &Cluster,
    cr: &Arc<Object>,
    change: impl Fn(&Object, &[String]) -> Vec<String>,
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let reference = cr.object_ref();
    let mut current = Arc::clone(cr);
    let mut attempt = 1;
    loop {
        let before = current.details().finalizers;
        let after = change(&current, &before);
        if after == before {
            return Ok(Some(current));
        }
        let error = match patch(cluster, &reference, &current, &after).await {
            Ok(written) => return Ok(Some(written)),
            Err(error) => error,
        };
        // A wrong uid is a conflict or invalid, depending on what else differs.
        let overtaken = matches!(error.kind, ErrorKind::Conflict | ErrorKind::Invalid);
        if error.kind == ErrorKind::NotFound {
            return Ok(None);
        }
        if !overtaken || attempt == ATTEMPTS {
            return Err(error);
        }
        let live = cluster.get(&reference).await?;
        match live.filter(|live| live.uid == cr.uid) {
            None => return Ok(None),
            Some(live) if live.resource_version == current.resource_version => return Err(error),
            Some(live) => current = live,
        }
        attempt += 1;
    }
}

async fn patch(
    cluster: &Cluster,
    reference: &ObjectRef,
    current: &Object,
    finalizers: &[String],
) -> Result<Arc<Object>, cluster::Error> {
    let body = json!({"metadata": {
        "uid": current.uid,
        "resourceVersion": current.resource_version,
        "finalizers": finalizers,
    }});
    let options = WriteOptions {
        manager: field_manager(reference),
        ..WriteOptions::default()
    };
    let body = body.to_string().into();
    let written = cluster
        .patch(reference, PatchKind::Merge, body, &options)
        .await?;
    Ok(written.object)
}

/// Holds a custom resource by the cleanup finalizer from before something is made that garbage
/// collection would not find from it: a crash in between must leave nothing behind.
pub struct Guard {
    cluster: Cluster,
    cr: Arc<Object>,
    held: OnceCell<Arc<Object>>,
}

impl Guard {
    /// A guard of a custom resource; `cluster` is not fenced, the write is the runtime's own.
    pub fn new(cluster: Cluster, cr: Arc<Object>) -> Self {
        Self {
            cluster,
            cr,
            held: OnceCell::new(),
        }
    }

    /// Returns when the custom resource has the finalizer; no request if it had it before.
    pub async fn hold(&self) -> Result<(), Error> {
        self.held.get_or_try_init(|| self.put()).await.map(|_| ())
    }

    /// The custom resource as it was after the finalizer was put on it, if this guard did so.
    pub fn written(&self) -> Option<Arc<Object>> {
        self.held.get().cloned()
    }

    async fn put(&self) -> Result<Arc<Object>, Error> {
        let gone = || Error::OwnerGone {
            cr: self.cr.object_ref(),
        };
        let held = rewrite(&self.cluster, &self.cr, |current, finalizers| {
            let mut finalizers = finalizers.to_vec();
            // The API takes no new finalizer on what is being deleted.
            if !current.deleting && !finalizers.iter().any(|name| name == CLEANUP_FINALIZER) {
                finalizers.push(CLEANUP_FINALIZER.to_owned());
            }
            finalizers
        })
        .await?
        .ok_or_else(gone)?;
        if held
            .details()
            .finalizers
            .iter()
            .any(|name| name == CLEANUP_FINALIZER)
        {
            Ok(held)
        } else {
            Err(gone())
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({})", self.cr.object_ref())
    }
}
