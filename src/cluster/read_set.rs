//! The objects and lists that a run read.

use std::collections::{BTreeMap, HashMap};

use super::list_query::ListQuery;
use super::watch::{Scope, Subscription};
use crate::model::ObjectRef;

/// The objects and lists that a run read, each once, with the first version that it read. It keeps the
/// watches open that report their changes.
#[derive(Clone, Debug, Default)]
pub struct ReadSet {
    objects: BTreeMap<ObjectRef, ReadObject>,
    /// Lists with their versions ([`super::read::ReadList::version`]).
    lists: HashMap<ListQuery, u64>,
    subscriptions: HashMap<Scope, Subscription>,
    /// The number of reads, including repeated ones.
    count: usize,
}

#[derive(Clone, Debug)]
struct ReadObject {
    /// The resource version; `None` if the object was absent.
    version: Option<Box<str>>,
    /// The number of the last read.
    last_read: usize,
}

impl ReadSet {
    /// Adds an object with its resource version, `None` if it is absent.
    pub fn add_object(
        &mut self,
        object: ObjectRef,
        version: Option<Box<str>>,
        subscription: Subscription,
    ) {
        self.keep(subscription);
        self.count += 1;
        let last_read = self.count;
        self.objects
            .entry(object)
            .and_modify(|known| known.last_read = last_read)
            .or_insert(ReadObject { version, last_read });
    }

    /// Adds a list with its version ([`super::read::ReadList::version`]).
    pub fn add_list(&mut self, query: ListQuery, version: u64, subscription: Subscription) {
        self.keep(subscription);
        self.count += 1;
        self.lists.entry(query).or_insert(version);
    }

    /// Adds a subscription without a read, so that its watch is open in the next run.
    pub fn keep(&mut self, subscription: Subscription) {
        if let Some(scope) = subscription.scope() {
            self.subscriptions
                .entry(scope.clone())
                .or_insert(subscription);
        }
    }

    /// Adds another set. Keeps the versions of objects and lists that this set contains.
    pub fn extend(&mut self, other: &Self) {
        for (object, version) in other.objects() {
            let version = version.map(Into::into);
            self.add_object(object.clone(), version, Subscription::permanent());
        }
        for (query, version) in other.lists() {
            self.add_list(query.clone(), version, Subscription::permanent());
        }
        for subscription in other.subscriptions.values() {
            self.keep(subscription.clone());
        }
    }

    /// Returns the objects with the first resource versions that the run read; `None` for absence.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectRef, Option<&str>)> {
        self.objects
            .iter()
            .map(|(object, read)| (object, read.version.as_deref()))
    }

    /// Returns the lists with the first versions that the run read.
    pub fn lists(&self) -> impl Iterator<Item = (&ListQuery, u64)> {
        self.lists.iter().map(|(query, version)| (query, *version))
    }

    /// Returns the number of reads, including repeated ones.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the objects that were read after the first `count` reads.
    pub fn objects_read_after(&self, count: usize) -> impl Iterator<Item = &ObjectRef> {
        let later = self.objects.iter();
        later
            .filter(move |(_, read)| read.last_read > count)
            .map(|(object, _)| object)
    }

    /// Returns whether both sets have the same objects and lists. Ignores their versions.
    pub fn has_same_members(&self, other: &Self) -> bool {
        self.objects.keys().eq(other.objects.keys())
            && self.lists.len() == other.lists.len()
            && self
                .lists
                .keys()
                .all(|query| other.lists.contains_key(query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    fn mk_object(name: &str) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", "Secret"), Some("ns"), name)
    }

    fn add(set: &mut ReadSet, name: &str, version: Option<&str>) {
        let version = version.map(Into::into);
        set.add_object(mk_object(name), version, Subscription::permanent());
    }

    #[test]
    fn an_object_is_a_member_once_with_the_version_that_was_read_first() {
        let mut set = ReadSet::default();
        add(&mut set, "a", None);
        add(&mut set, "b", Some("1"));
        let before = set.count();
        add(&mut set, "a", Some("2"));
        let (a, b) = (mk_object("a"), mk_object("b"));
        let objects: Vec<_> = set.objects().collect();
        assert_eq!(objects, [(&a, None), (&b, Some("1"))]);
        let later: Vec<_> = set.objects_read_after(before).collect();
        assert_eq!(later, [&a]);
    }

    #[test]
    fn an_extended_set_has_the_members_of_both() {
        let (mut set, mut former) = (ReadSet::default(), ReadSet::default());
        add(&mut set, "a", Some("2"));
        add(&mut former, "a", Some("1"));
        add(&mut former, "b", None);
        assert!(!set.has_same_members(&former));
        set.extend(&former);
        assert!(set.has_same_members(&former));
        let (a, b) = (mk_object("a"), mk_object("b"));
        let objects: Vec<_> = set.objects().collect();
        assert_eq!(objects, [(&a, Some("2")), (&b, None)]);
    }
}
