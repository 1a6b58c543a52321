//! Tests of authorization, with the messages of Kubernetes 1.36.3.

use std::sync::Arc;

use serde_json::{Value, json};

use super::review::{self, Context};
use super::{Attributes, Rules, authorize, escalation, rbac};
use crate::error::ApiError;
use crate::user::User;

/// A fixed list of roles and bindings.
struct FixedRules(Vec<Arc<Value>>);

impl FixedRules {
    fn from_objects(objects: &Value) -> Self {
        Self(
            objects
                .as_array()
                .unwrap()
                .iter()
                .cloned()
                .map(Arc::new)
                .collect(),
        )
    }
}

impl Rules for FixedRules {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let all = self.list(resource, (!namespace.is_empty()).then_some(namespace));
        all.into_iter().find(|one| one["metadata"]["name"] == name)
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let of = |one: &&Arc<Value>| {
            let kind = one["kind"].as_str().unwrap().to_lowercase();
            let place = one["metadata"]["namespace"].as_str();
            resource.starts_with(&format!("{kind}s."))
                && namespace.is_none_or(|it| place == Some(it))
        };
        self.0.iter().filter(of).cloned().collect()
    }
}

fn rules() -> FixedRules {
    FixedRules::from_objects(&json!([
        {
            "kind": "Role",
            "metadata": {"name": "r", "namespace": "acc"},
            "rules": [{
                "apiGroups": [""],
                "resources": ["pods", "configmaps"],
                "resourceNames": ["x"],
                "verbs": ["get", "list"],
            }],
        },
        {
            "kind": "RoleBinding",
            "metadata": {"name": "rb", "namespace": "acc"},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "bob"}, {"kind": "ServiceAccount", "name": "sa"}],
        },
        {
            "kind": "ClusterRole",
            "metadata": {"name": "paths"},
            "rules": [{"nonResourceURLs": ["/x/*"], "verbs": ["get"]}],
        },
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "crb"},
            "roleRef": {"kind": "ClusterRole", "name": "paths"},
            "subjects": [{"kind": "Group", "name": "walkers"}],
        },
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "broken"},
            "roleRef": {"kind": "ClusterRole", "name": "none"},
            "subjects": [{"kind": "User", "name": "eve"}],
        },
    ]))
}

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(ToString::to_string).collect(),
        ..User::default()
    }
}

fn on(verb: &str, resource: &str, name: &str) -> Attributes {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Attributes {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: "acc".to_owned(),
        name: name.to_owned(),
        ..Attributes::default()
    }
}

fn refused(user: &User, attributes: &Attributes) -> ApiError {
    authorize(user, attributes, &rules()).unwrap_err()
}

#[test]
fn roles_let_their_subjects_do_what_they_say() {
    let bob = user("bob", &[]);
    let decision = rbac::decide(&bob, &on("get", "pods", "x"), &rules());
    assert!(decision.allowed);
    let reason = "RBAC: allowed by RoleBinding \"rb/acc\" of Role \"r\" to User \"bob\"";
    assert_eq!(decision.reason, reason);
    let account = user("system:serviceaccount:acc:sa", &[]);
    assert!(rbac::is_allowed(
        &account,
        &on("list", "configmaps", "x"),
        &rules()
    ));
    let path = |path: &str| Attributes {
        verb: "get".to_owned(),
        path: Some(path.to_owned()),
        ..Attributes::default()
    };
    assert!(rbac::is_allowed(
        &user("w", &["walkers"]),
        &path("/x/1"),
        &rules()
    ));
    assert!(!rbac::is_allowed(&bob, &path("/x/1"), &rules()));
    let root = user("root", &["system:masters"]);
    assert!(rbac::is_allowed(
        &root,
        &on("delete", "nodes", "n"),
        &rules()
    ));
}

#[test]
fn refusals_are_worded_as_the_real_server_words_them() {
    let bob = user("bob", &[]);
    let text = |attributes: &Attributes| refused(&bob, attributes).message;
    assert_eq!(
        text(&on("list", "pods", "")),
        "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace \"acc\""
    );
    assert_eq!(
        text(&on("get", "pods/log", "x")),
        "pods \"x\" is forbidden: User \"bob\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"acc\""
    );
    let cluster = Attributes {
        verb: "list".to_owned(),
        group: "apps".to_owned(),
        resource: "deployments".to_owned(),
        ..Attributes::default()
    };
    let error = refused(&bob, &cluster);
    assert_eq!(
        error.message,
        "deployments.apps is forbidden: User \"bob\" cannot list resource \"deployments\" in API group \"apps\" at the cluster scope"
    );
    assert_eq!(
        Value::Object(error.details.unwrap()),
        json!({"group": "apps", "kind": "deployments"})
    );
    let eve = refused(&user("eve", &[]), &cluster);
    let end = ": RBAC: clusterrole.rbac.authorization.k8s.io \"none\" not found";
    assert!(eve.message.ends_with(end), "{}", eve.message);
}

