//! A plain kube-rs controller, tested in the process of its test: each Namespace with the label
//! `team` gets a ConfigMap that says so.
//!
//! `cargo run -p embedded-apiserver --example controller`

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::{ApiServer, Options, User};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::wait::await_condition;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

async fn reconcile(namespace: Arc<Namespace>, client: Arc<Client>) -> kube::Result<Action> {
    if let Some(team) = namespace.labels().get("team") {
        let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace.name_any());
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "team"}, "data": {"name": team},
        });
        let apply = PatchParams::apply("teams");
        maps.patch("team", &apply, &Patch::Apply(map)).await?;
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = ApiServer::new(Options::default());
    let client = Client::new(server.client(User::admin()), "default");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    tokio::spawn(
        Controller::new(namespaces.clone(), watcher::Config::default())
            .run(
                reconcile,
                |_, _, _| Action::requeue(Duration::from_secs(1)),
                Arc::new(client.clone()),
            )
            .for_each(|_| async {}),
    );
    let shop =
        serde_json::from_value(json!({"metadata": {"name": "shop", "labels": {"team": "web"}}}))?;
    namespaces.create(&PostParams::default(), &shop).await?;

    let maps: Api<ConfigMap> = Api::namespaced(client, "shop");
    let exists = |map: Option<&ConfigMap>| map.is_some();
    let map = await_condition(maps, "team", exists).await?;
    assert_eq!(
        map.and_then(|map| map.data).unwrap_or_default()["name"],
        "web"
    );
    Ok(())
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
