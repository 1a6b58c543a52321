//! Tests of custom resources, from their definition to its deletion, and of server-side apply.

use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use serde_json::{Value, json};

use super::{ApiServer, client, server};

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "properties": {
                                "size": {"type": "integer", "minimum": 1, "default": 3},
                                "color": {"type": "string"},
                            },
                        },
                        "status": {
                            "type": "object",
                            "properties": {"ready": {"type": "boolean"}},
                        },
                    },
                }},
            }],
        },
    })
}

fn of_kind(server: &ApiServer, group: &str, kind: &str) -> ApiResource {
    let _ = server;
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

async fn define(server: &ApiServer) -> Api<DynamicObject> {
    let kind = of_kind(server, "apiextensions.k8s.io", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client(server), &kind);
    let object = serde_json::from_value(definition()).unwrap();
    definitions
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    definitions
}

fn widgets(server: &ApiServer) -> Api<DynamicObject> {
    Api::default_namespaced_with(client(server), &of_kind(server, "ex.io", "Widget"))
}

fn widget(name: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "ex.io/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"ready": true},
    });
    serde_json::from_value(object).unwrap()
}

#[tokio::test]
async fn a_definition_serves_its_kind_until_it_goes() {
    let server = server();
    let definitions = define(&server).await;
    let live = definitions.get("widgets.ex.io").await.unwrap();
    assert_eq!(live.data["status"]["acceptedNames"]["singular"], "widget");
    let widgets = widgets(&server);
    let made = widgets
        .create(&PostParams::default(), &widget("a", &json!({})))
        .await
        .unwrap();
    assert_eq!(made.data["spec"]["size"], 3);
    assert!(
        made.data.get("status").is_none(),
        "the status is a subresource"
    );
    let wrong = widgets
        .create(&PostParams::default(), &widget("b", &json!({"size": 0})))
        .await;
    let wrong = wrong.unwrap_err().to_string();
    assert!(
        wrong.contains("should be greater than or equal to 1"),
        "{wrong}"
    );
    definitions
        .delete("widgets.ex.io", &DeleteParams::default())
        .await
        .unwrap();
    assert!(
        definitions
            .get_opt("widgets.ex.io")
            .await
            .unwrap()
            .is_none()
    );
    assert!(widgets.list(&ListParams::default()).await.is_err());
}

#[tokio::test]
async fn a_status_is_written_apart() {
    let server = server();
    define(&server).await;
    let widgets = widgets(&server);
    widgets
        .create(&PostParams::default(), &widget("a", &json!({"size": 1})))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"status": {"ready": true}, "spec": {"size": 9}}));
    let written = widgets
        .patch_status("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(written.data["status"]["ready"], true);
    assert_eq!(written.data["spec"]["size"], 1);
    assert_eq!(written.metadata.generation, Some(1));
    let patch = Patch::Merge(json!({"status": {"ready": false}, "spec": {"size": 2}}));
    let written = widgets
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(written.data["status"]["ready"], true);
    assert_eq!(written.data["spec"]["size"], 2);
    assert_eq!(written.metadata.generation, Some(2));
}

#[tokio::test]
async fn managers_own_what_they_apply() {
    let server = server();
    define(&server).await;
    let widgets = widgets(&server);
    let apply = async |manager: &str, force: bool, spec: Value| {
        let params = PatchParams {
            force,
            ..PatchParams::apply(manager)
        };
        let mut object = widget("a", &spec);
        object.data.as_object_mut().unwrap().remove("status");
        widgets.patch("a", &params, &Patch::Apply(&object)).await
    };
    let first = apply("one", false, json!({"size": 1, "color": "red"}))
        .await
        .unwrap();
    let again = apply("one", false, json!({"size": 1, "color": "red"}))
        .await
        .unwrap();
    assert_eq!(
        first.metadata.resource_version,
        again.metadata.resource_version
    );
    let conflict = apply("two", false, json!({"size": 2}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        conflict.contains("conflict with \"one\": .spec.size"),
        "{conflict}"
    );
    let forced = apply("two", true, json!({"size": 2})).await.unwrap();
    assert_eq!(forced.data["spec"]["size"], 2);
    assert_eq!(forced.metadata.generation, Some(2));
    let given_up = apply("one", false, json!({})).await.unwrap();
    assert!(given_up.data["spec"].get("color").is_none());
}
