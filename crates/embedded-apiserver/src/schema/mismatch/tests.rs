//! Tests of wrong types with the messages of the real server.

use serde_json::json;

use super::*;

fn deployment(path: &str, value: Value) -> String {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}});
    let (parent, name) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    error(&schema, &object).unwrap_or_default()
}

/// A path, a value, and the message of Go: the struct and field, and the expected type.
const WRONG: &str = r#"
/spec/replicas | "x" | string into DeploymentSpec.spec.replicas of type int32
/spec/replicas | 1.5 | number 1.5 into DeploymentSpec.spec.replicas of type int32
/spec/paused | "x" | string into DeploymentSpec.spec.paused of type bool
/metadata/labels | {"a": 1} | number into ObjectMeta.metadata.labels of type string
/metadata/labels | ["x"] | array into ObjectMeta.metadata.labels of type map[string]string
/spec | "x" | string into Deployment.spec of type v1.DeploymentSpec
/metadata | 1 | number into Deployment.metadata of type v1.ObjectMeta
/spec/template/spec/containers | "x" | string into PodSpec.spec.template.spec.containers of type []v1.Container
/spec/template/spec/containers | ["x"] | string into PodSpec.spec.template.spec.containers of type v1.Container
/metadata/creationTimestamp | 5 | number into ObjectMeta.metadata.creationTimestamp of type string
/metadata/ownerReferences | [{"controller": "x"}] | string into OwnerReference.metadata.ownerReferences.controller of type bool
/spec/strategy | {"rollingUpdate": {"maxSurge": [1]}} | array into RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32
/spec/template/spec/containers/0/image | 5 | number into Container.spec.template.spec.containers.image of type string
/spec/template/spec/containers/0/imagePullPolicy | 5 | number into Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy
/spec/template/spec/containers/0/livenessProbe | {"httpGet": {"port": true}} | bool into HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32
"#;

#[test]
fn wrong_values_have_gos_texts() {
    for line in WRONG.trim().lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        let value = serde_json::from_str(parts[1]).unwrap();
        let (found, place) = parts[2].split_once(" into ").unwrap();
        let expected = format!("json: cannot unmarshal {found} into Go struct field {place}");
        assert_eq!(deployment(parts[0], value), expected, "{line}");
    }
}

#[test]
fn types_that_read_themselves_come_first() {
    let container = "/spec/template/spec/containers/0/resources";
    assert_eq!(
        deployment(container, json!({"limits": {"cpu": "x"}})),
        QUANTITY
    );
    assert_eq!(
        deployment(container, json!({"limits": {"cpu": true}})),
        QUANTITY
    );
    for fine in [
        json!("1.5Gi"),
        json!(1.5),
        json!("1e3"),
        json!("-100m"),
        json!("5"),
        json!(0),
    ] {
        assert_eq!(deployment(container, json!({"limits": {"cpu": fine}})), "");
    }
    assert_eq!(
        deployment("/metadata/creationTimestamp", json!("x")),
        "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""
    );
    for fine in ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+02:00"] {
        assert_eq!(deployment("/metadata/creationTimestamp", json!(fine)), "");
    }
}

#[test]
fn bytes_and_fine_times_are_checked() {
    let schema = Schema::builtin("", "v1", "ConfigMap").unwrap();
    let object = json!({"binaryData": {"a": "###"}});
    assert_eq!(
        error(&schema, &object).unwrap(),
        "illegal base64 data at input byte 0"
    );
    let lease = Schema::builtin("coordination.k8s.io", "v1", "Lease").unwrap();
    let object = json!({"spec": {"renewTime": "2020-01-01T00:00:00Z"}});
    assert_eq!(
        check(&lease, "Lease", "v1", &object).unwrap_err().message,
        "Lease in version \"v1\" cannot be handled as a Lease: parsing time \"2020-01-01T00:00:00Z\" as \
         \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\""
    );
    let object = json!({"spec": {"renewTime": "2020-01-01T00:00:00.123456Z"}});
    assert_eq!(error(&lease, &object), None);
}
