//! The accept loop, and the bounds of one connection.
//!
//! The ports of an operator are open to every Pod that the network lets through. A client that sends
//! nothing, half a request, or reads nothing must not keep others from an answer, nor the process from
//! its end. Hence each connection carries one request and lives for [`TOTAL`] at most.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::connections::{Activity, Connections};
use crate::clock;
use crate::model::redact::PublicText;
use crate::telemetry::log;

/// The most connections of one server. Two servers use an eighth of the 1,024 files that a process may
/// have open where nothing else is set; probes and scrapes come one or two at a time.
pub(super) const CONNECTIONS: usize = 64;
/// The time for a request's headers to arrive. A kubelet sends them at once.
pub(super) const HEADERS: Duration = Duration::from_secs(5);
/// The time for a connection, from its begin to the last byte of the answer. Prometheus gives up after
/// 10 s, a kubelet after 1 s.
pub(super) const TOTAL: Duration = Duration::from_secs(20);
/// The time that a shutdown leaves for answers that have begun.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// The size of a request's line and headers. A kubelet sends 200 bytes; a bearer token takes 2 KiB.
pub(super) const HEADER_BYTES: usize = 16 << 10;
/// The pause after the system refuses a connection: mostly no file is free, and trying at once would
/// only take a CPU.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers connections until `shutdown`, and for [`GRACE`] after it.
pub(super) async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let mut tasks = JoinSet::new();
    let mut connections = Connections::new(CONNECTIONS);
    loop {
        let (stream, peer) = tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = tasks.join_next() => continue,
            accepted = accept(&listener) => accepted,
        };
        let activity = Activity::default();
        let served = connection(stream, router.clone(), activity.clone(), shutdown.clone());
        connections.make_room();
        connections.add(peer.ip(), activity, tasks.spawn(served));
    }
    // A client that connects now is refused at once, rather than accepted and left alone.
    drop(listener);
    let ended = async { while tasks.join_next().await.is_some() {} };
    tokio::select! {
        () = ended => {}
        () = clock::sleep(GRACE) => tasks.abort_all(),
    }
}

/// Returns the next connection, however long the system refuses one.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                log::warn!(
                    "cannot accept a connection",
                    error = PublicText::outside_runs(error)
                );
                clock::sleep(PAUSE).await;
            }
        }
    }
}

/// Returns whether a connection ended before it was accepted: the next one may be fine.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// Answers one request of a connection within the bounds.
pub(super) async fn connection<S>(
    stream: S,
    router: Router,
    activity: Activity,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        activity.mark_answering();
        router.clone().oneshot(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = clock::sleep(TOTAL) => return,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        log::debug!("connection failed", error = PublicText::outside_runs(error));
    }
}
