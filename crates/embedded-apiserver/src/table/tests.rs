//! Tests that each kind has as many cells as columns.

use serde_json::json;

use super::*;
use crate::resource::Catalogue;

#[test]
fn every_row_fills_every_column() {
    let catalogue = Catalogue::builtin();
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
    for resource in catalogue.all() {
        let table = Table::new(resource, resource.storage_version());
        let cells = table.cells(&object, Timestamp::UNIX_EPOCH);
        assert_eq!(cells.len(), table.columns().len(), "{}", resource.id());
        let name = table.columns().iter().position(|one| one.format == "name");
        assert_eq!(cells[name.unwrap()], "a", "{}", resource.id());
    }
}

#[test]
fn the_row_of_a_pod_shows_its_failure() {
    let catalogue = Catalogue::builtin();
    let pods = catalogue.get("pods").unwrap();
    let pod = json!({
        "metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{
                "ready": false,
                "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            }],
        },
    });
    let now = Timestamp::from_second(300).unwrap();
    let cells = Table::new(pods, pods.storage_version()).cells(&pod, now);
    assert_eq!(&cells[..5], ["p", "0/1", "CrashLoopBackOff", "3", "5m"]);
}
