//! Warnings about objects that the server accepts.
//!
//! <https://kubernetes.io/blog/2020/09/03/warnings/>

use std::collections::HashSet;

use serde_json::Value;

use super::path::{items, text};
use crate::names;

/// Returns the warnings for a new object of a built-in kind.
pub(crate) fn warnings(group: &str, kind: &str, object: &Value) -> Vec<String> {
    match (group, kind) {
        ("", "Pod") => of_pod(object),
        ("", "Service") if !items(&object["spec"]["externalIPs"]).is_empty() => vec![
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        ],
        _ => Vec::new(),
    }
}

fn of_pod(pod: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let reasons = names::label(text(pod, &["metadata", "name"]));
    if !reasons.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising \
             behavior; a DNS label is recommended: [{}]",
            reasons.join(" ")
        ));
    }
    for list in ["initContainers", "containers"] {
        for (at, container) in items(&pod["spec"][list]).iter().enumerate() {
            let mut seen = HashSet::new();
            for (place, variable) in items(&container["env"]).iter().enumerate() {
                let name = text(variable, &["name"]);
                if !seen.insert(name) {
                    warnings.push(format!(
                        "spec.{list}[{at}].env[{place}]: hides previous definition of {name:?}, \
                         which may be dropped when using apply"
                    ));
                }
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_warned_of_what_surprises() {
        let env = json!([{"name": "A"}, {"name": "B"}, {"name": "A"}]);
        let pod = json!({"metadata": {"name": "a.b"}, "spec": {"containers": [{"env": env}]}});
        let found = warnings("", "Pod", &pod);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].ends_with("recommended: [must not contain dots]"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("spec.containers[0].env[2]: hides"),
            "{found:?}"
        );
        assert!(warnings("", "ConfigMap", &pod).is_empty());
    }
}
