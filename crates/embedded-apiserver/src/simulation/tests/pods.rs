//! Tests of endpoints, claims, failures and disruption budgets of Pods.

use super::*;

#[test]
fn a_service_has_the_endpoints_of_its_ready_pods() {
    let world = Cluster::new();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc", "namespace": "default"},
        "spec": {"selector": {"app": "x"}, "ports": [{"name": "web", "port": 8080, "targetPort": "http"}]},
    });
    world.create("services", service);
    assert_eq!(world.get("endpoints", "svc").get("subsets"), None);
    world.create("deployments.apps", workload("Deployment", 2));
    let subset = world.get("endpoints", "svc")["subsets"][0].clone();
    assert_eq!(items(&subset["addresses"]).len(), 2);
    assert_eq!(
        subset["ports"],
        json!([{"name": "web", "port": 80, "protocol": "TCP"}])
    );
    let slices = world.list("endpointslices.discovery.k8s.io");
    assert_eq!(items(&slices[0]["endpoints"]).len(), 2);
    assert_eq!(slices[0]["endpoints"][0]["conditions"]["ready"], true);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["replicas"] = json!(0);
    });
    assert_eq!(world.get("endpoints", "svc").get("subsets"), None);
    world.delete("services", "svc");
    assert!(world.list("endpointslices.discovery.k8s.io").is_empty());
}

#[test]
fn a_claim_is_bound_and_goes_after_its_pod() {
    let world = Cluster::new();
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    world.create("persistentvolumeclaims", claim);
    let claim = world.get("persistentvolumeclaims", "c");
    assert_eq!(
        claim["status"],
        json!({
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        })
    );
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": template()["spec"],
    });
    pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    world.create("pods", pod);
    assert_eq!(world.get("pods", "p")["status"]["phase"], "Running");
    world.delete("persistentvolumeclaims", "c");
    assert!(
        at(
            &world.get("persistentvolumeclaims", "c"),
            &["metadata", "deletionTimestamp"]
        )
        .is_string()
    );
    world.delete("pods", "p");
    assert_eq!(world.find("pods", "p"), None);
    assert_eq!(world.find("persistentvolumeclaims", "c"), None);
    let volumes = world
        .server
        .registry
        .write(|tx| tx.list("persistentvolumes", None));
    assert!(volumes.is_empty());
}

#[test]
fn pods_fail_as_configured() {
    let world = Cluster::new();
    for (failure, phase, reason) in [
        (Failure::CrashLoopBackOff, "Running", "CrashLoopBackOff"),
        (Failure::ImagePullBackOff, "Pending", "ImagePullBackOff"),
        (Failure::NeverReady, "Running", ""),
    ] {
        world.control.release_all();
        world.control.fail(Target::default(), failure);
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
        pod["spec"] = template()["spec"].clone();
        world.create("pods", pod);
        let pod = world.get("pods", "p");
        assert_eq!(pod["status"]["phase"], phase);
        let state = &pod["status"]["containerStatuses"][0]["state"];
        assert_eq!(text(state, &["waiting", "reason"]), reason);
        assert!(conditions(&pod).contains(&"Ready=False ContainersNotReady".to_owned()));
        world.delete("pods", "p");
    }
}

#[test]
fn a_budget_knows_what_may_be_disrupted() {
    let world = Cluster::new();
    world.create("deployments.apps", workload("Deployment", 3));
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}},
    });
    world.create("poddisruptionbudgets.policy", budget);
    let status = world.get("poddisruptionbudgets.policy", "b")["status"].clone();
    assert_eq!(
        (
            status["disruptionsAllowed"].clone(),
            status["currentHealthy"].clone()
        ),
        (json!(1), json!(3))
    );
}
