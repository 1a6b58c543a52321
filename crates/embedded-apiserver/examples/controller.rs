//! A kube-rs controller and its test: each Namespace with the label `team` gets a ConfigMap with the name of
//! the team.
//!
//! `cargo run -p embedded-apiserver --example controller`

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::{ApiServer, Options};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::wait::await_condition;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{from_value, json};

async fn reconcile(namespace: Arc<Namespace>, client: Arc<Client>) -> kube::Result<Action> {
    if let Some(team) = namespace.labels().get("team") {
        let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace.name_any());
        let map = json!({"metadata": {"name": "team"}, "data": {"name": team}});
        let map: ConfigMap = from_value(map).map_err(kube::Error::SerdeError)?;
        let params = PatchParams::apply("teams");
        maps.patch("team", &params, &Patch::Apply(map)).await?;
    }
    Ok(Action::await_change())
}

async fn run(client: Client) {
    let retry = |_, _: &kube::Error, _| Action::requeue(Duration::from_secs(1));
    let controller = Controller::new(Api::all(client.clone()), watcher::Config::default());
    let runs = controller.run(reconcile, retry, Arc::new(client));
    runs.for_each(|_| async {}).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::new(Options::default());
    let client = server.client();
    tokio::spawn(run(client.clone()));

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = from_value(json!({"metadata": {"name": "shop", "labels": {"team": "web"}}}))?;
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;

    let maps: Api<ConfigMap> = Api::namespaced(client, "shop");
    let exists = |map: Option<&ConfigMap>| map.is_some();
    let map = await_condition(maps, "team", exists).await?;
    assert_eq!(
        map.unwrap_or_default().data.unwrap_or_default()["name"],
        "web"
    );
    Ok(())
}

#[test]
fn the_controller_creates_the_config_map_of_the_team() {
    main().unwrap();
}
