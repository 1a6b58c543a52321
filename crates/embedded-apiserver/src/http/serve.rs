//! The service on a socket: HTTP/1.1 and HTTP/2, plain or with TLS.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::certificates::{Authority, Tls};
use super::service::Service;
use super::trust::Trust;

/// The maximum number of simultaneous connections. Further connections wait to be accepted. The default limit
/// of open files of a process is 1,024.
const CONNECTIONS: usize = 512;
/// The maximum duration of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time that a connection can be idle or can take to send its headers. It is that of the real server.
/// HTTP clients of Go close idle connections after the same time.
const IDLE: Duration = Duration::from_secs(90);
/// The wait after a failed accept. The usual cause is the limit of open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A server on a socket. Dropping this value stops the server.
#[derive(Debug)]
pub struct Listening {
    /// The local address.
    pub address: SocketAddr,
    /// The certificate, in PEM, of the authority that signed the server's certificate. Absent without TLS.
    pub authority: Option<String>,
    accepting: AbortHandle,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves connections of a listener until the value is dropped.
pub(crate) fn serve(
    service: &Service,
    listener: TcpListener,
    tls: Option<Tls>,
) -> std::io::Result<Listening> {
    let address = listener.local_addr()?;
    let service = service.clone();
    let accepting = tokio::spawn(async move {
        // Dropping the task drops the set, which closes the connections.
        let mut connections = tokio::task::JoinSet::new();
        loop {
            if connections.len() >= CONNECTIONS {
                connections.join_next().await;
            }
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    clock::sleep(PAUSE).await;
                    continue;
                }
            };
            // A response is written at once, so Nagle's algorithm would only delay it.
            let _ = stream.set_nodelay(true);
            let (service, tls) = (service.clone(), tls.clone());
            connections.spawn(async move {
                match tls {
                    None => connection(service, stream).await,
                    Some(tls) => secured(service, tls, stream).await,
                }
            });
            while connections.try_join_next().is_some() {}
        }
    });
    Ok(Listening {
        address,
        authority: None,
        accepting: accepting.abort_handle(),
    })
}

/// Serves connections with TLS. `authority` signs the server's certificate. Other authorities can sign those
/// of clients.
pub(crate) fn serve_tls(
    service: &Service,
    listener: TcpListener,
    authority: &Authority,
    trust: Option<Trust>,
) -> std::io::Result<Listening> {
    let tls = authority.issue(listener.local_addr()?, trust)?;
    let mut listening = serve(service, listener, Some(tls))?;
    listening.authority = Some(authority.pem());
    Ok(listening)
}

async fn secured(service: Service, tls: Tls, stream: tokio::net::TcpStream) {
    let shaken = tokio::select! {
        shaken = tls.acceptor.accept(stream) => shaken,
        () = clock::sleep(HANDSHAKE) => return,
    };
    let Ok(stream) = shaken else {
        return;
    };
    let (_, session) = stream.get_ref();
    let certificates = session.peer_certificates().unwrap_or_default();
    let service = match &tls.trust {
        Some(trust) => service.over(trust.sender(certificates, service.registry.now())),
        None => service,
    };
    connection(service, stream).await;
}

async fn connection<S>(service: Service, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request| tower::Service::call(&mut service.clone(), request));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE);
    // An unanswered ping closes the connection.
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(IDLE));
    let served = builder
        .serve_connection_with_upgrades(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!(error, "a connection ended");
    }
}
