//! Status conditions, and how they are merged into the list that a status holds.
//!
//! A merge finds entries by type. An entry keeps its position, and keeps its `lastTransitionTime` while
//! its status is unchanged. An unchanged entry keeps its exact text.

use std::fmt;

use serde_json::{Map, Value};

use super::PublicText;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The condition is true.
    True,
    /// The condition is false.
    False,
    /// The state is not known.
    Unknown,
}

impl Status {
    /// Returns the value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Parses the value in the API.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::True, Self::False, Self::Unknown]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A desired condition. The merge adds times and the observed generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// `Ready`, `Stalled`, …: the key of the list.
    pub kind: String,
    /// The status.
    pub status: Status,
    /// The reason: one CamelCase word that programs read.
    pub reason: PublicText,
    /// The message: a sentence that people read.
    pub message: PublicText,
    /// Further fields. A change of these fields alone causes no write.
    pub details: Map<String, Value>,
}

impl Condition {
    /// Creates a condition without further fields.
    pub fn new(
        kind: impl Into<String>,
        status: Status,
        reason: impl Into<PublicText>,
        message: impl Into<PublicText>,
    ) -> Self {
        Self {
            kind: kind.into(),
            status,
            reason: reason.into(),
            message: message.into(),
            details: Map::new(),
        }
    }

    /// Returns the entry to write, given the existing one.
    fn entry(&self, old: Option<&Value>, stamp: &ConditionStamp<'_>) -> Value {
        let old = old.and_then(Value::as_object);
        let kept_time = old
            .filter(|old| old.get("status").and_then(Value::as_str) == Some(self.status.as_str()))
            .and_then(|old| old.get("lastTransitionTime"));
        let mut entry = Map::new();
        entry.insert("type".into(), self.kind.as_str().into());
        entry.insert("status".into(), self.status.as_str().into());
        entry.insert("reason".into(), (*self.reason).into());
        entry.insert("message".into(), (*self.message).into());
        let time = kept_time.map_or_else(|| stamp.now.into(), Value::clone);
        entry.insert("lastTransitionTime".into(), time);
        if let Some(generation) = stamp.generation {
            entry.insert("observedGeneration".into(), generation.into());
        }
        // The server drops fields that the CRD does not declare. If the comparison counted a dropped
        // field, each later run would write again.
        if let Some(old) = old
            && entry.iter().all(|(key, value)| match old.get(key) {
                Some(there) => there == value,
                None => key == "observedGeneration",
            })
        {
            return Value::Object(old.clone());
        }
        entry.extend(self.details.clone());
        Value::Object(entry)
    }
}

/// The values that a merge writes into changed entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionStamp<'a> {
    /// The current time in the format of `metav1.Time`.
    pub now: &'a str,
    /// The generation of the CR that the run read; `None` if the kind has no generation.
    pub generation: Option<i64>,
}

/// Returns the entry of a type.
pub(crate) fn find<'a>(list: &'a [Value], kind: &str) -> Option<&'a Value> {
    list.iter().find(|entry| entry["type"] == kind)
}

/// Returns whether the list has an entry of this type with this status.
pub(crate) fn is(list: &[Value], kind: &str, status: Status) -> bool {
    find(list, kind).is_some_and(|entry| entry["status"] == status.as_str())
}

/// Returns the list with a condition: it replaces the entry of its type, or is appended.
pub(crate) fn merge(list: &mut Vec<Value>, condition: &Condition, stamp: &ConditionStamp<'_>) {
    let place = list
        .iter()
        .position(|entry| entry["type"] == condition.kind.as_str());
    let entry = condition.entry(place.map(|place| &list[place]), stamp);
    match place {
        Some(place) => list[place] = entry,
        None => list.push(entry),
    }
}

/// Returns the list without the entry of a type.
pub(crate) fn remove(list: &mut Vec<Value>, kind: &str) {
    list.retain(|entry| entry["type"] != kind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const THEN: &str = "2026-01-01T00:00:00Z";
    const NOW: ConditionStamp<'static> = ConditionStamp {
        now: "2026-01-02T00:00:00Z",
        generation: Some(2),
    };

    fn ready(status: Status, reason: &'static str) -> Condition {
        Condition::new("Ready", status, reason, "")
    }

    fn entry(status: &str, reason: &str, generation: i64) -> Value {
        json!({"type": "Ready", "status": status, "reason": reason, "message": "",
               "lastTransitionTime": THEN, "observedGeneration": generation})
    }

    #[test]
    fn the_time_moves_with_the_status_only() {
        let mut list = vec![entry("True", "Old", 1)];
        merge(&mut list, &ready(Status::True, "New"), &NOW);
        assert_eq!(list[0]["lastTransitionTime"], THEN);
        assert_eq!(list[0]["reason"], "New");
        assert_eq!(list[0]["observedGeneration"], 2);
        merge(&mut list, &ready(Status::False, "New"), &NOW);
        assert_eq!(list[0]["lastTransitionTime"], NOW.now);
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn others_keep_their_place_and_fields() {
        let other = json!({"type": "Else", "status": "True", "odd": 1});
        let mut list = vec![entry("True", "Old", 1), other.clone()];
        merge(&mut list, &ready(Status::False, "New"), &NOW);
        merge(
            &mut list,
            &Condition::new("Third", Status::True, "Is", ""),
            &NOW,
        );
        assert_eq!(list[0]["type"], "Ready");
        assert_eq!(list[1], other);
        assert_eq!(list[2]["lastTransitionTime"], NOW.now);
        remove(&mut list, "Else");
        assert!(find(&list, "Else").is_none());
        assert!(is(&list, "Third", Status::True));
    }

    #[test]
    fn fields_that_the_crd_drops_are_not_a_change() {
        let mut dropped = entry("True", "Same", 2);
        dropped
            .as_object_mut()
            .unwrap()
            .remove("observedGeneration");
        let mut list = vec![dropped.clone()];
        merge(&mut list, &ready(Status::True, "Same"), &NOW);
        assert_eq!(list, [dropped]);
    }

    #[test]
    fn details_are_written_only_along_with_a_change() {
        let mut list = vec![entry("True", "Same", 2)];
        let mut condition = ready(Status::True, "Same");
        condition
            .details
            .insert("ansibleResult".into(), json!({"ok": 1}));
        merge(&mut list, &condition, &NOW);
        assert!(list[0].get("ansibleResult").is_none());
        condition.reason = "Other".into();
        merge(&mut list, &condition, &NOW);
        assert_eq!(list[0]["ansibleResult"]["ok"], 1);
    }

    #[test]
    fn entries_that_are_not_maps_are_ignored() {
        let mut list = vec![json!("odd"), json!(null)];
        merge(&mut list, &ready(Status::Unknown, "Is"), &NOW);
        assert_eq!(list.len(), 3);
        assert_eq!(Status::parse("Unknown"), Some(Status::Unknown));
        assert_eq!(Status::parse("true"), None);
    }
}
