//! Completes a definition on each write.

use serde_json::{Map, Value, json};

use super::structural::{list, text};

/// Sets a definition's defaults. Its status becomes that of the old definition, or empty, with the storage
/// version in the stored versions.
pub(crate) fn prepare(crd: &mut Value, old: Option<&Value>) {
    default(crd);
    let empty = || json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null});
    let mut status = old
        .and_then(|old| old.get("status"))
        .cloned()
        .unwrap_or_else(empty);
    if let Some(name) = storage_version(crd)
        && !list(&status, "storedVersions").any(|stored| *stored == *name)
    {
        let mut stored: Vec<Value> = list(&status, "storedVersions").cloned().collect();
        stored.push(name.into());
        status["storedVersions"] = stored.into();
    }
    // Go writes a missing list as null.
    if status.get("storedVersions").is_none() {
        status["storedVersions"] = Value::Null;
    }
    crd["status"] = status;
}

/// Sets the defaults that the server sets on decoding: singular, list kind, conversion, stored versions.
pub(crate) fn default(crd: &mut Value) {
    if crd["status"].is_object()
        && list(&crd["status"], "storedVersions").next().is_none()
        && let Some(name) = storage_version(crd).map(str::to_owned)
    {
        crd["status"]["storedVersions"] = json!([name]);
    }
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let names = spec
        .entry("names")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(kind) = text(names, "kind") {
        if text(names, "singular").is_none() {
            names["singular"] = kind.to_lowercase().into();
        }
        if text(names, "listKind").is_none() {
            names["listKind"] = format!("{kind}List").into();
        }
    }
    if !spec.get("conversion").is_some_and(Value::is_object) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    let service = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"));
    if let Some(Value::Object(service)) = service {
        service.entry("port").or_insert_with(|| 443.into());
    }
}

/// Returns the version in which custom resources are stored.
pub(crate) fn storage_version(crd: &Value) -> Option<&str> {
    list(crd.get("spec")?, "versions")
        .find(|version| version["storage"] == true)
        .and_then(|version| version["name"].as_str())
}
