//! Access to the objects and resources under the lock.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::metadata;
use super::request::ResourceRequest;
use crate::access::Rules;
use crate::resource::{Catalogue, Resource};
use crate::store::{Key, Store};

/// The store and the catalogue, for the time of one request or of one step of a controller.
///
/// Every write is committed at once: a transaction is one holder of the lock, not a unit of undoing.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) catalogue: &'a mut Catalogue,
    pub(super) now: Timestamp,
    /// The field manager of a controller's writes.
    pub(super) manager: &'static str,
}

impl Transaction<'_> {
    /// The time of the clock when the transaction began.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the time of [`Self::now`] as `metav1.Time` formats it.
    pub fn now_rfc3339(&self) -> String {
        metadata::rfc3339(self.now)
    }

    /// A resource by its id: `pods`, `deployments.apps`.
    pub fn resource(&self, id: &str) -> Option<Arc<Resource>> {
        self.catalogue.get(id).map(Arc::clone)
    }

    /// The resource of a kind.
    pub fn resource_of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.catalogue.of_kind(api_version, kind).map(Arc::clone)
    }

    /// All resources whose objects are stored, custom ones included.
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        let own = |one: &&Arc<Resource>| one.is_stored() && one.id() == one.storage();
        self.catalogue.all().filter(own).map(Arc::clone).collect()
    }

    /// Returns an object.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let table = self.store.table(resource)?;
        table.get(&Key::new(namespace, name)).map(Arc::clone)
    }

    /// The objects of a namespace, or of all.
    pub fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let Some(table) = self.store.table(resource) else {
            return Vec::new();
        };
        let objects = table.list(namespace.filter(|one| !one.is_empty()));
        objects.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// The resource that the store knows: Events of either group are those of the core.
    pub(super) fn owner(&self, resource: &Arc<Resource>) -> Arc<Resource> {
        let owner = self.catalogue.get(resource.storage());
        Arc::clone(owner.unwrap_or(resource))
    }

    /// The live object of a call, as it is stored.
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
