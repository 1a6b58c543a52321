//! Who owns what after a write: structured-merge-diff's `merge.Updater`.

use serde_json::Value;

use super::{
    compare::Comparison,
    conflict::Conflicts,
    fields::fields,
    managers::{Entry, Identity, Managers},
    merge::merge,
    reconcile::reconcile,
    remove::remove,
    set::Set,
};
use crate::apiserver::schema::Schema;

/// The types and rules of one write.
pub(super) struct Engine<'a> {
    /// The version that is written, as in `apiVersion`.
    pub api_version: &'a str,
    pub schema: &'a Schema,
    /// The types of the kind's other served versions. Values are the same in all of them.
    pub versions: &'a [(&'a str, Schema)],
    /// What this write does not own.
    pub ignored: &'a Set,
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

    /// Managers of a version that is not served any more own nothing.
    fn reconciled(&self, managers: Managers) -> Managers {
        let entries = managers.0.into_iter().filter_map(|mut entry| {
            let schema = self.schema_of(&entry.api_version)?;
            entry.set = reconcile(schema.root(), &entry.set);
            Some(entry)
        });
        Managers(entries.collect())
    }

    fn compared(&self, version: &str, old: &Value, new: &Value) -> Comparison {
        let schema = self.schema_of(version).unwrap_or(self.schema);
        let comparison = Comparison::of(schema.root(), old, new);
        if version == self.api_version {
            return comparison.without(self.ignored);
        }
        comparison
    }

    /// Takes from others what `old -> new` changed; gives what changed, or whom it was taken from.
    fn reown(
        &self,
        (old, new): (&Value, &Value),
        managers: &mut Managers,
        me: &Identity,
        force: bool,
    ) -> Result<Comparison, Conflicts> {
        let main = self.compared(self.api_version, old, new);
        let mut taken: Vec<(Identity, Set)> = Vec::new();
        let mut left: Vec<(Identity, Set)> = Vec::new();
        for entry in managers.0.iter().filter(|entry| entry.id != *me) {
            let other;
            let comparison = if entry.api_version == self.api_version {
                &main
            } else {
                other = self.compared(&entry.api_version, old, new);
                &other
            };
            let touched = comparison.modified.union(&comparison.added);
            let conflict = entry.set.intersection(&touched);
            let remaining = entry
                .set
                .difference(&conflict)
                .difference(&comparison.removed);
            left.push((entry.id.clone(), remaining));
            if !conflict.is_empty() {
                taken.push((entry.id.clone(), conflict));
            }
        }
        if !force && !taken.is_empty() {
            return Err(Conflicts::new(taken));
        }
        for (id, set) in left {
            if let Some(entry) = managers.get_mut(&id) {
                entry.set = set;
            }
        }
        managers.drop_empty();
        Ok(main)
    }

    /// The owners after an update by `me`, which had nothing before.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managers: Managers,
        me: &Identity,
    ) -> (Managers, Set) {
        let mut managers = self.reconciled(managers);
        let changed = self
            .reown((live, new), &mut managers, me, true)
            .unwrap_or_default();
        let took = changed.modified.union(&changed.added);
        (managers, took.without(self.ignored))
    }

    /// The object and its owners after an apply by `me`; no object where nothing changed.
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
        self.reown((live, &new), &mut managers, me, force)?;
        let changed = !super::element::same(&new, live);
        Ok((changed.then_some(new), managers))
    }

    /// Drops what `me` applied last time, does not apply now, and nobody else owns.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<&Entry>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return merged;
        };
        let Some(schema) = self.schema_of(&last.api_version) else {
            return merged;
        };
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

    /// Gives back what managers of one version own.
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
        let owned = owners.fold(Set::default(), |all, entry| all.union(&entry.set));
        let all = fields(schema.root(), merged).with_named_fields(root);
        let left = fields(schema.root(), pruned).with_named_fields(root);
        let kept = left.union(&owned.with_named_fields(root));
        remove(root, merged, &all.difference(&kept))
    }
}
