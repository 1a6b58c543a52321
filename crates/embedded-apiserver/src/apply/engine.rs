//! Updates field ownership after a write, like `merge.Updater` of structured-merge-diff.

use serde_json::Value;

use super::{
    compare::Comparison,
    conflict::Conflicts,
    element::same,
    fields::fields,
    managers::{Entry, Identity, Managers},
    merge::merge,
    reconcile::reconcile,
    remove::remove,
    set::PathSet,
};
use crate::schema::Schema;

/// The types and rules of one write.
pub(super) struct Engine<'a> {
    /// The `apiVersion` of the written object.
    pub api_version: &'a str,
    pub schema: &'a Schema,
    /// The schemas of the kind's other served versions. All versions have the same values.
    pub versions: &'a [(&'a str, Schema)],
    /// The fields that this write does not own.
    pub ignored: &'a PathSet,
}

impl Engine<'_> {
    fn schema_of(&self, api_version: &str) -> Option<&Schema> {
        if api_version == self.api_version {
            return Some(self.schema);
        }
        let mut others = self.versions.iter();
        let found = others.find(|(version, _)| *version == api_version);
        found.map(|(_, schema)| schema)
    }

    /// Converts the sets of managers to the current types. Removes managers of a version that is no longer
    /// served.
    fn reconciled(&self, managers: Managers) -> Managers {
        let entries = managers.0.into_iter().filter_map(|mut entry| {
            let schema = self.schema_of(&entry.api_version)?;
            entry.set = reconcile(schema.root(), entry.set);
            Some(entry)
        });
        Managers(entries.collect())
    }

    fn compared(&self, version: &str, old: &Value, new: &Value) -> Comparison {
        let schema = self.schema_of(version).unwrap_or(self.schema);
        let comparison = Comparison::compare(schema.root(), old, new);
        if version == self.api_version {
            return comparison.without(self.ignored);
        }
        comparison
    }

    /// Removes the fields that `old -> new` changed from the sets of other managers. Returns the comparison,
    /// or the conflicts unless `force` is set.
    fn transfer_ownership(
        &self,
        (old, new): (&Value, &Value),
        managers: &mut Managers,
        me: &Identity,
        force: bool,
    ) -> Result<Comparison, Conflicts> {
        let mut changes = vec![(self.api_version, self.compared(self.api_version, old, new))];
        for (version, _) in self.versions {
            if managers.0.iter().any(|entry| entry.api_version == *version) {
                changes.push((*version, self.compared(version, old, new)));
            }
        }
        let touched: Vec<PathSet> = changes.iter().map(|(_, change)| change.touched()).collect();
        let change_of = |entry: &Entry| {
            let version = &*entry.api_version;
            let place = changes.iter().position(|(known, _)| *known == version);
            place.map(|place| (&touched[place], &changes[place].1.removed))
        };
        let conflicts: Vec<PathSet> = managers
            .0
            .iter()
            .map(|entry| match change_of(entry) {
                Some((touched, _)) if entry.id != *me => entry.set.intersection(touched),
                _ => PathSet::default(),
            })
            .collect();
        let entries = managers.0.iter().zip(&conflicts);
        let taken: Vec<(Identity, PathSet)> = entries
            .filter(|(_, conflict)| !conflict.is_empty())
            .map(|(entry, conflict)| (entry.id.clone(), conflict.clone()))
            .collect();
        if !force && !taken.is_empty() {
            return Err(Conflicts::new(taken));
        }
        for (entry, conflict) in managers.0.iter_mut().zip(&conflicts) {
            if let (Some((_, removed)), true) = (change_of(entry), entry.id != *me) {
                let set = std::mem::take(&mut entry.set);
                entry.set = set.difference(conflict).difference(removed);
            }
        }
        let main = changes.swap_remove(0).1;
        managers.drop_empty();
        Ok(main)
    }

    /// Returns the owners after an update by `me`, and the changed fields. `me` must own nothing before.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managers: Managers,
        me: &Identity,
    ) -> (Managers, PathSet) {
        let mut managers = self.reconciled(managers);
        let changed = self
            .transfer_ownership((live, new), &mut managers, me, true)
            .unwrap_or_default();
        (managers, changed.touched().without(self.ignored))
    }

    /// Returns the object and its owners after an apply by `me`. The object is absent if nothing changed.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managers: Managers,
        me: &Identity,
        force: bool,
    ) -> Result<(Option<Value>, Managers), Conflicts> {
        let mut managers = self.reconciled(managers);
        let root = self.schema.root();
        let merged = merge(Some(root), Some(live), Some(config)).unwrap_or(Value::Null);
        let last = managers.take(me);
        managers.0.push(Entry {
            id: me.clone(),
            api_version: self.api_version.to_owned(),
            time: last.as_ref().and_then(|last| last.time),
            set: fields(root, config).without(self.ignored),
        });
        let new = self.prune(merged, &managers, last.as_ref());
        self.transfer_ownership((live, &new), &mut managers, me, force)?;
        let changed = new != *live && !same(&new, live);
        Ok((changed.then_some(new), managers))
    }

    /// Removes the fields that `me` applied last time and does not apply now, unless another manager owns
    /// them.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<&Entry>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return merged;
        };
        let Some(schema) = self.schema_of(&last.api_version) else {
            return merged;
        };
        // The usual case: the configuration contains all fields of the last apply, so there is nothing to
        // remove.
        let mut owners = managers.0.iter();
        if owners.any(|entry| {
            entry.api_version == last.api_version
                && last.set.clone().difference(&entry.set).is_empty()
        }) {
            return merged;
        }
        let root = schema.root();
        let given_up = last.set.with_named_fields(Some(root));
        let mut pruned = remove(Some(root), &merged, &given_up);
        let mut versions: Vec<&str> = managers.0.iter().map(|entry| &*entry.api_version).collect();
        versions.sort_by_key(|version| *version != last.api_version);
        versions.dedup();
        for version in versions {
            pruned = self.with_owned(version, &merged, &pruned, managers);
        }
        let all = fields(root, &merged).with_named_fields(Some(root));
        let kept = fields(root, &pruned).with_named_fields(Some(root));
        let gone = all.difference(&kept).intersection(&given_up);
        if gone.is_empty() {
            return merged;
        }
        remove(Some(root), &merged, &gone)
    }

    /// Restores the fields that managers of one version own.
    fn with_owned(
        &self,
        version: &str,
        merged: &Value,
        pruned: &Value,
        managers: &Managers,
    ) -> Value {
        let Some(schema) = self.schema_of(version) else {
            return pruned.clone();
        };
        let root = Some(schema.root());
        let owners = managers
            .0
            .iter()
            .filter(|entry| entry.api_version == version);
        let owned = owners.fold(PathSet::default(), |all, entry| all.union(&entry.set));
        let all = fields(schema.root(), merged).with_named_fields(root);
        let left = fields(schema.root(), pruned).with_named_fields(root);
        let kept = left.union(&owned.with_named_fields(root));
        remove(root, merged, &all.difference(&kept))
    }
}
