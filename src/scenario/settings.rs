//! Parses `scenario.yaml`, the settings of a scenario.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::diagnostics::{Diagnostics, Item, Keys};
use crate::model::syntax::is_dns_label;

/// The default of `deadline`: twice that of `kubectl wait`.
const DEADLINE: Duration = Duration::from_mins(1);

/// The settings of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// A description, for reports.
    pub(super) description: String,
    /// The default namespace of its objects. Generated if absent.
    pub(super) namespace: Option<String>,
    /// The maximum time until an expectation holds.
    pub(super) deadline: Duration,
    /// True if the stage `idempotence` runs.
    pub(super) idempotence: bool,
    /// Files with CRDs beside those of the project; relative to the scenario's folder.
    pub(super) crds: Vec<PathBuf>,
    /// True if the operator watches all namespaces of a real cluster.
    pub(super) all_namespaces: bool,
    /// The constant `vars` of its scripts.
    pub(super) vars: Map<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            description: String::new(),
            namespace: None,
            deadline: DEADLINE,
            idempotence: true,
            crds: Vec::new(),
            all_namespaces: false,
            vars: Map::new(),
        }
    }
}

const KEYS: Keys = Keys {
    known: &[
        "allNamespaces",
        "crds",
        "deadline",
        "description",
        "idempotence",
        "namespace",
        "vars",
    ],
    refused: &[
        (
            "driver",
            "driver is not supported",
            "remove it: scenarios run on the embedded API, or on a cluster with --kubeconfig",
        ),
        (
            "platforms",
            "platforms is not supported",
            "remove it: scenarios run on the embedded API, or on a cluster with --kubeconfig",
        ),
        (
            "provisioner",
            "provisioner is not supported",
            "remove it: the operator of this project runs the roles",
        ),
        (
            "scenario",
            "the files of the scenario determine the stages",
            "write idempotence: false to skip that stage",
        ),
        (
            "timeout",
            "write `deadline` for the time limit of an expectation",
            "",
        ),
    ],
};

/// Reads the file's text.
pub(super) fn read(text: &str, diagnostics: &Diagnostics) -> Settings {
    let mut settings = Settings::default();
    let Some(root) = diagnostics.parse(text) else {
        return settings;
    };
    let root = Item::root(&root, diagnostics);
    if root.value().is_null() {
        return settings;
    }
    let Some(fields) = root.fields(KEYS) else {
        return settings;
    };
    if let Some(text) = fields.get("description").and_then(|item| item.text()) {
        text.clone_into(&mut settings.description);
    }
    let name = |item: Item<'_>| {
        item.text_like("a namespace", is_dns_label)
            .map(str::to_owned)
    };
    settings.namespace = fields.get("namespace").and_then(name);
    if let Some(deadline) = fields.get("deadline").and_then(|item| item.duration()) {
        settings.deadline = deadline;
    }
    if let Some(flag) = fields.get("idempotence").and_then(|item| item.flag()) {
        settings.idempotence = flag;
    }
    if let Some(flag) = fields.get("allNamespaces").and_then(|item| item.flag()) {
        settings.all_namespaces = flag;
    }
    let files = fields.get("crds").and_then(|item| item.items());
    settings.crds = files
        .into_iter()
        .flatten()
        .filter_map(|item| item.text().map(PathBuf::from))
        .collect();
    if let Some(vars) = fields.get("vars").and_then(|item| item.map()) {
        settings.vars = vars;
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let diagnostics = Diagnostics::new("scenario.yaml");
        read(text, &diagnostics);
        let diagnostics = diagnostics.into_vec();
        diagnostics.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn absent_settings_have_defaults() {
        let diagnostics = Diagnostics::new("scenario.yaml");
        let settings = read("deadline: 5s\ncrds: [a.yaml]\nvars: {x: 1}\n", &diagnostics);
        assert_eq!(settings.deadline, Duration::from_secs(5));
        assert_eq!(settings.crds, [PathBuf::from("a.yaml")]);
        assert_eq!(settings.vars["x"], 1);
        assert!(settings.idempotence && settings.namespace.is_none());
        assert_eq!(messages("# nothing\n"), [""; 0]);
    }

    #[test]
    fn an_unknown_key_is_reported_with_a_suggestion() {
        assert_eq!(
            messages("dedline: 5s\n"),
            [
                "scenario.yaml:1:1: error: unknown key \"dedline\"\n  hint: did you mean \"deadline\"?"
            ]
        );
        assert_eq!(messages("a: 1\nnamespace: A\n").len(), 2);
        assert!(messages("driver: {name: x}\n")[0].contains("driver is not supported"));
    }
}
