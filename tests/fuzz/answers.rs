//! Answers of the API server, damaged or false: a watch's cache is right again when they end.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use embedded_apiserver::{ApiServer, Options};
use futures::StreamExt;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;
use rhai_operator::clock;
use rhai_operator::cluster::transport::{self, ResponseBody, Transport};
use rhai_operator::cluster::watch::{Content, Purpose, Watch, WatchSpec};
use rhai_operator::cluster::{Cluster, Settings};
use rhai_operator::model::Gvk;
use rhai_operator::model::selector::LabelSelector;
use serde_json::json;

use test_harness::edit::{self, Edit};

/// A change of one answer. In a watch it applies to the first event, or to the end.
#[derive(Debug, Clone)]
enum WrongResponse {
    /// None: the answer is passed on.
    Truth,
    /// Its text is edited.
    Edited(Vec<Edit>),
    /// It is a completely different response.
    Other(u16, &'static str),
    /// All its resource versions are this.
    Version(&'static str),
    /// It contains other objects: their names, uids or kinds are exchanged.
    Exchanged(&'static str, &'static str),
    /// The connection ends with an error in the middle of it.
    Cut,
}

/// Longer than each backoff and timeout of a watch. Time is simulated.
const LONG: Duration = Duration::from_hours(1);

fn lie() -> impl Strategy<Value = WrongResponse> {
    let bodies = &[
        "",
        "{",
        "null",
        "[]",
        "{\"kind\":\"Status\"}",
        "<html>",
        "{\"items\":{}}",
        "\u{0}",
    ];
    let codes = &[
        200, 204, 301, 400, 401, 403, 404, 409, 410, 418, 429, 500, 503,
    ];
    let versions = &[
        "0",
        "1",
        "-1",
        "",
        "a",
        "999999999999",
        "18446744073709551616",
    ];
    let pairs = &[
        ("\"name\":\"a\"", "\"name\":\"b\""),
        ("\"uid\":\"", "\"uid\":\"0"),
        ("\"namespace\":\"default\"", "\"namespace\":\"kube-system\""),
        ("\"ADDED\"", "\"DELETED\""),
        ("\"MODIFIED\"", "\"ADDED\""),
        ("\"ADDED\"", "\"BOOKMARK\""),
        ("\"MODIFIED\"", "\"ERROR\""),
        ("\"kind\":\"ConfigMap\"", "\"kind\":\"Secret\""),
        ("\"items\":[", "\"items\":[null,"),
        ("\"continue\":\"", "\"continue\":\"again"),
    ];
    prop_oneof![
        2 => Just(WrongResponse::Truth),
        4 => edit::edits().prop_map(WrongResponse::Edited),
        2 => (select(&codes[..]), select(&bodies[..])).prop_map(|(code, body)| WrongResponse::Other(code, body)),
        2 => select(&versions[..]).prop_map(WrongResponse::Version),
        3 => select(&pairs[..]).prop_map(|(from, to)| WrongResponse::Exchanged(from, to)),
        1 => Just(WrongResponse::Cut),
    ]
}

impl WrongResponse {
    fn tell(&self, text: &[u8]) -> Vec<u8> {
        static VERSION: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("\"resourceVersion\":\"[^\"]*\"").unwrap());
        let utf8 = || String::from_utf8_lossy(text);
        match self {
            Self::Edited(edits) => edit::apply(text, edits),
            Self::Version(version) => {
                let version = format!("\"resourceVersion\":\"{version}\"");
                VERSION
                    .replace_all(&utf8(), &*version)
                    .into_owned()
                    .into_bytes()
            }
            Self::Exchanged(from, to) => utf8().replace(from, to).into_bytes(),
            Self::Truth | Self::Other(..) | Self::Cut => text.to_vec(),
        }
    }
}

type WrongResponses = Arc<Mutex<VecDeque<WrongResponse>>>;

/// The way to a server that lies as long as there are lies left.
fn liar(client: Client, lies: WrongResponses) -> Transport {
    transport::boxed(tower::service_fn(
        move |request: http::Request<kube::client::Body>| {
            let (client, lies) = (client.clone(), lies.clone());
            async move {
                let is_watch = request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("watch="));
                let answered = client.send(request).await?;
                let lie = lies.lock().pop_front().unwrap_or(WrongResponse::Truth);
                change_answer(lie, is_watch, answered).await
            }
        },
    ))
}

