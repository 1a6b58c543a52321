//! Tests of StatefulSets and DaemonSets.

use super::*;

#[test]
fn a_stateful_set_starts_in_order_with_its_claims() {
    let world = Cluster::new();
    let mut set = workload("StatefulSet", 3);
    set["spec"]["serviceName"] = json!("s");
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let held = Target::object("Pod", "default", "w-1");
    world.control.hold(held.clone());
    world.create("statefulsets.apps", set);
    let names = |world: &Cluster, resource: &str| -> Vec<String> {
        world
            .list(resource)
            .iter()
            .map(|one| text(one, &["metadata", "name"]).to_owned())
            .collect()
    };
    assert_eq!(names(&world, "pods"), ["w-0", "w-1"]);
    world.control.release(&held);
    world.server.settle();
    assert_eq!(names(&world, "pods"), ["w-0", "w-1", "w-2"]);
    assert_eq!(
        names(&world, "persistentvolumeclaims"),
        ["data-w-0", "data-w-1", "data-w-2"]
    );
    let set = world.get("statefulsets.apps", "w");
    let revision = text(&set, &["status", "updateRevision"]).to_owned();
    let expected = json!({
        "availableReplicas": 3,
        "collisionCount": 0,
        "currentReplicas": 3,
        "currentRevision": revision,
        "observedGeneration": 1,
        "readyReplicas": 3,
        "replicas": 3,
        "updateRevision": revision,
        "updatedReplicas": 3,
    });
    assert_eq!(set["status"], expected);
    world.change("statefulsets.apps", "w", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    assert!(
        world
            .list("pods")
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "other")
    );
    let set = world.get("statefulsets.apps", "w");
    assert_eq!(
        set["status"]["currentRevision"],
        set["status"]["updateRevision"]
    );
    assert_ne!(set["status"]["updateRevision"], revision.as_str());
    assert_eq!(set["status"]["updatedReplicas"], 3);
    world.change("statefulsets.apps", "w", |object| {
        object["spec"]["replicas"] = json!(1);
    });
    assert_eq!(names(&world, "pods"), ["w-0"]);
    assert_eq!(names(&world, "persistentvolumeclaims").len(), 3);
}

#[test]
fn a_daemon_set_runs_on_the_node() {
    let world = Cluster::new();
    world.create("daemonsets.apps", workload("DaemonSet", 1));
    let expected = json!({
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "numberAvailable": 1,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "observedGeneration": 1,
        "updatedNumberScheduled": 1,
    });
    assert_eq!(world.get("daemonsets.apps", "w")["status"], expected);
    world.change("daemonsets.apps", "w", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    let pods = world.list("pods");
    assert_eq!(pods.len(), 1);
    assert_eq!(pods[0]["spec"]["containers"][0]["image"], "other");
    assert_eq!(
        world.get("daemonsets.apps", "w")["status"]["updatedNumberScheduled"],
        1
    );
}
