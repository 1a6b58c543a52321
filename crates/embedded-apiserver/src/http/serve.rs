//! The service on a socket: HTTP/1.1 and HTTP/2, plain or with TLS.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::Service;
use super::certificates::{Authority, Tls};
use super::trust::Trust;

/// The most connections at a time; further ones wait to be accepted. A process may have 1,024 files open
/// where nothing else is set.
const CONNECTIONS: usize = 512;
/// The time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time that a connection may wait for a request, or be silent within its headers. As the real
/// server's: Go's clients forget an idle connection after as long.
const IDLE: Duration = Duration::from_secs(90);
/// The pause after the system refuses a connection: mostly no file is free.
const PAUSE: Duration = Duration::from_millis(100);

/// A server on a socket, for as long as this value lives.
#[derive(Debug)]
pub struct Listening {
    /// The local address.
    pub address: SocketAddr,
    /// The certificate, in PEM, of the authority behind its own; none where there is no TLS.
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
        // Dropped with the task: connections end with the server.
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
            // An answer is one write; it is not to wait for another.
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

/// Serves connections with TLS, with a certificate of an authority. Clients can have certificates of other
/// authorities.
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
    // A ping that is not answered ends a connection.
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
