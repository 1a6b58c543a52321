//! PersistentVolumeClaims: binds each claim to its own volume.

use serde_json::{Value, json};

use super::Simulation;
use super::objects::{create, is_terminating, name, namespace, uid, update, write_status};
use crate::builtin::path::{items, text};
use crate::registry::Transaction;

const RESOURCE: &str = "persistentvolumeclaims";
const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(super) fn sync(sim: &Simulation, tx: &mut Transaction<'_>, claim: &Value) {
    if is_terminating(claim) {
        release(tx, claim);
        return;
    }
    if text(claim, &["status", "phase"]) == "Bound" || sim.control.planned_behavior(tx, claim).held
    {
        return;
    }
    let volume = format!("pvc-{}", uid(claim));
    if tx.get("persistentvolumes", "", &volume).is_none() {
        let _refused = create(tx, "persistentvolumes", volume_of(claim, &volume));
    }
    if let Some(made) = tx.get("persistentvolumes", "", &volume) {
        let mut status = made["status"].clone();
        status["phase"] = json!("Bound");
        write_status(tx, "persistentvolumes", &made, status);
    }
    let mut bound = claim.clone();
    bound["spec"]["volumeName"] = json!(volume);
    for key in [
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
    ] {
        bound["metadata"]["annotations"][key] = json!("yes");
    }
    update(tx, RESOURCE, bound);
    let Some(bound) = tx.get(RESOURCE, namespace(claim), name(claim)) else {
        return;
    };
    let mut status = bound["status"].clone();
    status["phase"] = json!("Bound");
    status["accessModes"] = claim["spec"]["accessModes"].clone();
    status["capacity"] = claim["spec"]["resources"]["requests"].clone();
    write_status(tx, RESOURCE, &bound, status);
}

fn volume_of(claim: &Value, name_of_volume: &str) -> Value {
    let spec = &claim["spec"];
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name_of_volume},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": name(claim),
                "namespace": namespace(claim),
                "uid": uid(claim),
            },
            "hostPath": {"path": format!("/var/lib/simulated/{name_of_volume}")},
            "persistentVolumeReclaimPolicy": "Delete",
            "volumeMode": spec["volumeMode"],
        },
    });
    if !spec["storageClassName"].is_null() {
        volume["spec"]["storageClassName"] = spec["storageClassName"].clone();
    }
    volume
}

/// Releases a claim's finalizer when no Pod uses the claim, and deletes its volume.
fn release(tx: &mut Transaction<'_>, claim: &Value) {
    let uses = |pod: &Value| {
        let mut volumes = items(&pod["spec"]["volumes"]).iter();
        volumes.any(|one| text(one, &["persistentVolumeClaim", "claimName"]) == name(claim))
    };
    let pods = tx.list("pods", Some(namespace(claim)));
    if pods.iter().any(|pod| uses(pod)) {
        return;
    }
    let volume = text(claim, &["spec", "volumeName"]).to_owned();
    let mut claim = claim.clone();
    if let Value::Array(finalizers) = &mut claim["metadata"]["finalizers"] {
        finalizers.retain(|one| one != PROTECTION);
    }
    let of_claim = uid(&claim).to_owned();
    update(tx, RESOURCE, claim);
    let Some(volume) = tx.get("persistentvolumes", "", &volume) else {
        return;
    };
    let is_ours = text(&volume, &["spec", "claimRef", "uid"]) == of_claim;
    if is_ours && text(&volume, &["spec", "persistentVolumeReclaimPolicy"]) == "Delete" {
        let mut volume = (*volume).clone();
        if let Value::Array(finalizers) = &mut volume["metadata"]["finalizers"] {
            finalizers.retain(|one| one != "kubernetes.io/pv-protection");
        }
        let gone = volume.clone();
        update(tx, "persistentvolumes", volume);
        super::objects::delete(tx, "persistentvolumes", &gone);
    }
}
