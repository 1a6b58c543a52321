//! The operator's own ports under clients that send nothing or half a request: the operator answers
//! probes, and ends on SIGTERM.

use std::net::SocketAddr;

use anyhow::ensure;
use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Operator, SOON, eventually, trials};

/// Files that the operator may have open.
const FILES: usize = 256;

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        idle_clients_do_not_block_other_clients,
        a_half_sent_request_delays_no_shutdown,
    ]
}

async fn connect(address: SocketAddr, sent: &[u8]) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    // The operator may have closed it already.
    let _ = stream.write_all(sent).await;
    Ok(stream)
}

async fn idle_clients_do_not_block_other_clients(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let operator = Operator::builder(&case, &project)
        .files(FILES)
        .start()
        .await?;
    operator.ready().await?;
    let mut idle = Vec::new();
    for _ in 0..FILES {
        idle.push(connect(operator.health_address()?, b"").await?);
    }
    eventually(SOON, "answers to probes", || async {
        let (health, _) = operator.health().await?;
        let (readiness, _) = operator.readiness().await?;
        ensure!((health, readiness) == (200, 200), "{health} {readiness}");
        Ok(())
    })
    .await?;
    // There are files left for requests to the API server.
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    // The oldest was closed for the last one.
    assert_eq!(idle[0].read(&mut [0]).await.unwrap_or(0), 0);
    Ok(())
}

async fn a_half_sent_request_delays_no_shutdown(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let mut operator = widgets.operator(MAKE_MAP).await?;
    let mut clients = Vec::new();
    for address in [operator.health_address()?, operator.metrics_address()?] {
        clients.push(connect(address, b"GET /healthz HTTP/1.1\r\nhost:").await?);
    }
    // It has accepted them: what came later is answered.
    eventually(SOON, "answers", || async {
        operator.health().await?;
        operator.metrics().await.map(drop)
    })
    .await?;
    assert!(operator.terminate().await?.success());
    drop(clients);
    Ok(())
}
