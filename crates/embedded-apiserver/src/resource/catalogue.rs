//! The resources that the server currently serves, by id and by kind.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::builtin::{self, Group};
use super::entry::Resource;
use super::names::{id_of, split_api_version};

/// The served resources, and the built-in groups in the order of discovery.
#[derive(Debug, Clone)]
pub struct Catalogue {
    resources: HashMap<Arc<str>, Arc<Resource>>,
    /// Built-in groups with their versions, both in the order of discovery.
    groups: Vec<BuiltinGroup>,
    /// The ids in the order of discovery within their group and version.
    order: Vec<Arc<str>>,
    custom: BTreeMap<Arc<str>, Arc<Resource>>,
}

/// A built-in group with the data of its `APIService` objects.
#[derive(Debug, Clone)]
pub struct BuiltinGroup {
    /// Empty for the core group.
    pub name: String,
    /// The position in discovery. Groups with a higher priority come first.
    pub priority: i64,
    /// The name and the priority of each version.
    pub versions: Vec<(String, i64)>,
}

impl Catalogue {
    /// Returns a catalogue with all built-in resources.
    pub fn builtin() -> Self {
        let groups = builtin::groups();
        let resources: Vec<Arc<Resource>> = groups
            .iter()
            .flat_map(Group::resources)
            .map(Arc::new)
            .collect();
        let order = resources.iter().map(|one| Arc::clone(one.id())).collect();
        let by_id = resources.into_iter().map(|one| (Arc::clone(one.id()), one));
        Self {
            resources: by_id.collect(),
            groups: groups.iter().map(described).collect(),
            order,
            custom: BTreeMap::new(),
        }
    }

    /// Returns a resource by its id.
    pub fn get(&self, id: &str) -> Option<&Arc<Resource>> {
        self.resources.get(id)
    }

    /// Returns a resource by the parts of a URL.
    pub fn lookup(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let resource = self.resources.get(id_of(group, plural).as_str())?;
        resource.served(version).map(|_| resource)
    }

    /// Returns the resource of a kind, if its group serves the version.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = split_api_version(api_version);
        let fits = |one: &&Arc<Resource>| *one.group == *group && *one.kind == *kind;
        let found = self.all().filter(fits).find(|one| one.is_stored());
        found.filter(|one| one.served(version).is_some())
    }

    /// Returns all resources: the built-in ones in the order of discovery, then the custom ones by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let builtin = self.order.iter().filter_map(|id| self.resources.get(id));
        builtin.chain(self.custom.values())
    }

    /// Returns the custom resources.
    pub fn custom(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.custom.values()
    }

    /// Returns the built-in groups in the order of discovery.
    pub fn builtin_groups(&self) -> &[BuiltinGroup] {
        &self.groups
    }

    /// Returns whether the server serves a resource in this group and version.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.all()
            .any(|one| *one.group == *group && one.served(version).is_some())
    }

    /// Adds a custom resource, or replaces it.
    pub fn insert(&mut self, resource: Arc<Resource>) {
        let id = Arc::clone(resource.id());
        self.custom.insert(Arc::clone(&id), Arc::clone(&resource));
        self.resources.insert(id, resource);
    }

    /// Removes a custom resource.
    pub fn remove(&mut self, id: &str) {
        if self.custom.remove(id).is_some() {
            self.resources.remove(id);
        }
    }
}

fn described(group: &Group) -> BuiltinGroup {
    BuiltinGroup {
        name: group.name.clone(),
        priority: group.priority,
        versions: group
            .versions()
            .map(|(name, priority)| (name.to_owned(), priority))
            .collect(),
    }
}
