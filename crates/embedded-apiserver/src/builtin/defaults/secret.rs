//! Merges `stringData` of Secrets into `data`, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::within;

/// Merges `stringData` into `data`. The real server merges on decoding, so the writer owns the fields of
/// `data`.
pub(super) fn merge_string_data(map: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = map.remove("stringData") else {
        return;
    };
    let Some(data) = within(map, "data") else {
        return;
    };
    for (key, text) in texts {
        let text = text.as_str().unwrap_or_default();
        data.insert(key, json!(STANDARD.encode(text)));
    }
}
