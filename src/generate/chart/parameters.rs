//! The values of a chart, with their defaults from the settings, and their schema.

use serde_json::{Value, json};

use crate::generate::Settings;
use crate::generate::manifests::MARK;
use crate::model::yaml;

/// Returns the text of `values.yaml`.
pub(super) fn values(settings: &Settings) -> String {
    let defaults = [
        (
            "The image of the operator.",
            json!({"image": settings.image}),
        ),
        (
            "The number of Pods. One works, and the others stand by.",
            json!({"replicas": settings.replicas}),
        ),
        (
            "The resources of the container. The number of concurrent runs follows the CPU limit.",
            json!({"resources": settings.resources}),
        ),
        (
            "The namespaces that the operator watches. An empty list stands for all namespaces.",
            json!({"watchNamespaces": settings.watch_namespaces}),
        ),
        (
            "The ports of the API server that the network policy allows.",
            json!({"apiServerPorts": settings.api_server_ports}),
        ),
        (
            "True installs a ServiceMonitor, alerts and a dashboard. The cluster must have the CRDs of the Prometheus operator.",
            json!({"monitoring": settings.monitoring}),
        ),
    ];
    let entries = defaults.iter();
    let entries: Vec<String> = entries
        .map(|(comment, value)| format!("# {comment}\n{}", yaml::write(value)))
        .collect();
    entries.join("\n")
}

/// Returns the text of `values.schema.json`.
pub(super) fn schema() -> String {
    let namespace =
        json!({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63});
    let schema: Value = json!({
        "$comment": MARK,
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": ["image", "replicas", "apiServerPorts"],
        "properties": {
            "apiServerPorts": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "integer", "minimum": 1, "maximum": 65535},
            },
            // Helm passes the values of a parent chart under this key.
            "global": {"type": "object"},
            "image": {"type": "string", "minLength": 1},
            "monitoring": {"type": "boolean"},
            "replicas": {"type": "integer", "minimum": 1},
            "resources": {"type": "object"},
            "watchNamespaces": {"type": "array", "items": namespace, "uniqueItems": true},
        },
    });
    format!("{schema:#}\n")
}
