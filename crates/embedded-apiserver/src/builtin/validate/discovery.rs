//! Validates EndpointSlices.

use serde_json::{Value, json};

use super::super::path::{items, text};
use super::check::{Errors, address, one_of, unchanged};

pub(super) fn validate_endpoint_slice(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let kind = text(object, &["addressType"]);
    let types = ["FQDN", "IPv4", "IPv6"];
    one_of(&mut errors, "addressType".to_owned(), &json!(kind), &types);
    if kind.starts_with("IP") {
        for (at, endpoint) in items(&object["endpoints"]).iter().enumerate() {
            for (place, one) in items(&endpoint["addresses"]).iter().enumerate() {
                let path = format!("endpoints[{at}].addresses[{place}]");
                address(&mut errors, path, one.as_str().unwrap_or_default());
            }
        }
    }
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["addressType"]);
    }
    errors
}
