//! Waiting for conditions, with a bound.

use std::time::Duration;

use rhai_operator::clock;

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Within this time everything happens that is to happen, also on a slow machine with much else to do.
const BOUND: Duration = Duration::from_mins(2);

/// Waits until a check succeeds. After the time limit, returns its last error.
pub(crate) async fn until<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let end = clock::now() + BOUND;
    loop {
        match look().await {
            Ok(value) => return Ok(value),
            Err(error) if clock::now() >= end => {
                return Err(error.context(format!("waited {BOUND:?} for {what}")));
            }
            Err(_) => clock::sleep(INTERVAL).await,
        }
    }
}
