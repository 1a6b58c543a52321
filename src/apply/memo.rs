//! When nothing is sent: what is remembered of an apply, and what it is compared with.

use std::hash::Hasher;

use serde_json::Value;
use twox_hash::XxHash3_64;

use super::Owner;
use crate::model::Object;
use crate::model::field_set::FieldSet;

/// What is remembered of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memo {
    /// Hash of what was applied, for whom and how.
    pub(super) desired: u128,
    /// Hash of what our manager owns and of the values there.
    pub(super) owned: u64,
    /// The version at which `owned` was last computed.
    pub(super) resource_version: Box<str>,
}

impl Memo {
    /// After an apply of `body` that left `live` behind.
    pub(super) fn new(desired: u128, owner: &Owner, live: &Object, body: &Value) -> Self {
        Self {
            desired,
            owned: owned(owner, live, body),
            resource_version: live.resource_version.clone(),
        }
    }

    /// Whether the object is to the letter what it was.
    pub(super) fn is_current(&self, desired: u128, live: &Object) -> bool {
        self.desired == desired && self.resource_version == live.resource_version
    }

    /// Whether nothing of ours changed in it, whatever others did. Costs a parse.
    pub(super) fn still_holds(
        &self,
        desired: u128,
        owner: &Owner,
        live: &Object,
        body: &Value,
    ) -> bool {
        self.desired == desired && self.owned == owned(owner, live, body)
    }
}

/// Whether applying `body` would change nothing, as far as managed fields and live values tell.
pub(super) fn matches(owner: &Owner, live: &Object, body: &Value) -> bool {
    applied_fields(owner, live)
        .and_then(|fields| FieldSet::parse(fields).ok())
        .is_some_and(|set| set.matches(body, &live.value()))
}

/// What our manager owns by applies.
fn applied_fields<'a>(owner: &'a Owner, live: &'a Object) -> Option<&'a str> {
    let mut entries = live.managed_by(&owner.manager, None);
    entries
        .find(|entry| entry.apply)
        .map(|entry| &*entry.fields)
}

/// Hash of what our manager owns by applies, and of the values there; 0 where it owns nothing.
fn owned(owner: &Owner, live: &Object, body: &Value) -> u64 {
    let Some(fields) = applied_fields(owner, live) else {
        return 0;
    };
    let values = FieldSet::parse(fields).map_or(0, |set| set.digest(&live.value(), body));
    let mut hasher = XxHash3_64::new();
    hasher.write(fields.as_bytes());
    hasher.write_u64(values);
    hasher.finish()
}
