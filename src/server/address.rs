//! Parses the address of a server: `:8080`, `127.0.0.1:0`, `localhost:8080`. `0` disables the server.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::net::TcpListener;

/// A host, or all interfaces, and a port; port 0 leaves the choice to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: Option<String>,
    port: u16,
}

/// Not an address.
#[derive(Debug, thiserror::Error)]
#[error("expected HOST:PORT, :PORT or 0, not {0:?}")]
pub struct AddressError(String);

impl Address {
    /// Parses an address. `0` disables the server and returns `None`.
    pub fn parse(text: &str) -> Result<Option<Self>, AddressError> {
        let malformed = || AddressError(text.to_owned());
        if text == "0" {
            return Ok(None);
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        let host = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.strip_suffix(']').ok_or_else(malformed)?,
            None if host.contains(':') => return Err(malformed()),
            None => host,
        };
        let host = (!host.is_empty()).then(|| host.to_owned());
        Ok(Some(Self { host, port }))
    }

    /// Listens there.
    pub async fn listen(&self) -> io::Result<TcpListener> {
        match &self.host {
            Some(host) => TcpListener::bind((&**host, self.port)).await,
            // `::` takes IPv4 too, where the kernel has IPv6 at all.
            None => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, self.port)).await {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.port)).await
                }
                bound => bound,
            },
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_deref() {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            host => write!(f, "{}:{}", host.unwrap_or_default(), self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_round_trip() {
        for text in [":8080", "127.0.0.1:0", "localhost:9", "[::1]:8081"] {
            let address = Address::parse(text).unwrap().unwrap();
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(Address::parse("0").unwrap(), None);
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for text in ["", "8080", ":", ":x", "::1:80", "[::1:80", ":65536"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
