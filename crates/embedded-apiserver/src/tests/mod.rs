//! Tests of the server with a real client.

mod access;
mod certificates;
mod custom;
mod deep;
mod laws;
mod life_cycle;
mod quota;
mod refused;
mod whole;
mod writes;

use serde_json::{Value, json};

use super::{ApiServer, Options};

pub(super) fn server() -> ApiServer {
    ApiServer::new(Options::default())
}

pub(super) fn client(server: &ApiServer) -> kube::Client {
    server.client()
}

pub(super) fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": value}},
        "data": {"key": value},
    })
}
