//! Generates a Helm chart from the settings, the permissions and the CRDs of a project.
//!
//! The templates of the manifests are those of the deploy folder. In place of constants, they get expressions of Helm.

mod parameters;

#[cfg(test)]
mod tests;

use std::path::Path;

use minijinja::context;
use minijinja::value::Serde;

use super::Settings;
use super::manifests::{self, CrdFile, HEAD, Values, dashboard};
use super::project_file::{ProjectFile, render};
use super::rbac::{Requirements, chart_document};

/// The condition of a manifest: an expression of Helm.
type Condition = Option<&'static str>;

const MANIFESTS: [(&str, &str, Condition); 8] = [
    ("service-account.yaml", manifests::SERVICE_ACCOUNT, None),
    ("leader-election.yaml", manifests::LEADER_ELECTION, None),
    ("manager.yaml", manifests::MANAGER, None),
    ("metrics-service.yaml", manifests::METRICS_SERVICE, None),
    ("network-policy.yaml", manifests::NETWORK_POLICY, None),
    (
        "pod-disruption-budget.yaml",
        manifests::POD_DISRUPTION_BUDGET,
        Some("gt (int .Values.replicas) 1"),
    ),
    (
        "service-monitor.yaml",
        manifests::SERVICE_MONITOR,
        Some(".Values.monitoring"),
    ),
    (
        "prometheus-rule.yaml",
        manifests::PROMETHEUS_RULE,
        Some(".Values.monitoring"),
    ),
];
const DASHBOARD: &str = include_str!("templates/dashboard.yaml");
const TEST: &str = include_str!("templates/check.yaml");

/// The sources of a chart.
pub(crate) struct Chart<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) requirements: &'a Requirements,
    pub(crate) crds: &'a [CrdFile],
}

impl Chart<'_> {
    /// Generates all files. Their paths are relative to the folder of the chart.
    pub(crate) fn files(&self) -> Result<Vec<ProjectFile>, minijinja::Error> {
        let Self { settings, .. } = *self;
        let shared = Values::of_chart(settings);
        let values = minijinja::Value::from(Serde(&shared));
        let mut files = self.descriptions(&values)?;
        for crd in self.crds {
            files.push(marked(Path::new("crds").join(&crd.name), &crd.text));
        }
        for (name, template, condition) in MANIFESTS {
            let text = render(template, &values)?;
            files.push(template_file(name, &text, condition));
        }
        let permissions = chart_document(self.requirements, &shared.name, &shared.namespace);
        files.push(template_file("cluster-role.yaml", &permissions, None));
        let dashboard_map = render(DASHBOARD, &values)?;
        let monitoring = Some(".Values.monitoring");
        files.push(template_file("dashboard.yaml", &dashboard_map, monitoring));
        let test = render(TEST, &values)?;
        files.push(template_file("tests/check.yaml", &test, None));
        files.push(ProjectFile {
            path: "dashboard.json".into(),
            text: dashboard(&settings.name),
        });
        Ok(files)
    }

    /// Generates the files that describe the chart and its values.
    fn descriptions(
        &self,
        values: &minijinja::Value,
    ) -> Result<Vec<ProjectFile>, minijinja::Error> {
        let Settings {
            name,
            version,
            description,
            ..
        } = self.settings;
        let definitions = self.crds.iter().flat_map(|crd| &crd.definitions);
        let names =
            definitions.filter_map(|crd| crd["metadata"]["name"].as_str().map(str::to_owned));
        let resources: Vec<String> = names.collect();
        let description = serde_json::Value::from(&**description).to_string();
        let own = context! { chart => name, version, description, resources };
        let values = context! { ..own, ..values.clone() };
        let chart = render(include_str!("templates/Chart.yaml"), &values)?;
        let notes = render(include_str!("templates/NOTES.txt"), &values)?;
        Ok(vec![
            marked("Chart.yaml", &chart),
            marked("values.yaml", &parameters::values(self.settings)),
            ProjectFile {
                path: "values.schema.json".into(),
                text: parameters::schema(),
            },
            ProjectFile {
                path: "templates/NOTES.txt".into(),
                text: notes,
            },
        ])
    }
}

fn marked(path: impl AsRef<Path>, text: &str) -> ProjectFile {
    ProjectFile {
        path: path.as_ref().to_owned(),
        text: format!("{HEAD}{text}"),
    }
}

fn template_file(name: &str, text: &str, condition: Condition) -> ProjectFile {
    let path = Path::new("templates").join(name);
    match condition {
        Some(condition) => marked(
            path,
            &format!("{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"),
        ),
        None => marked(path, text),
    }
}
