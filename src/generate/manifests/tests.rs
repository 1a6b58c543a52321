//! The manifests follow the settings, and name metrics and labels that the operator has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::*;
use crate::generate::rbac::KindTable;
use crate::model::yaml;
use crate::role::Project;
use crate::telemetry::metrics::{Metrics, ReconcileResult, WatchState};

fn settings() -> Settings {
    Settings {
        name: "shop".to_owned(),
        namespace: "shop-system".to_owned(),
        image: "registry.example.com/shop:1.0.0".to_owned(),
        ..Settings::default()
    }
}

fn files(settings: &Settings) -> BTreeMap<String, String> {
    let project = Project::default();
    let requirements = Requirements::of_project(&project, &KindTable::new(&[]), settings);
    let folder = DeployFolder {
        settings,
        requirements: &requirements,
        crds: &[CrdFile {
            name: "a.yaml".to_owned(),
            text: String::new(),
            definitions: Vec::new(),
        }],
    };
    let files = folder.files().unwrap().into_iter();
    files
        .map(|file| (file.path.display().to_string(), file.text))
        .collect()
}

#[test]
fn each_manifest_is_marked_and_ends_with_one_newline() {
    let settings = Settings {
        replicas: 2,
        monitoring: true,
        ..settings()
    };
    let files = files(&settings);
    let owned: BTreeSet<_> = owned_paths()
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(files.keys().cloned().collect::<BTreeSet<_>>(), owned);
    for (path, text) in files {
        assert!(is_generated(&text), "{path}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{path}");
        yaml::parse_all(&text).unwrap();
    }
}

#[test]
fn the_kustomization_names_each_file() {
    let files = files(&settings());
    insta::assert_snapshot!(files["kustomization.yaml"]);
    let listed = yaml::parse(&files["kustomization.yaml"]).unwrap();
    for file in listed["resources"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        assert!(
            file.starts_with("crds/") || files.contains_key(file),
            "{file}"
        );
    }
}

#[test]
fn the_settings_are_in_the_manifests() {
    let settings = Settings {
        replicas: 3,
        watch_namespaces: vec!["a".to_owned(), "b".to_owned()],
        api_server_ports: vec![16443],
        monitoring: true,
        ..settings()
    };
    let files = files(&settings);
    insta::assert_snapshot!(files["manager.yaml"]);
    let policy = yaml::parse(&files["network-policy.yaml"]).unwrap();
    let port = policy.pointer("/spec/egress/1/ports/0/port");
    assert_eq!(port, Some(&Value::from(16443)));
    let kustomization = yaml::parse(&files["kustomization.yaml"]).unwrap();
    assert_eq!(kustomization["components"][0], "monitoring");
    assert!(files.contains_key("pod-disruption-budget.yaml"));
}

/// Returns metrics with at least one sample of each family.
fn sampled_metrics() -> Metrics {
    let metrics = Metrics::default();
    let controller = metrics.controller("site");
    controller.bound(1);
    controller.added(1);
    controller.taken(Duration::ZERO, 0);
    controller.finished(Duration::ZERO, ReconcileResult::Success);
    controller.script_ran(Duration::ZERO);
    controller.limit_hit("time");
    metrics.request("200", "GET", "host");
    metrics.leads("shop", true);
    metrics.host_calls("k8s_apply", 1);
    metrics.applied("created", 1);
    metrics.before_scrape(|metrics| {
        metrics.cached([("Site".to_owned(), 1)], 1);
        metrics.watch_states([WatchState {
            kind: "Site".into(),
            purpose: "primary",
            state: "synced",
        }]);
    });
    metrics
}

/// Returns the samples by name, each with the names of its labels.
fn samples() -> BTreeMap<String, BTreeSet<String>> {
    let text = sampled_metrics().encode().unwrap();
    let sample = Regex::new(r"(?m)^([a-z_]+)(?:\{([^}]*)\})? ").unwrap();
    let label = Regex::new(r#"([a-z_]+)=""#).unwrap();
    let mut samples: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in sample.captures_iter(&text) {
        let labels = samples.entry(line[1].to_owned()).or_default();
        let found = line.get(2).map_or("", |labels| labels.as_str());
        labels.extend(label.captures_iter(found).map(|found| found[1].to_owned()));
    }
    samples
}

/// Returns the queries of the rules and of the dashboard.
fn queries() -> Vec<String> {
    let settings = Settings {
        monitoring: true,
        ..settings()
    };
    let files = files(&settings);
    let rules = yaml::parse(&files["monitoring/prometheus-rule.yaml"]).unwrap();
    let rules = rules["spec"]["groups"][0]["rules"].as_array().unwrap();
    let alerts = rules.iter().map(|rule| &rule["expr"]);
    let dashboard: Value = serde_json::from_str(&files["monitoring/dashboard.json"]).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let graphs = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = alerts.chain(graphs.map(|graph| &graph["expr"]));
    queries
        .map(|query| query.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn alerts_and_dashboard_name_metrics_and_labels_of_the_operator() {
    let samples = samples();
    // The labels that Prometheus adds to each sample of a Pod.
    let target_labels = ["job", "namespace", "pod"].map(str::to_owned);
    let metric = Regex::new(r"([a-z_]+)\{[^}]*\}").unwrap();
    let syntax = Regex::new(r"\b[a-z_]+ ?\(|\bby \([^)]*\)|\[[^]]*\]").unwrap();
    let by = Regex::new(r"\bby \(([^)]*)\)").unwrap();
    let selected = Regex::new(r#"[{,]([a-z_]+)(?:=~|!=|=)""#).unwrap();
    let mut used = BTreeSet::new();
    for query in queries() {
        let names: Vec<_> = metric.captures_iter(&query).collect();
        let rest = metric.replace_all(&query, "");
        let rest = syntax.replace_all(&rest, "");
        assert!(!rest.contains('_'), "{query}: a metric without a selector");
        assert!(!names.is_empty(), "{query}");
        for name in names {
            let name = &name[1];
            let known = samples.get(name);
            let known = known.unwrap_or_else(|| panic!("{query}: {name} is not a metric"));
            let groups = by.captures_iter(&query);
            let groups =
                groups.flat_map(|list| list[1].split(", ").map(str::to_owned).collect::<Vec<_>>());
            let selected = selected.captures_iter(&query);
            for label in groups.chain(selected.map(|label| label[1].to_owned())) {
                let is_known = known.contains(&label) || target_labels.contains(&label);
                assert!(is_known, "{query}: {name} has no label {label}");
            }
            used.insert(name.to_owned());
        }
    }
    assert!(used.len() > 20, "{used:?}");
}