fn ask(body: Value, asking: &User) -> Result<Value, ApiError> {
    let rules = rules();
    let tokens = |token: &str| (token == "good").then(|| user("bob", &["g"]));
    let context = Context {
        user: asking,
        namespace: "acc",
        now: "2026-01-01T00:00:00Z",
        rules: &rules,
        tokens: &tokens,
    };
    review::answer(body, &context)
}

fn body(group: &str, kind: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({"apiVersion": format!("{group}.k8s.io/v1"), "kind": kind, "metadata": {}, "spec": spec})
}

#[test]
fn reviews_of_access_are_answered() {
    let bob = user("bob", &["system:authenticated"]);
    let spec = json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "acc", "name": "x"}});
    let answer = ask(
        body("authorization", "SelfSubjectAccessReview", spec.clone()),
        &bob,
    )
    .unwrap();
    let reason = "RBAC: allowed by RoleBinding \"rb/acc\" of Role \"r\" to User \"bob\"";
    assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
    let mut other = spec;
    other["user"] = json!("eve");
    let answer = ask(body("authorization", "SubjectAccessReview", other), &bob).unwrap();
    let reason = "RBAC: clusterrole.rbac.authorization.k8s.io \"none\" not found";
    assert_eq!(
        answer["status"],
        json!({"allowed": false, "reason": reason})
    );
    let error = ask(
        body("authorization", "SubjectAccessReview", json!({})),
        &bob,
    )
    .unwrap_err();
    assert_eq!(
        error.message,
        ".authorization.k8s.io \"\" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: \"\": at least one of user or group must be specified]"
    );
    let spec = json!({"user": "bob", "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "other"}});
    let error = ask(
        body("authorization", "LocalSubjectAccessReview", spec),
        &bob,
    )
    .unwrap_err();
    assert!(error.message.contains(
        "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
    ));
}

#[test]
fn everybody_can_ask_for_their_rules_and_who_they_are() {
    let bob = user("bob", &["system:authenticated"]);
    let answer = ask(
        body(
            "authorization",
            "SelfSubjectRulesReview",
            json!({"namespace": "acc"}),
        ),
        &bob,
    );
    let answer = answer.unwrap();
    assert_eq!(answer["spec"], json!({}));
    let rule = json!({
        "verbs": ["get", "list"],
        "apiGroups": [""],
        "resources": ["pods", "configmaps"],
        "resourceNames": ["x"],
    });
    assert_eq!(
        answer["status"],
        json!({"resourceRules": [rule], "nonResourceRules": null, "incomplete": false})
    );
    let answer = ask(
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        &bob,
    );
    let who = json!({"username": "bob", "groups": ["system:authenticated"]});
    assert_eq!(answer.unwrap()["status"], json!({"userInfo": who}));
    let token = |token: &str| {
        ask(
            body("authentication", "TokenReview", json!({"token": token})),
            &bob,
        )
    };
    assert_eq!(
        token("bad").unwrap()["status"],
        json!({"user": {}, "error": "invalid bearer token"})
    );
    let good = json!({"authenticated": true, "user": {"username": "bob", "groups": ["g"]}});
    assert_eq!(token("good").unwrap()["status"], good);
    assert_eq!(
        token("").unwrap_err().message,
        "token is required for TokenReview in authentication"
    );
}

#[test]
fn a_role_grants_only_permissions_of_its_writer() {
    let bob = user("bob", &["system:authenticated"]);
    let role = json!({
        "metadata": {"name": "esc", "namespace": "acc"},
        "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"], "verbs": ["get"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
        ],
    });
    let error = escalation::check("Role", &role, &bob, &rules()).unwrap_err();
    assert_eq!(
        error.message,
        "roles.rbac.authorization.k8s.io \"esc\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"*\"]}"
    );
    let binding = json!({
        "metadata": {"name": "b", "namespace": "acc"},
        "roleRef": {"kind": "Role", "name": "r"},
    });
    assert!(escalation::check("RoleBinding", &binding, &bob, &rules()).is_ok());
    assert!(escalation::check("RoleBinding", &binding, &user("eve", &[]), &rules()).is_err());
    let root = user("root", &["system:masters"]);
    assert!(escalation::check("Role", &role, &root, &rules()).is_ok());
}
