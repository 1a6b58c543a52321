//! Decides whether an apply would change nothing, from the last apply or from managed fields.

use std::hash::Hasher;

use serde_json::Value;
use twox_hash::XxHash3_64;

use super::Owner;
use super::initial_create;
use crate::model::field_set::FieldSet;
use crate::model::{Object, ParsedObject};

/// The result of the last apply of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastApplied {
    /// Hash of the applied object, its owner and its ownership.
    pub(super) desired: u128,
    /// The fields that our manager owned after the apply.
    owned: OwnedFieldsDigest,
    /// The resourceVersion at which `owned` was computed.
    pub(super) resource_version: Box<str>,
}

/// Hashes of the fields that our manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedFieldsDigest {
    /// The paths and their values.
    values: u64,
    /// The paths that the role asked for.
    shape: u64,
}

impl LastApplied {
    /// Records an apply of `body` with the result `live`.
    pub(super) fn new(desired: u128, owner: &Owner, live: &ParsedObject, body: &Value) -> Self {
        Self {
            desired,
            owned: OwnedFieldsDigest::compute(owner, live, body),
            resource_version: live.object().resource_version.clone(),
        }
    }

    /// Returns whether neither the wanted nor the live object changed.
    pub(super) fn is_current(&self, desired: u128, live: &Object) -> bool {
        self.desired == desired && self.resource_version == live.resource_version
    }

    /// Returns whether no field of ours changed, regardless of the fields of other managers.
    pub(super) fn is_unchanged(
        &self,
        desired: u128,
        owner: &Owner,
        live: &ParsedObject,
        body: &Value,
    ) -> bool {
        self.desired == desired && self.owned == OwnedFieldsDigest::compute(owner, live, body)
    }

    /// Returns whether `body` asks for the same paths as before, so that the apply gives up no
    /// field.
    pub(super) fn requests_same_fields(
        &self,
        owner: &Owner,
        live: &ParsedObject,
        body: &Value,
    ) -> bool {
        self.owned.shape == OwnedFieldsDigest::compute(owner, live, body).shape
    }
}

impl OwnedFieldsDigest {
    fn compute(owner: &Owner, live: &ParsedObject, body: &Value) -> Self {
        let (mut values, mut shape) = (XxHash3_64::new(), XxHash3_64::new());
        for entry in initial_create::own_entries(owner, live.object()) {
            values.write(entry.fields.as_bytes());
            match FieldSet::parse(&entry.fields) {
                Ok(set) => {
                    values.write_u64(set.digest(live.value(), body));
                    shape.write_u64(set.shape(body));
                }
                // An unknown field set can have any value, so that each resourceVersion counts as a change.
                Err(_) => values.write(live.resource_version.as_bytes()),
            }
        }
        Self {
            values: values.finish(),
            shape: shape.finish(),
        }
    }
}

/// Returns whether applying `body` would change nothing, according to managed fields and live values.
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
