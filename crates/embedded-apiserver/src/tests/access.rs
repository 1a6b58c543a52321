//! Tests of authorization over HTTP: a 403 precedes all other errors, and access reviews agree with it.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{client, server};
use crate::{ApiServer, User};

fn bob(server: &ApiServer) -> kube::Client {
    let user = User {
        name: "bob".to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..User::default()
    };
    server.client_as(user)
}

async fn create(client: &kube::Client, path: &str, object: &Value) -> Value {
    let body = object.to_string().into_bytes();
    let request = http::Request::post(path).body(body).unwrap();
    client.request(request).await.unwrap()
}

fn text(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}", status.code, status.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_user_has_exactly_the_permissions_of_its_roles() {
    let server = server();
    let (root, bob) = (client(&server), bob(&server));
    let maps: Api<ConfigMap> = Api::default_namespaced(bob.clone());
    let refused = text(maps.list(&ListParams::default()).await.unwrap_err());
    let expected = "403 configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"";
    assert_eq!(refused, expected);
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "patch"]}]);
    create(
        &root,
        roles,
        &json!({"metadata": {"name": "r"}, "rules": rules}),
    )
    .await;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob"}],
    });
    create(&root, bindings, &binding).await;
    assert!(maps.list(&ListParams::default()).await.is_ok());
    // Permission to patch does not include permission to create.
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    let refused = maps.patch("new", &PatchParams::apply("m"), &apply).await;
    assert!(text(refused.unwrap_err()).contains("cannot create resource \"configmaps\""));
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    for (verb, allowed) in [("list", true), ("create", false)] {
        let spec = json!({"resourceAttributes": {"verb": verb, "resource": "configmaps", "namespace": "default"}});
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": spec,
        });
        let answer = create(&bob, reviews, &review).await;
        assert_eq!(answer["status"]["allowed"], allowed);
    }
}

#[tokio::test]
async fn an_owner_is_held_back_by_those_who_may_set_its_finalizers() {
    let server = server();
    let (root, bob) = (client(&server), bob(&server));
    let maps = "/api/v1/namespaces/default/configmaps";
    let owner = create(&root, maps, &json!({"metadata": {"name": "owner"}})).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let grant = async |name: &str, resource: &str, verb: &str| {
        let rules = json!([{"apiGroups": [""], "resources": [resource], "verbs": [verb]}]);
        let role = json!({"metadata": {"name": name}, "rules": rules});
        create(&root, roles, &role).await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "name": "bob"}],
        });
        create(&root, bindings, &binding).await;
    };
    grant("creates", "configmaps", "create").await;
    let owned = |name: &str, blocks: bool| {
        json!({"metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
        }]}})
    };
    create(&bob, maps, &owned("free", false)).await;
    let post = |object: Value| {
        let request = http::Request::post(maps).body(object.to_string().into_bytes());
        bob.request::<Value>(request.unwrap())
    };
    let refused = text(post(owned("child", true)).await.unwrap_err());
    let expected = "403 configmaps \"child\" is forbidden: cannot set blockOwnerDeletion if an \
                    ownerReference refers to a resource you can't set finalizers on: , <nil>";
    assert_eq!(refused, expected);
    grant("holds", "configmaps/finalizers", "update").await;
    assert!(post(owned("child", true)).await.is_ok());
    // To set the owner of an object, a user needs permission to delete the object.
    grant("patches", "configmaps", "patch").await;
    let api: Api<ConfigMap> = Api::default_namespaced(bob.clone());
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
    let patched = api.patch("child", &PatchParams::default(), &patch).await;
    let refused = text(patched.unwrap_err());
    assert!(
        refused.contains("an ownerRef on a resource you can't delete"),
        "{refused}"
    );
}

/// Returns the user that the server identifies by a token.
async fn asks(server: &ApiServer, token: &str) -> Result<Value, kube::Error> {
    let client = kube::Client::new(server.service(), "default");
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let request = http::Request::post(path).header("authorization", format!("Bearer {token}"));
    client.request(request.body(b"{}".to_vec()).unwrap()).await
}

#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    let server = server();
    let root = client(&server);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let secrets = "/api/v1/namespaces/default/secrets";
    for path in [accounts, secrets] {
        create(&root, path, &json!({"metadata": {"name": "a"}})).await;
    }
    let issue = async |spec: Value| {
        let issued = create(
            &root,
            &format!("{accounts}/a/token"),
            &json!({"spec": spec}),
        )
        .await;
        issued["status"]["token"].as_str().unwrap().to_owned()
    };
    let free = issue(json!({})).await;
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "a"});
    let bound = issue(json!({"boundObjectRef": reference})).await;
    let delete = async |path: &str| {
        let request = http::Request::delete(format!("{path}/a")).body(Vec::new());
        root.request_text(request.unwrap()).await.unwrap();
    };
    for token in [&free, &bound] {
        let who = asks(&server, token).await.unwrap();
        let name = &who["status"]["userInfo"]["username"];
        assert_eq!(name, "system:serviceaccount:default:a");
    }
    delete(secrets).await;
    // A new object with the same name does not make the token valid again.
    create(&root, secrets, &json!({"metadata": {"name": "a"}})).await;
    let refused = text(asks(&server, &bound).await.unwrap_err());
    assert!(refused.starts_with("401 "), "{refused}");
    assert!(asks(&server, &free).await.is_ok());
    delete(accounts).await;
    create(&root, accounts, &json!({"metadata": {"name": "a"}})).await;
    let refused = text(asks(&server, &free).await.unwrap_err());
    assert!(refused.starts_with("401 "), "{refused}");
    let review = json!({"spec": {"token": free}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answer = create(&root, reviews, &review).await;
    assert_eq!(answer["status"]["authenticated"], Value::Null);
}

#[tokio::test]
async fn a_token_is_bound_to_nothing_that_is_not_there() {
    let root = client(&server());
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(&root, accounts, &json!({"metadata": {"name": "a"}})).await;
    for (kind, code) in [
        ("Secret", "404"),
        ("Pod", "404"),
        ("Node", "404"),
        ("ConfigMap", "400"),
    ] {
        let reference = json!({"apiVersion": "v1", "kind": kind, "name": "absent"});
        let body = json!({"spec": {"boundObjectRef": reference}}).to_string();
        let request = http::Request::post(format!("{accounts}/a/token")).body(body.into_bytes());
        let refused = text(root.request::<Value>(request.unwrap()).await.unwrap_err());
        assert!(refused.starts_with(code), "{kind}: {refused}");
    }
}
