//! The metadata that the server itself sets.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// The maximum length of the prefix that a generated name keeps.
const GENERATED_BASE: usize = 58;

/// The letters of generated suffixes: no vowels, and no letters that are easily confused.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns a string field of the metadata, or an empty text if it is missing.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Returns `metadata.name`.
pub(super) fn name(object: &Value) -> &str {
    text(object, "name")
}

/// Returns `metadata.namespace`.
pub(super) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// Returns whether the object waits for its finalizers or its grace period.
pub(super) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns `metadata.finalizers`.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// Returns the metadata, and creates them if they are missing.
pub(super) fn of_mut(object: &mut Value) -> &mut Map<String, Value> {
    fields(fields(object).entry("metadata").or_insert(Value::Null))
}

/// Returns the fields of an object. Replaces any other value by an empty object.
fn fields(value: &mut Value) -> &mut Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => {
            *other = Value::Object(Map::new());
            fields(other)
        }
    }
}

/// Sets a field of the metadata to the value of the other object, or removes it if the other object has none.
pub(super) fn copy(field: &str, from: &Value, to: &mut Value) {
    match from["metadata"].get(field) {
        Some(value) => of_mut(to).insert(field.to_owned(), value.clone()),
        None => of_mut(to).remove(field),
    };
}

/// Sets the fields that the server sets on creation, and removes the values that the client sent.
pub(super) fn fill_system_fields(object: &mut Value, now: Timestamp) {
    let metadata = of_mut(object);
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), uid().into());
    metadata.insert("creationTimestamp".to_owned(), rfc3339(now).into());
}

/// Removes duplicate owner references. Returns the warning, if there were any.
pub(super) fn dedup_owners(object: &mut Value) -> Option<String> {
    let owners = object["metadata"]
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    let mut kept: Vec<Value> = Vec::new();
    let mut twice: Vec<String> = Vec::new();
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
            if !twice.contains(&uid) {
                twice.push(uid);
            }
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    if twice.is_empty() {
        return None;
    }
    let uids = twice.join(", ");
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    ))
}

/// Returns a random UUID of version 4 (RFC 9562).
pub(super) fn uid() -> String {
    let bits: u128 = rand::random();
    let bits = bits & !(0xf << 76) | (0x4 << 76);
    let bits = bits & !(0x3 << 62) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

/// Returns a name that begins with `generateName`.
pub(super) fn generated_name(base: &str) -> String {
    let mut end = base.len().min(GENERATED_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base[..end].to_owned();
    for _ in 0..5 {
        let at = rand::random_range(0..SUFFIX_LETTERS.len());
        name.push(char::from(SUFFIX_LETTERS[at]));
    }
    name
}

/// Formats a time as `metav1.Time` does.
pub(super) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_uid_is_of_version_four() {
        let uid = uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!(matches!(&uid[19..20], "8" | "9" | "a" | "b"));
    }

    #[test]
    fn a_generated_name_keeps_63_characters() {
        let name = generated_name(&"a".repeat(80));
        assert_eq!(name.len(), 63);
        assert!(generated_name("é".repeat(40).as_str()).len() <= 63);
    }

    #[test]
    fn system_fields_are_the_servers() {
        let mut object = json!({"metadata": {"uid": "mine", "deletionTimestamp": "x"}});
        fill_system_fields(&mut object, Timestamp::UNIX_EPOCH);
        assert_ne!(object["metadata"]["uid"], "mine");
        assert!(!is_terminating(&object));
        assert_eq!(text(&object, "creationTimestamp"), "1970-01-01T00:00:00Z");
    }
}
