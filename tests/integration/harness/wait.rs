//! Waiting for conditions, with bounds.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use rhai_operator::clock;

/// Between two looks. Short enough not to be what a test measures.
const INTERVAL: Duration = Duration::from_millis(50);

/// Within this time everything happens that is to happen, also on a slow machine with much else to do.
pub(crate) const SOON: Duration = Duration::from_mins(2);

/// Waits until `look` succeeds; on the deadline the error is what it said last.
///
/// `look` says `Err` for "not yet", with what it saw: `anyhow::ensure!(ready == 3, "{ready} ready")`.
pub(crate) async fn eventually<T, E, F>(
    deadline: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = Result<T, E>>,
    E: Display,
{
    let until = clock::now() + deadline;
    let mut seen = "no answer".to_owned();
    loop {
        match tokio::time::timeout_at(until, look()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(now)) => seen = format!("{now:#}"),
            // The deadline cut this look short: the one before is what there is to tell.
            Err(_) => {}
        }
        anyhow::ensure!(
            clock::now() < until,
            "waited {deadline:?} for {what}; last seen: {seen}"
        );
        clock::sleep(INTERVAL).await;
    }
}

/// Sees that `look` succeeds all the time.
pub(crate) async fn throughout<E, F>(
    period: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let until = clock::now() + period;
    while clock::now() < until {
        if let Err(seen) = look().await {
            anyhow::bail!("{what} did not hold for {period:?}: {seen:#}");
        }
        clock::sleep(INTERVAL).await;
    }
    Ok(())
}
