//! Tests of the whole server: TLS, saved states, and watches whose events lead to the state of a list.

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use proptest::prelude::*;
use serde_json::{from_value, json};

use super::{client, config_map, server};
use crate::User;

#[tokio::test]
async fn clients_trust_the_authority() {
    let server = server();
    server.add_token("secret", User::admin());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listening = server.serve_tls(listener, None).unwrap();
    let url = format!("https://{}", listening.address).parse().unwrap();
    let mut config = kube::Config::new(url);
    let der = pem_der(listening.authority.as_deref().unwrap());
    config.root_cert = Some(vec![der]);
    config.auth_info.token = Some(String::from("secret").into());
    let client = kube::Client::try_from(config).unwrap();
    let api: Api<Secret> = Api::default_namespaced(client);
    assert!(
        api.list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

pub(super) fn pem_der(pem: &str) -> Vec<u8> {
    use base64::Engine as _;
    let lines = pem.lines().filter(|line| !line.starts_with('-'));
    let text: String = lines.collect();
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

#[tokio::test]
async fn a_saved_state_comes_back() {
    let before = server();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&before));
    let object = from_value(config_map("a", "1")).unwrap();
    let made = api.create(&PostParams::default(), &object).await.unwrap();
    let after = server();
    after.load(&before.save()).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client(&after));
    assert_eq!(api.get("a").await.unwrap(), made);
    let later = from_value(config_map("b", "1")).unwrap();
    let later = api.create(&PostParams::default(), &later).await.unwrap();
    let revision = |one: &ConfigMap| {
        one.metadata
            .resource_version
            .clone()
            .unwrap()
            .parse::<u64>()
    };
    assert!(revision(&later).unwrap() > revision(&made).unwrap());
    assert!(after.load(r#"{"version": 7}"#).is_err());
}

/// A write to one of a few objects.
#[derive(Debug, Clone)]
enum Write {
    Put(u8, u8),
    Delete(u8),
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let write = prop_oneof![
        (0..4u8, 0..3u8).prop_map(|(name, value)| Write::Put(name, value)),
        (0..4u8).prop_map(Write::Delete),
    ];
    proptest::collection::vec(write, 1..20)
}

/// Performs the writes. Returns the state after each write by its revision.
async fn objects_after(
    api: &Api<ConfigMap>,
    writes: &[Write],
) -> Vec<(String, BTreeMap<String, String>)> {
    let mut states = Vec::new();
    for write in writes {
        match write {
            Write::Put(name, value) => {
                let patch = config_map(&format!("m{name}"), &value.to_string());
                let params = PatchParams::apply("test").force();
                let name = format!("m{name}");
                api.patch(&name, &params, &Patch::Apply(patch))
                    .await
                    .unwrap();
            }
            Write::Delete(name) => {
                let name = format!("m{name}");
                let _ = api.delete(&name, &DeleteParams::default()).await;
            }
        }
        let list = api.list(&ListParams::default()).await.unwrap();
        let revision = list.metadata.resource_version.unwrap();
        let state = list.items.iter().map(described).collect();
        states.push((revision, state));
    }
    states
}

fn described(one: &ConfigMap) -> (String, String) {
    let value = one.data.as_ref().and_then(|data| data.get("key")).cloned();
    (
        one.metadata.name.clone().unwrap(),
        value.unwrap_or_default(),
    )
}

type Selects = fn(&str) -> bool;

/// Selectors, and functions that return whether they select an object with a value.
const SELECTORS: [(&str, Selects); 3] = [
    ("", |_| true),
    ("app=1", |value| value == "1"),
    ("app!=0", |value| value != "0"),
];

/// Returns the state that results from replaying a watch on the state of its first revision.
async fn replayed(
    api: &Api<ConfigMap>,
    from: &str,
    selector: &str,
    mut state: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let params = WatchParams::default().timeout(1).labels(selector);
    let mut events = Box::pin(api.watch(&params, from).await.unwrap());
    while let Some(event) = events.try_next().await.unwrap() {
        match event {
            WatchEvent::Added(one) | WatchEvent::Modified(one) => {
                state.extend([described(&one)]);
            }
            WatchEvent::Deleted(one) => {
                state.remove(&described(&one).0);
            }
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
        }
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_watch_from_any_revision_replays_to_the_list(writes in writes()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = server();
            let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
            let states = objects_after(&api, &writes).await;
            for (selector, selects) in SELECTORS {
                let selected = |state: &BTreeMap<String, String>| {
                    let mut state = state.clone();
                    state.retain(|_, value| selects(value));
                    state
                };
                let last = selected(&states.last().unwrap().1);
                for (revision, state) in &states {
                    let state = selected(state);
                    assert_eq!(replayed(&api, revision, selector, state).await, last);
                }
            }
        });
    }
}

#[tokio::test]
async fn a_watch_that_falls_behind_expires() {
    let server = super::ApiServer::new(super::Options {
        history: 2,
        ..super::Options::default()
    });
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let first = from_value(config_map("a", "1")).unwrap();
    let first = api.create(&PostParams::default(), &first).await.unwrap();
    for value in 0..5 {
        let patch = Patch::Merge(json!({"data": {"key": value.to_string()}}));
        api.patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    let revision = first.metadata.resource_version.unwrap();
    let events = api.watch(&WatchParams::default(), &revision).await.unwrap();
    let events: Vec<_> = events.try_collect().await.unwrap();
    assert!(matches!(&events[..], [WatchEvent::Error(status)] if status.code == 410));
}
