//! The files of a bundle.

use serde_json::json;

use super::*;
use crate::generate::rbac::KindTable;
use crate::role::Project;

#[test]
fn the_cluster_service_version_describes_the_operator() {
    let settings = Settings {
        watch_namespaces: vec!["a".to_owned()],
        ..Settings::of_new_project("shop")
    };
    let requirements =
        Requirements::of_project(&Project::default(), &KindTable::new(&[]), &settings);
    let spec = json!({"properties": {"size": {"type": "integer"}}});
    let version = json!({
        "name": "v1",
        "schema": {"openAPIV3Schema": {"description": "A site.", "properties": {"spec": spec}}},
    });
    let definition = json!({
        "metadata": {"name": "sites.shop.example.com"},
        "spec": {"names": {"kind": "Site"}, "versions": [version]},
    });
    let crds = [CrdFile {
        name: "sites.yaml".to_owned(),
        text: "kind: CustomResourceDefinition\n".to_owned(),
        definitions: vec![definition],
    }];
    let bundle = Bundle {
        settings: &settings,
        requirements: &requirements,
        crds: &crds,
        samples: &[json!({"apiVersion": "shop.example.com/v1", "kind": "Site"})],
    };
    let files = bundle.files().unwrap();
    let paths: Vec<String> = files
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    insta::assert_snapshot!("paths", paths.join("\n"));
    insta::assert_snapshot!("cluster_service_version", files[0].text);
}
