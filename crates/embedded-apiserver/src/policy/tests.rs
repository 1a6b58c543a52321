//! Tests of the selection of writes, and of expressions that cannot be evaluated.
//!
//! The conformance suite compares complete policies with the real server.

use serde_json::{Value, json};

use super::*;
use crate::resource::Catalogue;
use crate::user::User;

/// Calls a function with the creation of a Deployment.
fn with_deployment<T>(object: &Value, act: impl FnOnce(&Attributes<'_>) -> T) -> T {
    let catalogue = Catalogue::builtin();
    let namespace = json!({"metadata": {"name": "shop", "labels": {"team": "web"}}});
    act(&Attributes {
        operation: Operation::Create,
        resource: catalogue.get("deployments.apps").unwrap(),
        version: "v1",
        subresource: "",
        name: "a",
        namespace: "shop",
        user: &User::admin(),
        dry_run: false,
        object,
        old: &Value::Null,
        namespace_object: &namespace,
    })
}

fn rule(changes: &Value) -> Value {
    let mut rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"],
        "operations": ["CREATE"], "resources": ["deployments"],
    });
    for (field, value) in changes.as_object().unwrap() {
        rule[field] = value.clone();
    }
    rule
}

#[test]
fn a_rule_selects_by_all_its_lists() {
    let object = json!({"metadata": {"name": "a"}});
    for (changes, expected) in [
        (json!({}), true),
        (
            json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"]}),
            true,
        ),
        (json!({"resources": ["*/*"]}), true),
        (json!({"resources": ["*"]}), true),
        (
            json!({"resources": ["deployments/status", "*/scale"]}),
            false,
        ),
        (json!({"operations": ["UPDATE", "DELETE"]}), false),
        (json!({"apiGroups": [""]}), false),
        (json!({"apiVersions": ["v2"]}), false),
        (json!({"scope": "Cluster"}), false),
        (json!({"scope": "Namespaced"}), true),
        (json!({"resourceNames": ["b"]}), false),
        (json!({"resourceNames": ["b", "a"]}), true),
    ] {
        let policy = json!({"spec": {"matchConstraints": {"resourceRules": [rule(&changes)]}}});
        let selected = with_deployment(&object, |write| policy_matches(&policy, write));
        assert_eq!(selected, expected, "{changes}");
    }
}

#[test]
fn selectors_and_excluded_rules_narrow_the_selection() {
    let object = json!({"metadata": {"name": "a", "labels": {"tier": "db"}}});
    for (field, value, expected) in [
        (
            "namespaceSelector",
            json!({"matchLabels": {"team": "web"}}),
            true,
        ),
        (
            "namespaceSelector",
            json!({"matchLabels": {"team": "other"}}),
            false,
        ),
        (
            "objectSelector",
            json!({"matchLabels": {"tier": "db"}}),
            true,
        ),
        (
            "objectSelector",
            json!({"matchLabels": {"tier": "web"}}),
            false,
        ),
        ("excludeResourceRules", json!([rule(&json!({}))]), false),
        (
            "excludeResourceRules",
            json!([rule(&json!({"resources": ["pods"]}))]),
            true,
        ),
    ] {
        let resources = json!({field: value});
        let binding = json!({"spec": {"matchResources": resources}});
        let selected = with_deployment(&object, |write| binding_matches(&binding, write));
        assert_eq!(selected, expected, "{resources}");
    }
    assert!(with_deployment(&object, |write| binding_matches(
        &json!({"spec": {}}),
        write
    )));
}

#[test]
fn an_error_denies_a_write_unless_the_policy_ignores_failures() {
    let object = json!({"spec": {"replicas": 3}});
    let policy = |failure: &str, expression: &str| json!({"spec": {"failurePolicy": failure, "validations": [{"expression": expression}]}});
    let denials =
        |policy: &Value| with_deployment(&object, |write| validate(policy, write, &Value::Null));
    assert_eq!(denials(&policy("Fail", "object.spec.replicas == 3")), []);
    let denied = denials(&policy("Fail", "object.spec.absent == 3"));
    assert_eq!(
        denied[0].message,
        "expression 'object.spec.absent == 3' resulted in error: no such key: absent"
    );
    assert_eq!(denials(&policy("Ignore", "object.spec.absent == 3")), []);
    assert_eq!(
        denials(&policy("Ignore", "object.spec.replicas == 4")).len(),
        1
    );
}

#[test]
fn a_mutation_sees_the_result_of_the_one_before_it() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3}});
    let mutation = |expression: &str| json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let doubled = "Object{spec: Object.spec{replicas: object.spec.replicas * 2}}";
    let policy = json!({"spec": {"mutations": [mutation(doubled), mutation(doubled)]}});
    let schema = crate::schema::Schema::builtin("apps", "v1", "Deployment").unwrap();
    let mutated = with_deployment(&object, |write| {
        mutate(&policy, write, &Value::Null, &schema)
    });
    assert_eq!(mutated.unwrap().unwrap()["spec"]["replicas"], 12);
}
