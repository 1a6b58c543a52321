//! Tests of the limits of writes: preconditions, dry runs, and other parts of the object.

use futures::TryStreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, VersionMatch,
    WatchEvent, WatchParams,
};
use serde_json::{from_value, json};

use super::{client, config_map, server};
use crate::simulation::{Control, Target};
use crate::{ApiServer, Options};

fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result.unwrap_err() {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

async fn create_config_map(api: &Api<ConfigMap>) -> ConfigMap {
    let object = from_value(config_map("a", "1")).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

#[tokio::test]
async fn a_deletion_is_of_the_object_that_is_meant() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let object = create_config_map(&api).await;
    let with = |uid: Option<&str>, version: Option<&str>| {
        DeleteParams::default().preconditions(Preconditions {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        })
    };
    assert_eq!(code(api.delete("a", &with(Some("other"), None)).await), 409);
    assert_eq!(code(api.delete("a", &with(None, Some("1"))).await), 409);
    let (uid, version) = (object.metadata.uid, object.metadata.resource_version);
    let right = with(uid.as_deref(), version.as_deref());
    api.delete("a", &right).await.unwrap();
    assert_eq!(code(api.get("a").await), 404);
}

#[tokio::test]
async fn a_pod_goes_sooner_when_it_is_deleted_again_and_never_later() {
    let control = Control::new();
    let server = ApiServer::new(Options {
        simulation: control.clone(),
        ..Options::default()
    });
    let api: Api<Pod> = Api::default_namespaced(client(&server));
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let pod = from_value(pod).unwrap();
    api.create(&PostParams::default(), &pod).await.unwrap();
    // The held Pod does not end its containers.
    control.hold(Target::object("Pod", "default", "p"));
    for (asked, left) in [(30, 30), (5, 5), (20, 5)] {
        let params = DeleteParams::default().grace_period(asked);
        let deleted = api.delete("p", &params).await.unwrap().left().unwrap();
        let metadata = deleted.metadata;
        assert_eq!(metadata.deletion_grace_period_seconds, Some(left));
    }
    let at_once = DeleteParams::default().grace_period(0);
    api.delete("p", &at_once).await.unwrap();
    assert_eq!(code(api.get("p").await), 404);
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object = from_value(config_map("a", "1")).unwrap();
    api.create(&dry, &object).await.unwrap();
    assert_eq!(code(api.get("a").await), 404);
    let before = create_config_map(&api).await;
    let patch = Patch::Merge(json!({"data": {"key": "2"}}));
    let dry = PatchParams::default().dry_run();
    let patched = api.patch("a", &dry, &patch).await.unwrap();
    assert_eq!(patched.data.unwrap()["key"], "2");
    api.delete("a", &DeleteParams::default().dry_run())
        .await
        .unwrap();
    assert_eq!(api.get("a").await.unwrap(), before);
}

#[tokio::test]
async fn a_list_at_a_future_revision_times_out() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let object = create_config_map(&api).await;
    let version = object.metadata.resource_version.unwrap();
    let at = |version: &str| {
        ListParams::default()
            .at(version)
            .matching(VersionMatch::Exact)
    };
    assert_eq!(api.list(&at(&version)).await.unwrap().items.len(), 2);
    assert_eq!(code(api.list(&at("999999")).await), 504);
}

#[tokio::test]
async fn the_main_path_leaves_the_status_alone_and_the_other_way_round() {
    let server = server();
    let api: Api<Deployment> = Api::default_namespaced(client(&server));
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    let object = from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    let before = api.get("d").await.unwrap().status.unwrap();
    let patch = Patch::Merge(json!({"status": {"collisionCount": 7}, "spec": {"paused": true}}));
    let params = PatchParams::default();
    let patched = api.patch("d", &params, &patch).await.unwrap();
    assert_eq!(
        patched.status.unwrap().collision_count,
        before.collision_count
    );
    let patched = api.patch_status("d", &params, &patch).await.unwrap();
    assert_eq!(patched.status.unwrap().collision_count, Some(7));
    let unpause =
        Patch::Merge(json!({"spec": {"paused": null}, "metadata": {"labels": {"a": "b"}}}));
    let patched = api.patch_status("d", &params, &unpause).await.unwrap();
    assert_eq!(patched.spec.unwrap().paused, Some(true));
    assert_eq!(patched.metadata.labels, None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_reports_objects_that_enter_and_leave_its_selection() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let before = api.list(&ListParams::default()).await.unwrap();
    create_config_map(&api).await;
    let elsewhere: Api<ConfigMap> = Api::namespaced(client(&server), "kube-public");
    create_config_map(&elsewhere).await;
    let leave = Patch::Merge(json!({"metadata": {"labels": {"app": "2"}}}));
    let params = PatchParams::default();
    let left = api.patch("a", &params, &leave).await.unwrap();
    let which = WatchParams::default().labels("app=1").timeout(1);
    let from = before.metadata.resource_version.unwrap();
    let events = api.watch(&which, &from).await.unwrap();
    let events: Vec<_> = events.try_collect().await.unwrap();
    let [WatchEvent::Added(added), WatchEvent::Deleted(gone)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(added.metadata.namespace.as_deref(), Some("default"));
    // The event has the last matching content and the revision of the write that changed it.
    let app = |one: &ConfigMap| {
        one.metadata
            .labels
            .as_ref()
            .map(|labels| labels["app"].clone())
    };
    assert_eq!(app(gone).as_deref(), Some("1"));
    assert_eq!(
        gone.metadata.resource_version,
        left.metadata.resource_version
    );
}
