//! Random changes of saved states: a server loads or refuses them, and responds to requests afterwards.

use std::sync::LazyLock;

use embedded_apiserver::{ApiServer, Options};
use http::Request;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::change::{self, Change};
use test_harness::edit;
use test_harness::requests::Sequence;

/// The states of an empty server and of servers after a sequence of requests.
static SEEDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let server = ApiServer::new(Options::default());
    let mut seeds = vec![saved(&server)];
    let sequences = crate::SEQUENCES.iter().step_by(7).take(6);
    seeds.extend(sequences.map(after));
    seeds
});

fn after(sequence: &Sequence) -> Value {
    let server = ApiServer::new(Options::default());
    block_on(crate::conversation::check_on(&server, sequence, &[])).unwrap();
    saved(&server)
}

fn saved(server: &ApiServer) -> Value {
    serde_json::from_str(&server.save()).unwrap()
}

/// Reads the objects and documents of a server that loaded a state.
async fn answers(server: &ApiServer) -> Result<(), String> {
    let client = server.client();
    for path in [
        "/api/v1/namespaces",
        "/api/v1/configmaps",
        "/apis",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/openapi/v2",
        "/version",
    ] {
        let request = Request::get(path).body(Vec::new()).unwrap();
        let answered = client.request_text(request).await;
        answered.map_err(|error| format!("{path}: {error}"))?;
    }
    server.settle();
    Ok(())
}

fn is_loaded_or_refused(state: &str) -> Result<(), String> {
    let server = ApiServer::new(Options::default());
    if let Err(error) = server.load(state) {
        return if error.to_string().is_empty() {
            Err("the error has no text".to_owned())
        } else {
            Ok(())
        };
    }
    block_on(answers(&server))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(edit::config(60))]

    #[test]
    fn a_changed_state_is_loaded_or_refused(
        seed in any::<Index>(),
        changes in prop::collection::vec(change::strategy(), 1..6),
        edits in edit::edits(),
    ) {
        let mut state = seed.get(&SEEDS).clone();
        for change in &changes {
            Change::to_value(change, &mut state);
        }
        let loaded = is_loaded_or_refused(&state.to_string());
        prop_assert!(loaded.is_ok(), "{loaded:?}");
        // Most edits of the text are not JSON.
        if let Ok(state) = str::from_utf8(&edit::apply(state.to_string().as_bytes(), &edits)) {
            let loaded = is_loaded_or_refused(state);
            prop_assert!(loaded.is_ok(), "{loaded:?}");
        }
    }
}
