//! What is to exist: the object as a role wrote it, and as it is sent.

use std::sync::Arc;

use crate::model::{Gvk, ObjectRef};

/// An object as a role wants it.
#[derive(Clone, Debug)]
pub struct Desired {
    /// Its kind.
    pub gvk: Gvk,
    /// Its namespace, where the role named one.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// The object as JSON text, keys sorted.
    pub json: Vec<u8>,
}

impl Desired {
    /// Its address, the owner's namespace filled in for a kind that lives in one.
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef::new(self.gvk.clone(), self.namespace.as_deref(), &self.name)
    }
}
