//! `stringData` of Secrets: text that is written into `data`, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(super) fn merge_string_data(object: &mut Value) {
    let taken = object
        .as_object_mut()
        .and_then(|map| map.remove("stringData"));
    let Some(Value::Object(texts)) = taken else {
        return;
    };
    for (key, text) in texts {
        let text = text.as_str().unwrap_or_default();
        object["data"][key] = json!(STANDARD.encode(text));
    }
}
