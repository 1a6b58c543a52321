//! Tests of objects from creation to deletion, through `kube::Client`.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{from_value, json};

use super::{client, config_map, server};

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

fn parsed_config_map(name: &str, value: &str) -> ConfigMap {
    from_value(config_map(name, value)).unwrap()
}

#[tokio::test]
async fn an_object_lives() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let created = api
        .create(&PostParams::default(), &parsed_config_map("a", "1"))
        .await
        .unwrap();
    assert!(created.metadata.uid.is_some());
    let again = api
        .create(&PostParams::default(), &parsed_config_map("a", "1"))
        .await;
    assert_eq!(code(again.unwrap_err()), 409);
    let merge = Patch::Merge(json!({"data": {"more": "x"}}));
    let patched = api
        .patch("a", &PatchParams::default(), &merge)
        .await
        .unwrap();
    assert_eq!(patched.data.unwrap()["more"], "x");
    let stale = api.replace("a", &PostParams::default(), &created).await;
    assert_eq!(code(stale.unwrap_err()), 409);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(api.get("a").await.unwrap_err()), 404);
}

#[tokio::test]
async fn finalizers_keep_what_is_deleted() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let mut object = parsed_config_map("a", "1");
    object.metadata.finalizers = Some(vec!["ex.io/keep".to_owned()]);
    api.create(&PostParams::default(), &object).await.unwrap();
    let deleted = api.delete("a", &DeleteParams::default()).await.unwrap();
    let left = deleted.left().unwrap();
    assert!(left.metadata.deletion_timestamp.is_some());
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("a", &PatchParams::default(), &free)
        .await
        .unwrap();
    assert_eq!(code(api.get("a").await.unwrap_err()), 404);
}

#[tokio::test]
async fn lists_come_in_pages_of_one_state() {
    let server = server();
    let api: Api<ConfigMap> = Api::namespaced(client(&server), "kube-node-lease");
    for index in 0..5 {
        let object = parsed_config_map(&format!("m{index}"), "1");
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.items.len(), 2);
    assert_eq!(first.metadata.remaining_item_count, Some(4));
    api.delete("m3", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = api
        .list(&ListParams::default().continue_token(&token))
        .await
        .unwrap();
    let names: Vec<String> = rest
        .items
        .into_iter()
        .filter_map(|one| one.metadata.name)
        .collect();
    assert_eq!(names, ["m1", "m2", "m3", "m4"]);
    let selected = api
        .list(&ListParams::default().labels("app,app!=1"))
        .await
        .unwrap();
    assert!(selected.items.is_empty());
}

#[tokio::test]
async fn a_watcher_sees_every_change() {
    for config in [
        watcher::Config::default().labels("app"),
        watcher::Config::default().labels("app").streaming_lists(),
    ] {
        let server = server();
        let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
        api.create(&PostParams::default(), &parsed_config_map("a", "1"))
            .await
            .unwrap();
        let mut events = watcher(api.clone(), config).boxed();
        let mut seen = Vec::new();
        while !seen.ends_with(&["done".to_owned()]) {
            let event = tokio::time::timeout(Duration::from_mins(2), events.try_next());
            let text = match event.await.unwrap().unwrap().unwrap() {
                Event::Init => "init".to_owned(),
                Event::InitApply(one) => format!("+{}", one.metadata.name.unwrap()),
                Event::InitDone => {
                    api.create(&PostParams::default(), &parsed_config_map("b", "1"))
                        .await
                        .unwrap();
                    api.delete("a", &DeleteParams::default()).await.unwrap();
                    "ready".to_owned()
                }
                Event::Apply(one) => format!("={}", one.metadata.name.unwrap()),
                Event::Delete(_) => "done".to_owned(),
            };
            seen.push(text);
        }
        assert_eq!(seen, ["init", "+a", "ready", "=b", "done"]);
    }
}

#[tokio::test]
async fn the_same_is_served_on_a_socket() {
    let server = super::super::ApiServer::new(super::super::Options {
        anonymous: super::super::Anonymous::Administrator,
        ..super::super::Options::default()
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listening = server.serve(listener).unwrap();
    let url = format!("http://{}", listening.address).parse().unwrap();
    let client = kube::Client::try_from(kube::Config::new(url)).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &parsed_config_map("a", "1"))
        .await
        .unwrap();
    assert_eq!(client.apiserver_version().await.unwrap().minor, "36");
    let discovery = kube::Discovery::new(client).run_aggregated().await.unwrap();
    assert!(discovery.has_group("apps"));
}
