//! Access to the objects and resources under the lock.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::metadata;
use super::request::ResourceRequest;
use crate::access::Rules;
use crate::resource::{Catalogue, Resource};
use crate::store::{Key, Store};

/// Access to the store and the catalogue during one request or one step of a controller.
///
/// Each write is committed at once. A transaction holds the lock. It cannot be rolled back.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) catalogue: &'a mut Catalogue,
    pub(super) now: Timestamp,
    /// The field manager of a controller's writes.
    pub(super) manager: &'static str,
}

impl Transaction<'_> {
    /// Returns the time of the clock when the transaction began.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the time of [`Self::now`] as `metav1.Time` formats it.
    pub fn now_rfc3339(&self) -> String {
        metadata::rfc3339(self.now)
    }

    /// Returns a resource by its id: `pods`, `deployments.apps`.
    pub fn resource(&self, id: &str) -> Option<Arc<Resource>> {
        self.catalogue.get(id).map(Arc::clone)
    }

    /// Returns the resource of a kind.
    pub fn resource_of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.catalogue.of_kind(api_version, kind).map(Arc::clone)
    }

    /// Returns all resources whose objects are stored, including custom ones.
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        let own = |one: &&Arc<Resource>| one.is_stored() && one.id() == one.storage();
        self.catalogue.all().filter(own).map(Arc::clone).collect()
    }

    /// Returns an object.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let table = self.store.table(resource)?;
        table.get(&Key::new(namespace, name)).map(Arc::clone)
    }

    /// Returns the objects of a namespace, or of all namespaces.
    pub fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let Some(table) = self.store.table(resource) else {
            return Vec::new();
        };
        let objects = table.list(namespace.filter(|one| !one.is_empty()));
        objects.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Returns the resource that stores the objects. Events of `events.k8s.io` are stored as Events of the
    /// core group.
    pub(super) fn owner(&self, resource: &Arc<Resource>) -> Arc<Resource> {
        let owner = self.catalogue.get(resource.storage());
        Arc::clone(owner.unwrap_or(resource))
    }

    /// Returns the live object of a request, in the stored form.
    pub(super) fn live(&self, call: &ResourceRequest) -> Option<Arc<Value>> {
        self.get(call.resource.storage(), &call.namespace, &call.name)
    }
}

impl Rules for Transaction<'_> {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        Rules::get(&*self.store, resource, namespace, name)
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        Rules::list(&*self.store, resource, namespace)
    }
}
