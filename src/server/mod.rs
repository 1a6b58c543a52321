//! The HTTP servers of the process: metrics, health, readiness.
//!
//! Each has its own address. A server that stops has a second to finish its open requests. [`serve`]
//! limits clients.

mod address;
mod connections;
mod health;
mod metrics;
mod serve;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::telemetry::log;
pub use address::{Address, AddressError as MalformedAddress};
pub use health::router as health;
pub use metrics::router as metrics;

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct Error {
    address: Address,
    #[source]
    source: io::Error,
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    router: Router,
    local: SocketAddr,
}

impl Server {
    /// Listens, and logs under `name` where: the port may have been left to the system.
    pub async fn bind(
        name: &'static str,
        address: &Address,
        router: Router,
    ) -> Result<Self, Error> {
        let error = |source| Error {
            address: address.clone(),
            source,
        };
        let listener = address.listen().await.map_err(error)?;
        let local = listener.local_addr().map_err(error)?;
        log::info!("listening", server = name, address = local);
        Ok(Self {
            listener,
            router,
            local,
        })
    }

    /// Returns the address of the socket.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Answers until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        serve::serve(self.listener, self.router, shutdown).await;
    }
}
