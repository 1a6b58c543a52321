//! When nothing is sent: what is remembered of an apply, and what it is compared with.

use std::hash::Hasher;

use serde_json::Value;
use twox_hash::XxHash3_64;

use super::Owner;
use super::initial_create;
use crate::model::field_set::FieldSet;
use crate::model::{Object, ParsedObject};

/// What is remembered of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastApplied {
    /// Hash of what was applied, for whom and how.
    pub(super) desired: u128,
    /// What our manager owned after it.
    owned: OwnedFieldsDigest,
    /// The version at which `owned` was last computed.
    pub(super) resource_version: Box<str>,
}

/// Hashes of what our manager owns of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedFieldsDigest {
    /// The paths, and the values there.
    values: u64,
    /// Those of the paths that were asked for.
    shape: u64,
}

impl LastApplied {
    /// After an apply of `body` that left `live` behind.
    pub(super) fn new(desired: u128, owner: &Owner, live: &ParsedObject, body: &Value) -> Self {
        Self {
            desired,
            owned: OwnedFieldsDigest::of(owner, live, body),
            resource_version: live.object().resource_version.clone(),
        }
    }

    /// Returns whether the object is to the letter what it was.
    pub(super) fn is_current(&self, desired: u128, live: &Object) -> bool {
        self.desired == desired && self.resource_version == live.resource_version
    }

    /// Returns whether nothing of ours changed in it, whatever others did.
    pub(super) fn is_unchanged(
        &self,
        desired: u128,
        owner: &Owner,
        live: &ParsedObject,
        body: &Value,
    ) -> bool {
        self.desired == desired && self.owned == OwnedFieldsDigest::of(owner, live, body)
    }

    /// Returns whether `body` asks for the paths that were asked for before: then it gives none up.
    pub(super) fn requests_same_fields(
        &self,
        owner: &Owner,
        live: &ParsedObject,
        body: &Value,
    ) -> bool {
        self.owned.shape == OwnedFieldsDigest::of(owner, live, body).shape
    }
}

impl OwnedFieldsDigest {
    fn of(owner: &Owner, live: &ParsedObject, body: &Value) -> Self {
        let (mut values, mut shape) = (XxHash3_64::new(), XxHash3_64::new());
        for entry in initial_create::own_entries(owner, live.object()) {
            values.write(entry.fields.as_bytes());
            match FieldSet::parse(&entry.fields) {
                Ok(set) => {
                    values.write_u64(set.digest(live.value(), body));
                    shape.write_u64(set.shape(body));
                }
                // What is not understood may be of any value: each version is another one.
                Err(_) => values.write(live.resource_version.as_bytes()),
            }
        }
        Self {
            values: values.finish(),
            shape: shape.finish(),
        }
    }
}

/// Returns whether applying `body` would change nothing, as far as managed fields and live values tell.
pub(super) fn matches_live(owner: &Owner, live: &ParsedObject, body: &Value) -> bool {
    let mut entries: Vec<_> = initial_create::own_entries(owner, live.object()).collect();
    entries.sort_by_key(|entry| !entry.apply);
    let Some(last) = entries.first() else {
        return false;
    };
    let Ok(set) = FieldSet::parse(&last.fields) else {
        return false;
    };
    if last.apply {
        set.matches(body, live.value())
    } else {
        initial_create::matches_creation(owner, last, body) && set.covers(body, live.value())
    }
}