async fn change_answer(
    lie: WrongResponse,
    is_watch: bool,
    answered: Response<kube::client::Body>,
) -> Result<Response<ResponseBody>, tower::BoxError> {
    let (mut parts, body) = answered.into_parts();
    if let WrongResponse::Other(code, text) = lie {
        parts.status = StatusCode::from_u16(code)?;
        return Ok(Response::from_parts(
            parts,
            transport::body(Full::from(text)),
        ));
    }
    if matches!(lie, WrongResponse::Truth) {
        return Ok(Response::from_parts(parts, transport::body(body)));
    }
    parts.headers.remove("content-length");
    if !is_watch {
        if matches!(lie, WrongResponse::Cut) {
            return Err("the connection is cut".into());
        }
        let text = lie.tell(&body.collect().await?.to_bytes());
        return Ok(Response::from_parts(
            parts,
            transport::body(Full::from(text)),
        ));
    }
    let mut lie = Some(lie);
    let frames = body.into_data_stream().map(move |frame| match lie.take() {
        Some(WrongResponse::Cut) => Err("the connection is cut".into()),
        Some(lie) => Ok(Frame::data(Bytes::from(lie.tell(&frame?)))),
        None => Ok::<_, tower::BoxError>(Frame::data(frame?)),
    });
    Ok(Response::from_parts(
        parts,
        transport::body(StreamBody::new(frames)),
    ))
}

fn spec() -> WatchSpec {
    WatchSpec {
        gvk: Gvk::new("", "v1", "ConfigMap"),
        namespace: Some("default".into()),
        labels: LabelSelector::default(),
        content: Content::Full,
        purpose: Purpose::Reference,
    }
}

/// Changes objects while the server lies, and then sees that the watch finds the truth.
async fn finds_the_truth(changes: Vec<WrongResponse>) -> Result<(), String> {
    let server = ApiServer::new(Options::default());
    let client = server.client();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    make(&maps, "a").await;
    make(&maps, "b").await;
    let mut changes = VecDeque::from(changes);
    // The effect of a wrong response ends with the next list.
    changes.push_back(WrongResponse::Other(
        410,
        "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}",
    ));
    let lies: WrongResponses = Arc::new(Mutex::new(changes));
    let cluster = Cluster::new(liar(client, lies.clone()), Settings::default());
    let watch = cluster.watch(spec());
    for round in 0.. {
        let all_sent = lies.lock().is_empty();
        let patch = json!({"data": {"round": round.to_string()}});
        let patch = Patch::Merge(patch);
        maps.patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        if round % 3 == 1 {
            maps.delete("b", &DeleteParams::default()).await.unwrap();
            make(&maps, "b").await;
        }
        if all_sent {
            break;
        }
        clock::sleep(Duration::from_secs(20)).await;
    }
    make(&maps, "c").await;
    let end = clock::now() + LONG;
    loop {
        let (kept, true_ones) = (kept(&watch), truth(&maps).await);
        if kept == true_ones {
            return Ok(());
        }
        if clock::now() >= end {
            return Err(format!(
                "{:?}: kept {kept:?}, true {true_ones:?}",
                watch.state()
            ));
        }
        clock::sleep(Duration::from_secs(10)).await;
    }
}

async fn make(maps: &Api<ConfigMap>, name: &str) {
    let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Names with uids and versions.
type Versions = BTreeMap<String, (String, String)>;

fn kept(watch: &Watch) -> Versions {
    let objects = watch.list(None, &LabelSelector::default());
    let versions = objects.iter().map(|object| {
        let versions = (object.uid.to_string(), object.resource_version.to_string());
        (object.name.to_string(), versions)
    });
    versions.collect()
}

async fn truth(maps: &Api<ConfigMap>) -> Versions {
    let list = maps.list(&ListParams::default()).await.unwrap();
    let versions = list.items.into_iter().map(|map| {
        let meta = map.metadata;
        let versions = (meta.uid.unwrap(), meta.resource_version.unwrap());
        (meta.name.unwrap(), versions)
    });
    versions.collect()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(edit::config(150))]

    #[test]
    fn a_watch_finds_the_truth_when_the_lies_end(
        lies in prop::collection::vec(lie(), 1..12),
    ) {
        let found = block_on(finds_the_truth(lies));
        prop_assert!(found.is_ok(), "{found:?}");
    }
}
