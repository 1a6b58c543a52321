//! Random bytes sent to the operator's own servers and to the embedded API: the next client still gets its
//! response.

use std::sync::LazyLock;

use axum::Router;
use axum::routing::get;
use embedded_apiserver::{ApiServer, Listening, Options};
use proptest::prelude::*;
use proptest::sample::Index;
use rhai_operator::server::{Address, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use test_harness::edit;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Both kinds of servers, as long as the tests run.
static SERVERS: LazyLock<Servers> = LazyLock::new(|| RUNTIME.block_on(Servers::start()));

struct Servers {
    addresses: [std::net::SocketAddr; 2],
    _listening: Listening,
}

const REQUESTS: [&[u8]; 9] = [
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"GET /api/v1/pods?watch=true&resourceVersion=1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0\0\0\0\x04\0\0\0\0\0",
    b"\x16\x03\x01\0\xa5\x01\0\0\xa1\x03\x03",
    b"OPTIONS * HTTP/1.0\r\nUpgrade: websocket\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n",
];

impl Servers {
    async fn start() -> Self {
        let router = Router::new().route("/healthz", get(async || "ok"));
        let address = Address::parse("127.0.0.1:0").unwrap().unwrap();
        let own = Server::bind("fuzz", &address, router).await.unwrap();
        let own_address = own.local_address();
        tokio::spawn(own.run(CancellationToken::new()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listening = ApiServer::new(Options::default()).serve(listener).unwrap();
        Self {
            addresses: [own_address, listening.address],
            _listening: listening,
        }
    }

    /// Sends bytes, takes what comes at once, and goes away.
    async fn is_sent(&self, server: usize, bytes: &[u8]) -> Result<(), String> {
        let address = self.addresses[server];
        let mut rude = TcpStream::connect(address)
            .await
            .map_err(|error| error.to_string())?;
        // A server may refuse to read on.
        let _ = rude.write_all(bytes).await;
        let mut polite = TcpStream::connect(address)
            .await
            .map_err(|error| error.to_string())?;
        let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        polite
            .write_all(request)
            .await
            .map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        polite
            .read_to_end(&mut answer)
            .await
            .map_err(|error| error.to_string())?;
        if answer.starts_with(b"HTTP/1.1 200 ") {
            Ok(())
        } else {
            Err(format!(
                "the next client gets {}",
                String::from_utf8_lossy(&answer)
            ))
        }
    }
}

proptest! {
    #![proptest_config(edit::config(300))]

    #[test]
    fn random_bytes_do_not_block_the_next_client(
        server in 0..2_usize,
        request in any::<Index>(),
        edits in edit::edits(),
    ) {
        let bytes: &[u8] = REQUESTS[request.index(REQUESTS.len())];
        let bytes = edit::apply(bytes, &edits);
        let answered = RUNTIME.block_on(SERVERS.is_sent(server, &bytes));
        prop_assert!(answered.is_ok(), "{answered:?}");
    }
}
