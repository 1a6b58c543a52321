//! Tests of OpenAPI documents and their hashes.

use super::*;

fn widgets(schema: &Value, namespaced: bool) -> CustomVersion<'_> {
    CustomVersion {
        group: "smd.io",
        version: "v1",
        kind: "Gizmo",
        list_kind: "GizmoList",
        plural: "gizmos",
        namespaced,
        schema: Some(schema),
        status: true,
        scale: true,
    }
}

fn read(path: &str, custom: &[CustomVersion<'_>]) -> Value {
    serde_json::from_str(&document(path, custom).unwrap()).unwrap()
}

#[test]
fn a_built_in_document_has_what_kubectl_reads() {
    let apps = read("apis/apps/v1", &[]);
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"]["kind"],
        "Deployment"
    );
    let names: Vec<&str> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    let spec = &apps["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"];
    assert!(spec["properties"]["replicas"]["description"].is_string());
    assert!(document("apis/nope/v1", &[]).is_none());
}

#[test]
fn a_custom_resource_has_a_document_like_them() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
    for namespaced in [true, false] {
        let custom = [widgets(&schema, namespaced)];
        let document = read("apis/smd.io/v1", &custom);
        let prefix = if namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let patch = &document["paths"][format!("/apis/smd.io/v1{prefix}/gizmos/{{name}}")]["patch"];
        assert_eq!(
            patch["x-kubernetes-group-version-kind"],
            json!({"group": "smd.io", "version": "v1", "kind": "Gizmo"})
        );
        let schemas = &document["components"]["schemas"];
        assert_eq!(
            schemas["io.smd.v1.GizmoList"]["properties"]["items"]["items"]["$ref"],
            "#/components/schemas/io.smd.v1.Gizmo"
        );
        assert!(schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].is_object());
        let text = document.to_string();
        assert!(!text.contains("Deployment\"") && !text.contains("CustomResourceDefinition"));
    }
}

#[test]
fn the_hash_changes_with_the_schema() {
    let (one, other) = (
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
    );
    let hash_of = |schema| hash("apis/smd.io/v1", &[widgets(schema, true)]).unwrap();
    assert_ne!(hash_of(&one), hash_of(&other));
    let index = index(&[widgets(&one, true)]);
    assert_eq!(
        index["paths"]["apis/smd.io/v1"]["serverRelativeURL"],
        format!("/openapi/v3/apis/smd.io/v1?hash={}", hash_of(&one))
    );
    assert!(index["paths"]["api/v1"].is_object());
}

#[test]
fn every_document_can_be_made() {
    let file = unpack(FILE);
    for path in &*PATHS {
        let document = builtin(&file, path);
        assert!(document["paths"].is_object(), "{path}");
        assert!(!document["paths"].to_string().contains("null"), "{path}");
    }
}

#[test]
fn the_second_version_has_the_definitions_of_all_kinds() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "required": ["free", "none"],
        "properties": {
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "none": {"type": "string", "nullable": true},
            "port": {"x-kubernetes-int-or-string": true},
        },
    }}});
    let document: Value = serde_json::from_str(&v2(&[widgets(&schema, true)])).unwrap();
    let definitions = &document["definitions"];
    let expected = json!({
        "type": "object",
        "required": ["free"],
        "properties": {
            "free": {"x-kubernetes-preserve-unknown-fields": true},
            "none": {},
            "port": {"x-kubernetes-int-or-string": true},
        },
    });
    let gizmo = &definitions["io.smd.v1.Gizmo"]["properties"];
    assert_eq!(gizmo["spec"], expected);
    let metadata = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(gizmo["metadata"]["$ref"], metadata);
    let quantity = &definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(quantity["type"], "string");
    let text = document.to_string();
    assert!(!text.contains("#/components/"), "{text}");
}
