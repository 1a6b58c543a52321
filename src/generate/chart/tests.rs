//! The files of a chart.

use super::*;
use crate::generate::manifests::is_generated;
use crate::generate::rbac::KindTable;
use crate::model::yaml;
use crate::role::Project;

#[test]
fn the_templates_take_their_values_from_helm() {
    let settings = Settings::of_new_project("shop");
    let project = Project::default();
    let requirements = Requirements::of_project(&project, &KindTable::new(&[]), &settings);
    let crds = [CrdFile {
        name: "sites.yaml".to_owned(),
        text: "kind: CustomResourceDefinition\n".to_owned(),
        definitions: vec![serde_json::json!({"metadata": {"name": "sites.shop.example.com"}})],
    }];
    let chart = Chart {
        settings: &settings,
        requirements: &requirements,
        crds: &crds,
    };
    let files = chart.files().unwrap();
    for file in &files {
        let path = file.path.display().to_string();
        assert!(
            is_generated(&file.text) || path.ends_with("NOTES.txt"),
            "{path}"
        );
        if path.starts_with("templates/") {
            assert!(!file.text.contains("shop-system"), "{path}");
        }
    }
    let text = |path: &str| {
        let mut found = files.iter();
        &found.find(|file| file.path.ends_with(path)).unwrap().text
    };
    insta::assert_snapshot!("manager", text("templates/manager.yaml"));
    insta::assert_snapshot!("permissions", text("templates/cluster-role.yaml"));
    insta::assert_snapshot!("values", text("values.yaml"));
    insta::assert_snapshot!("notes", text("NOTES.txt"));
    let values = yaml::parse(text("values.yaml")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(text("values.schema.json")).unwrap();
    for key in values.as_object().unwrap().keys() {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
}
