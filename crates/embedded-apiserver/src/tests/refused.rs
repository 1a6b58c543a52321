//! Tests of requests that the server does not support, and of its health.

use http::{Method, Request};
use serde_json::json;

use super::{client, server};

async fn refused(client: &kube::Client, method: Method, path: &str) -> String {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Err(kube::Error::Api(status)) => format!("{} {}", status.code, status.message),
        other => panic!("{path}: {other:?}"),
    }
}

#[tokio::test]
async fn nothing_reaches_into_containers() {
    let client = client(&server());
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let pods = "/api/v1/namespaces/default/pods";
    let create = Request::post(pods).body(pod.to_string().into_bytes());
    client.request_text(create.unwrap()).await.unwrap();
    let all = [
        (Method::GET, "log"),
        (Method::GET, "exec"),
        (Method::POST, "exec"),
        (Method::POST, "attach"),
        (Method::POST, "portforward"),
        (Method::PUT, "proxy"),
        (Method::DELETE, "proxy"),
    ];
    for (method, part) in all {
        let answer = refused(&client, method.clone(), &format!("{pods}/p/{part}")).await;
        let expected = format!("501 pods/{part} is not served: there are no containers here");
        assert_eq!(answer, expected, "{method}");
        let answer = refused(&client, method, &format!("{pods}/absent/{part}")).await;
        assert_eq!(answer, "404 pods \"absent\" not found");
    }
    let answer = refused(&client, Method::PUT, &format!("{pods}/p/log")).await;
    assert!(answer.starts_with("405 "), "{answer}");
}

#[tokio::test]
async fn verbose_health_lists_each_check() {
    let client = client(&server());
    for path in ["healthz", "livez", "readyz"] {
        let ask = async |query: &str| {
            let request = Request::get(format!("/{path}{query}")).body(Vec::new());
            client.request_text(request.unwrap()).await.unwrap()
        };
        assert_eq!(ask("").await, "ok");
        let parts = format!("[+]ping ok\n{path} check passed\n");
        assert_eq!(ask("?verbose").await, parts);
    }
}
