//! The values of the templates: constants in a deploy folder, expressions of Helm in a chart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::generate::Settings;
use crate::model::yaml;

/// The labels of alerts that their texts name.
const ALERT_LABELS: [&str; 4] = ["controller", "kind", "limit", "name"];

/// The values of the templates. Texts that begin with a line feed are blocks of YAML with their indentation.
#[derive(Debug, Serialize)]
pub(in crate::generate) struct Values {
    pub(in crate::generate) name: String,
    pub(in crate::generate) namespace: String,
    /// `labels` of the metadata; empty where kustomize adds them.
    pub(super) labels: String,
    /// The labels of the manager's Pods.
    pub(super) selector: Vec<String>,
    pub(super) replicas: String,
    /// True if the Pods should run on different nodes.
    pub(super) spread: bool,
    pub(super) image: String,
    pub(super) resources: String,
    /// The flag for the watched namespaces; empty for all namespaces.
    pub(super) watch_namespaces: String,
    pub(super) api_server_ports: String,
    /// The label `job` of scraped metrics: the name of the Service.
    pub(super) job: String,
    /// References to the labels of an alert.
    pub(super) label: BTreeMap<&'static str, String>,
    pub(super) monitoring: bool,
}

impl Values {
    /// Returns the constants of the settings.
    pub(in crate::generate) fn of_settings(settings: &Settings) -> Self {
        let Settings {
            name, namespace, ..
        } = settings;
        let watch_namespaces = match settings.watch_namespaces.join(",") {
            names if names.is_empty() => names,
            names => format!("\n            - --watch-namespace={names}"),
        };
        let mut api_server_ports = String::new();
        for port in &settings.api_server_ports {
            let _ = write!(
                api_server_ports,
                "\n        - {{protocol: TCP, port: {port}}}"
            );
        }
        let labels = ALERT_LABELS.into_iter();
        Self {
            name: name.clone(),
            namespace: namespace.clone(),
            labels: String::new(),
            selector: vec![
                format!("app.kubernetes.io/name: {name}"),
                "app.kubernetes.io/component: manager".to_owned(),
            ],
            replicas: settings.replicas.to_string(),
            spread: settings.replicas > 1,
            image: settings.image.clone(),
            resources: block(&Value::Object(settings.resources.clone()), 12),
            watch_namespaces,
            api_server_ports,
            job: format!("{name}-metrics"),
            label: labels
                .map(|label| (label, format!("{{{{ $labels.{label} }}}}")))
                .collect(),
            monitoring: settings.monitoring,
        }
    }

    /// Returns expressions of Helm, which replace the settings at installation.
    pub(in crate::generate) fn of_chart(settings: &Settings) -> Self {
        let app = &settings.name;
        let name = "{{ $.Release.Name }}";
        let chart = r#"{{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}"#;
        let instance = format!("app.kubernetes.io/instance: {name}");
        let metadata = [
            format!("app.kubernetes.io/name: {app}"),
            instance.clone(),
            "app.kubernetes.io/managed-by: {{ $.Release.Service }}".to_owned(),
            format!("helm.sh/chart: {chart}"),
        ];
        let labels = ALERT_LABELS.into_iter();
        Self {
            name: name.to_owned(),
            namespace: "{{ $.Release.Namespace }}".to_owned(),
            labels: format!("\n  labels:\n    {}", metadata.join("\n    ")),
            selector: vec![
                format!("app.kubernetes.io/name: {app}"),
                instance,
                "app.kubernetes.io/component: manager".to_owned(),
            ],
            replicas: "{{ .Values.replicas }}".to_owned(),
            spread: true,
            image: "{{ .Values.image | quote }}".to_owned(),
            resources: " {{ toJson .Values.resources }}".to_owned(),
            watch_namespaces: [
                "\n{{- with .Values.watchNamespaces }}",
                r#"            - --watch-namespace={{ join "," . }}"#,
                "{{- end }}",
            ]
            .join("\n"),
            api_server_ports: [
                "\n{{- range .Values.apiServerPorts }}",
                "        - {protocol: TCP, port: {{ . }} }",
                "{{- end }}",
            ]
            .join("\n"),
            job: format!("{name}-metrics"),
            // Prometheus expands the inner expression.
            label: labels
                .map(|label| (label, format!(r#"{{{{ "{{{{ $labels.{label} }}}}" }}}}"#)))
                .collect(),
            monitoring: settings.monitoring,
        }
    }
}

/// Returns a map as a block of YAML that begins on the next line.
fn block(value: &Value, indent: usize) -> String {
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        return " {}".to_owned();
    }
    let text = yaml::write(value);
    let lines = text.lines().map(|line| format!("\n{:indent$}{line}", ""));
    lines.collect()
}
