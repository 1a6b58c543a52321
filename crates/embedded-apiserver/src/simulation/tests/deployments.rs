//! Tests of Deployments and their ReplicaSets.

use super::*;

#[test]
fn a_deployment_becomes_available_as_a_real_one() {
    let world = Cluster::new();
    world.create("deployments.apps", workload("Deployment", 2));
    let deployment = world.get("deployments.apps", "w");
    let mut status = deployment["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    // The expected status is that of Kubernetes 1.36.3.
    let expected = json!({
        "availableReplicas": 2,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "terminatingReplicas": 0,
        "updatedReplicas": 2,
    });
    assert_eq!(status, expected);
    let expected = [
        "Available=True MinimumReplicasAvailable",
        "Progressing=True NewReplicaSetAvailable",
    ];
    assert_eq!(conditions(&deployment), expected);
    assert_eq!(
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    let sets = world.list("replicasets.apps");
    let expected = json!({
        "availableReplicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "terminatingReplicas": 0,
    });
    assert_eq!(sets[0]["status"], expected);
    let annotations = json!({
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    });
    assert_eq!(sets[0]["metadata"]["annotations"], annotations);
    assert_eq!(sets[0]["metadata"]["generation"], 1);
    assert_eq!(world.list("pods").len(), 2);
}

#[test]
fn a_rollout_replaces_all_pods_and_ends() {
    let world = Cluster::new();
    for strategy in ["RollingUpdate", "Recreate"] {
        let mut deployment = workload("Deployment", 3);
        deployment["spec"]["strategy"] = json!({"type": strategy});
        world.create("deployments.apps", deployment);
        world.change("deployments.apps", "w", |object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        let pods = world.list("pods");
        assert_eq!(pods.len(), 3, "{strategy}");
        assert!(
            pods.iter()
                .all(|pod| pod["spec"]["containers"][0]["image"] == "nginx:2")
        );
        let deployment = world.get("deployments.apps", "w");
        assert_eq!(deployment["status"]["updatedReplicas"], 3);
        assert_eq!(
            deployment["status"]["observedGeneration"],
            deployment["metadata"]["generation"]
        );
        assert_eq!(
            deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
            "2"
        );
        assert_eq!(world.list("replicasets.apps").len(), 2);
        world.delete("deployments.apps", "w");
        assert!(world.list("pods").is_empty() && world.list("replicasets.apps").is_empty());
    }
}

#[test]
fn a_rollout_of_what_does_not_start_keeps_what_works_and_times_out() {
    let world = Cluster::new();
    world.create("deployments.apps", workload("Deployment", 4));
    world.change("deployments.apps", "w", |object| {
        object["spec"]["template"]["metadata"]["labels"]["bad"] = json!("yes");
    });
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["updatedReplicas"],
        4
    );
    let target = Target::default().with_labels(&json!({"bad": "worse"}));
    world
        .control
        .fail(target.unwrap(), Failure::ImagePullBackOff);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["template"]["metadata"]["labels"]["bad"] = json!("worse");
    });
    let deployment = world.get("deployments.apps", "w");
    let status = &deployment["status"];
    // 25% of 4 is 1: at most one Pod is unavailable, and at most one Pod is additional.
    assert_eq!(status["availableReplicas"], 3, "{status:#}");
    assert_eq!(status["updatedReplicas"], 2);
    assert_eq!(
        conditions(&deployment)[0],
        "Available=True MinimumReplicasAvailable"
    );
    world.advance(601);
    let deployment = world.get("deployments.apps", "w");
    assert!(
        conditions(&deployment).contains(&"Progressing=False ProgressDeadlineExceeded".to_owned())
    );
    let waiting = world
        .list("pods")
        .into_iter()
        .filter(|pod| pod["status"]["phase"] == "Pending");
    assert_eq!(waiting.count(), 2);
    world.control.release_all();
    world.server.settle();
    let deployment = world.get("deployments.apps", "w");
    assert_eq!(
        conditions(&deployment)[1],
        "Progressing=True NewReplicaSetAvailable"
    );
}

#[test]
fn scaling_and_pausing_do_what_they_say() {
    let world = Cluster::new();
    world.create("deployments.apps", workload("Deployment", 1));
    for replicas in [5, 2, 0, 1] {
        world.change("deployments.apps", "w", |object| {
            object["spec"]["replicas"] = json!(replicas);
        });
        assert_eq!(i64::try_from(world.list("pods").len()).unwrap(), replicas);
        assert_eq!(world.list("replicasets.apps").len(), 1);
    }
    world.change("deployments.apps", "w", |object| {
        object["spec"]["paused"] = json!(true);
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    assert_eq!(world.list("replicasets.apps").len(), 1);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["replicas"] = json!(3);
    });
    assert_eq!(world.list("pods").len(), 3);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["paused"] = json!(false);
    });
    assert!(
        world
            .list("pods")
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "other")
    );
}

#[test]
fn held_workloads_wait_until_they_are_released() {
    let world = Cluster::new();
    let target = Target::object("Deployment", "default", "w");
    world.control.hold(target.clone());
    world.create("deployments.apps", workload("Deployment", 1));
    let deployment = world.get("deployments.apps", "w");
    assert_eq!(deployment["status"]["unavailableReplicas"], 1);
    assert_eq!(world.list("pods")[0]["status"]["phase"], "Pending");
    world.control.release(&target);
    world.server.settle();
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["readyReplicas"],
        1
    );
}

#[test]
fn a_delay_and_min_ready_seconds_take_the_clock() {
    let world = Cluster::new();
    world
        .control
        .delay(Target::default(), Duration::from_secs(5));
    let mut deployment = workload("Deployment", 1);
    deployment["spec"]["minReadySeconds"] = json!(10);
    world.create("deployments.apps", deployment);
    assert_eq!(
        world.get("deployments.apps", "w")["status"].get("readyReplicas"),
        None
    );
    world.advance(5);
    let status = world.get("deployments.apps", "w")["status"].clone();
    assert_eq!(
        (
            status["readyReplicas"].as_i64(),
            status["availableReplicas"].as_i64()
        ),
        (Some(1), None)
    );
    world.advance(10);
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["availableReplicas"],
        1
    );
}

#[test]
fn pods_wait_for_the_service_account_that_they_name() {
    let world = Cluster::new();
    let mut deployment = workload("Deployment", 1);
    deployment["spec"]["template"]["spec"]["serviceAccountName"] = json!("late");
    world.create("deployments.apps", deployment);
    assert!(world.list("pods").is_empty());
    let set = &world.list("replicasets.apps")[0];
    let condition = &set["status"]["conditions"][0];
    assert_eq!(condition["type"], "ReplicaFailure");
    let message = text(condition, &["message"]);
    let name = text(set, &["metadata", "name"]);
    let wanted = format!(
        "pods \"{name}-\" is forbidden: error looking up service account default/late: \
         serviceaccount \"late\" not found"
    );
    assert_eq!(message, wanted);
    world.create(
        "serviceaccounts",
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "late"}}),
    );
    let deployment = world.get("deployments.apps", "w");
    assert_eq!(deployment["status"]["availableReplicas"], 1);
}
