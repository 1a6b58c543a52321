//! Compares the custom resource definitions (CRDs) of the deploy folder with watches.yaml and the inputs of roles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::Diagnostic;
use crate::model::diagnostic::Severity;
use crate::role::{self, Input};
use crate::watches::Watch;

const GENERATE: &str = "run rhai-operator generate crd";

/// The paths that diagnostics name.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProjectPaths<'a> {
    pub(super) watches_file: &'a Path,
    pub(super) roles_dir: &'a Path,
}

/// Reports CRDs that are missing, or that do not fit to a watch or the inputs of its role. A folder without CRDs
/// belongs to a project that defines its kinds elsewhere.
pub(super) fn check_definitions(
    project: &role::Project,
    paths: ProjectPaths<'_>,
    crds: &[(PathBuf, Value)],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if crds.is_empty() {
        return diagnostics;
    }
    for watch in &project.watches {
        let group = &*watch.gvk.group;
        let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
        if !is_custom {
            continue;
        }
        let inputs = project.roles.get(&watch.role).map(|role| &role.inputs);
        let check = DefinitionCheck {
            watch,
            paths,
            inputs: inputs.filter(|inputs| !inputs.is_empty()),
        };
        check.run(crds, &mut diagnostics);
    }
    diagnostics
}

struct DefinitionCheck<'a> {
    watch: &'a Watch,
    paths: ProjectPaths<'a>,
    /// The inputs of the role, if it has any.
    inputs: Option<&'a BTreeMap<String, Input>>,
}

impl DefinitionCheck<'_> {
    fn run(&self, crds: &[(PathBuf, Value)], diagnostics: &mut Vec<Diagnostic>) {
        let gvk = &self.watch.gvk;
        let found = crds.iter().find(|(_, crd)| {
            crd["spec"]["group"] == *gvk.group && crd["spec"]["names"]["kind"] == *gvk.kind
        });
        let Some((file, crd)) = found else {
            let message = format!(
                "no CRD of the deploy folder defines {}.{}",
                gvk.kind, gvk.group
            );
            let hint = match self.inputs {
                Some(_) => GENERATE,
                None => "put its CRD into the folder crds",
            };
            diagnostics.push(self.at_watch(message).hint(hint));
            return;
        };
        let versions = crd["spec"]["versions"].as_array();
        let versions = versions.map_or(&[][..], Vec::as_slice);
        let version = versions
            .iter()
            .find(|version| version["name"] == *gvk.version);
        let Some(version) = version else {
            let names = versions
                .iter()
                .filter_map(|version| version["name"].as_str());
            let names: Vec<_> = names.collect();
            let message = format!("the CRD of {} has no version {}", gvk.kind, gvk.version);
            let hint = format!("its versions are {}", names.join(", "));
            let error = self.at_watch(message).severity(Severity::Error);
            diagnostics.push(error.hint(hint));
            return;
        };
        self.check_status(file, version, diagnostics);
        if let Some(inputs) = self.inputs {
            let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            self.check_inputs(inputs, spec, "spec", diagnostics);
        }
    }

    fn check_status(&self, file: &Path, version: &Value, diagnostics: &mut Vec<Diagnostic>) {
        let name = &self.watch.gvk.version;
        let warning = |message: String, hint: &str| {
            let error = Diagnostic::error(file, 0, 0, message);
            error.severity(Severity::Warning).hint(hint)
        };
        if version["served"] == false {
            let message = format!("version {name} is not served, and a watch names it");
            diagnostics.push(warning(message, "set served to true"));
        }
        if version["subresources"]["status"].is_null() {
            let message =
                format!("version {name} has no status subresource: the operator writes no status");
            diagnostics.push(warning(message, "add subresources: {status: {}}"));
            return;
        }
        let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        if self.watch.manage_status && !has_field(status, "conditions") {
            let message = format!(
                "version {name} has no field status.conditions: the API server drops conditions"
            );
            diagnostics.push(warning(
                message,
                "add the field, or set manageStatus to false",
            ));
        }
    }

    /// Reports inputs that the CRD does not have: the API server prunes their values.
    fn check_inputs(
        &self,
        inputs: &BTreeMap<String, Input>,
        schema: &Value,
        path: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for (name, input) in inputs {
            let path = format!("{path}.{name}");
            if !has_field(schema, name) {
                let role = self.paths.roles_dir.join(&*self.watch.role);
                let message = format!(
                    "the input {path} is not in the CRD of {}: the API server drops it",
                    self.watch.gvk.kind
                );
                let file = role.join("meta/main.yaml");
                diagnostics.push(Diagnostic::error(file, 0, 0, message).hint(GENERATE));
                continue;
            }
            let below = &schema["properties"][name];
            if below.is_object() {
                self.check_inputs(&input.properties, below, &path, diagnostics);
            }
        }
    }

    fn at_watch(&self, message: String) -> Diagnostic {
        let at = self.watch.position;
        Diagnostic::error(self.paths.watches_file, at.line, at.column, message)
            .severity(Severity::Warning)
    }
}

/// Returns true if a schema keeps a field.
fn has_field(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
        || schema["x-kubernetes-preserve-unknown-fields"] == true
        || !schema["additionalProperties"].is_null()
}
