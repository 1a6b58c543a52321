//! The example operators of this repository fit together: roles load, CRDs and samples are there.

#![expect(clippy::panic, reason = "a test that panics is a test that fails")]

use std::fs;
use std::path::Path;

use minijinja::value::Serde;
use rhai_operator::host::{self, template};
use rhai_operator::model::diagnostic::Severity;
use rhai_operator::model::yaml;
use rhai_operator::role::{self, Project, Toolchain};
use rhai_operator::script::Engine;
use rhai_operator::watches::Environment;
use serde_json::{Value, json};

fn project() -> Project {
    let engine = Engine::new(host::modules(), &host::VARIABLES);
    let toolchain = Toolchain {
        engine,
        templates: host::template::configure,
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let loaded = Project::load(
        &root.join("watches.yaml"),
        &root.join("roles"),
        &Environment::default(),
        &toolchain,
    );
    match loaded {
        Ok(project) => project,
        Err(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}", problems.join("\n"))
        }
    }
}

#[test]
fn the_project_loads_without_a_warning() {
    let notes = project().notes;
    let warnings: Vec<_> = notes
        .iter()
        .filter(|note| note.severity != Severity::Note)
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[test]
fn every_watched_kind_has_a_crd_and_a_sample() {
    let (crds, samples) = (documents("deploy/crds"), documents("deploy/samples"));
    for watch in &project().watches {
        let (group, version, kind) = (&watch.gvk.group, &watch.gvk.version, &watch.gvk.kind);
        let crd = crds
            .iter()
            .find(|crd| crd["spec"]["names"]["kind"] == **kind);
        let crd = crd.unwrap_or_else(|| panic!("no CRD of {kind}"));
        assert_eq!(crd["spec"]["group"], **group, "{kind}");
        let served = &crd["spec"]["versions"][0];
        assert_eq!(served["name"], **version, "{kind}");
        let sample = samples.iter().find(|sample| sample["kind"] == **kind);
        let sample = sample.unwrap_or_else(|| panic!("no sample of {kind}"));
        assert_eq!(sample["apiVersion"], format!("{group}/{version}"), "{kind}");
    }
}

#[test]
fn every_crd_has_a_status_that_tools_understand() {
    for crd in documents("deploy/crds") {
        let (name, version) = (&crd["metadata"]["name"], &crd["spec"]["versions"][0]);
        assert!(version["subresources"]["status"].is_object(), "{name}");
        let columns = version["additionalPrinterColumns"]
            .as_array()
            .expect("columns");
        assert!(
            columns.iter().any(|column| column["name"] == "Ready"),
            "{name}"
        );
        let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
        assert_eq!(status["observedGeneration"]["format"], "int64", "{name}");
        let conditions = &status["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map", "{name}");
        assert_eq!(
            conditions["x-kubernetes-list-map-keys"],
            json!(["type"]),
            "{name}"
        );
        let condition = &conditions["items"]["properties"];
        for field in [
            "type",
            "status",
            "reason",
            "message",
            "observedGeneration",
            "lastTransitionTime",
        ] {
            assert!(condition[field].is_object(), "{name} has no {field}");
        }
    }
}

/// All documents of the YAML files of a folder.
fn documents(folder: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).expect("the folder is there");
    let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("a text"));
    texts
        .flat_map(|text| yaml::parse_all(&text).expect("YAML"))
        .collect()
}

#[test]
fn every_template_renders_to_objects() {
    let project = project();
    let samples = documents("deploy/samples");
    for watch in &project.watches {
        let sample = samples
            .iter()
            .find(|sample| sample["kind"] == *watch.gvk.kind)
            .expect("a sample");
        let role = project.roles.get(&watch.role).expect("its role");
        let spec = sample["spec"].as_object().expect("a spec");
        let mut scope = role::variables(role, spec, &watch.vars, None, watch.snake_case);
        // Variables that the script of `experimental` adds.
        scope.insert("page_digest".to_owned(), json!("0"));
        scope.insert("spec".to_owned(), sample["spec"].clone());
        scope.insert("meta".to_owned(), sample["metadata"].clone());
        let scope = minijinja::Value::from(Serde(scope));
        for (name, _) in role.templates.templates() {
            let objects = template::render_objects(&role.templates, name, &scope).expect(name);
            assert!(!objects.is_empty(), "{}: {name}", role.name);
            for object in objects {
                let metadata = &object["metadata"];
                let named = metadata["name"].is_string() || metadata["generateName"].is_string();
                assert!(
                    named && object["kind"].is_string(),
                    "{}: {name}: {object}",
                    role.name
                );
            }
        }
    }
}
