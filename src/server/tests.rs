//! The servers under clients that send nothing, half a request, or read nothing.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connections::Activity;
use super::serve::{CONNECTIONS, GRACE, HEADER_BYTES, HEADERS, TOTAL, connection};
use super::{Address, Server};
use crate::clock;

const PROBE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
const HALF: &[u8] = b"GET /healthz HTTP/1.1\r\nhost:";

fn router() -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/long", get(|| async { "x".repeat(1 << 20) }))
        .route("/never", get(std::future::pending::<String>))
}

/// Serves one end of a pipe, which takes a few bytes at a time; returns the other, and when it ends.
fn piped(
    shutdown: &CancellationToken,
) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<Duration>) {
    let (client, server) = tokio::io::duplex(1024);
    let served = connection(server, router(), Activity::default(), shutdown.clone());
    let ended = tokio::spawn(async move {
        let started = clock::now();
        served.await;
        started.elapsed()
    });
    (client, ended)
}

async fn all(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    // A connection that was given up may be reset; what came before counts.
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_or_half_a_request_is_left() {
    for sent in [&b""[..], HALF] {
        let (mut client, ended) = piped(&CancellationToken::new());
        client.write_all(sent).await.unwrap();
        assert_eq!(ended.await.unwrap(), HEADERS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_byte_by_byte_gets_no_more_time() {
    let (mut client, ended) = piped(&CancellationToken::new());
    let trickle = tokio::spawn(async move {
        while client.write_all(b"a").await.is_ok() {
            clock::sleep(Duration::from_secs(1)).await;
        }
    });
    assert_eq!(ended.await.unwrap(), HEADERS);
    trickle.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_and_a_handler_that_does_not_answer_are_left() {
    for path in ["/long", "/never"] {
        let (mut client, ended) = piped(&CancellationToken::new());
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(ended.await.unwrap(), TOTAL, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_carries_one_request_and_what_it_sends_is_not_read() {
    let (mut client, ended) = piped(&CancellationToken::new());
    client.write_all(&[PROBE, PROBE].concat()).await.unwrap();
    let text = all(&mut client).await;
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 1, "{text}");
    assert!(text.contains("connection: close"), "{text}");
    assert_eq!(ended.await.unwrap(), Duration::ZERO);
    let (mut client, ended) = piped(&CancellationToken::new());
    let body = b"GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n";
    client.write_all(body).await.unwrap();
    let text = all(&mut client).await;
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    assert_eq!(ended.await.unwrap(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn headers_are_bounded() {
    let (client, ended) = piped(&CancellationToken::new());
    let (mut reading, mut writing) = tokio::io::split(client);
    let sent = tokio::spawn(async move {
        let _ = writing.write_all(b"GET /healthz HTTP/1.1\r\n").await;
        let header = format!("a: {}\r\n", "b".repeat(2 * HEADER_BYTES));
        let _ = writing.write_all(header.as_bytes()).await;
    });
    let text = all(&mut reading).await;
    assert!(text.starts_with("HTTP/1.1 431"), "{text}");
    assert_eq!(ended.await.unwrap(), Duration::ZERO);
    sent.await.unwrap();
}

/// A server on a socket; it ends with the guard.
struct RunningServer {
    address: std::net::SocketAddr,
    ended: tokio::task::JoinHandle<()>,
    shutdown: DropGuard,
}

async fn running() -> RunningServer {
    let address = Address::parse("127.0.0.1:0").unwrap().unwrap();
    let server = Server::bind("test", &address, router()).await.unwrap();
    let address = server.local_address();
    let shutdown = CancellationToken::new();
    let ended = tokio::spawn(server.run(shutdown.clone()));
    RunningServer {
        address,
        ended,
        shutdown: shutdown.drop_guard(),
    }
}

impl RunningServer {
    async fn connect(&self, sent: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // It may have been closed for another already.
        let _ = stream.write_all(sent).await;
        stream
    }
}

#[tokio::test]
async fn a_full_server_answers_and_keeps_no_more_connections() {
    let server = running().await;
    let mut idle = Vec::new();
    for sent in [&b""[..], HALF].iter().cycle().take(4 * CONNECTIONS) {
        idle.push(server.connect(sent).await);
    }
    for _ in 0..3 {
        let text = all(&mut server.connect(PROBE).await).await;
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    }
    // All that were connected before the last ones are closed.
    for mut closed in idle.drain(..3 * CONNECTIONS) {
        assert_eq!(all(&mut closed).await, "");
    }
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_clients() {
    let server = running().await;
    let mut answered = server
        .connect(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    let mut half = server.connect(HALF).await;
    // Both are accepted: they came before this one.
    let text = all(&mut server.connect(PROBE).await).await;
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    drop(server.shutdown);
    server.ended.await.unwrap();
    assert_eq!(all(&mut answered).await, "");
    assert_eq!(all(&mut half).await, "");
    TcpStream::connect(server.address).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_has_begun_is_finished_within_the_grace() {
    let shutdown = CancellationToken::new();
    let (mut client, ended) = piped(&shutdown);
    client
        .write_all(b"GET /long HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0];
    client.read_exact(&mut first).await.unwrap();
    shutdown.cancel();
    assert!(all(&mut client).await.len() > 1 << 20);
    assert!(ended.await.unwrap() < GRACE);
}
