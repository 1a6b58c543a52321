//! Waiting for conditions, with deadlines.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

/// The time between two checks. It is short compared with the times that tests measure.
const INTERVAL: Duration = Duration::from_millis(50);

/// The deadline of a condition, also on a slow and busy machine.
pub const SOON: Duration = Duration::from_mins(2);

/// Waits until `check` succeeds. After the deadline, the error contains the last error of `check`.
///
/// `check` returns an error with the current state: `anyhow::ensure!(ready == 3, "{ready} ready")`.
pub async fn eventually<T, E, F>(
    deadline: Duration,
    what: &str,
    mut check: impl FnMut() -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = Result<T, E>>,
    E: Display,
{
    let until = clock::now() + deadline;
    let mut last = "no answer".to_owned();
    loop {
        match tokio::time::timeout_at(until, check()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = format!("{error:#}"),
            // The deadline cut this check short: the error of the check before it remains.
            Err(_) => {}
        }
        anyhow::ensure!(
            clock::now() < until,
            "waited {deadline:?} for {what}; last: {last}"
        );
        clock::sleep(INTERVAL).await;
    }
}

/// Checks that `check` succeeds for a whole period.
pub async fn throughout<E, F>(
    period: Duration,
    what: &str,
    mut check: impl FnMut() -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let until = clock::now() + period;
    while clock::now() < until {
        if let Err(error) = check().await {
            anyhow::bail!("{what} did not hold for {period:?}: {error:#}");
        }
        clock::sleep(INTERVAL).await;
    }
    Ok(())
}
