//! `/healthz` and `/readyz`.
//!
//! Health describes this process only. It fails if a loop or a worker exceeds its deadline, so that the
//! kubelet restarts only a stuck process. Readiness describes whether the process can serve its users
//! now. Both list the failed checks; `?verbose` lists all checks.

use std::fmt::Write;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::routing::get;

use crate::telemetry::readiness::{self, Readiness};
use crate::telemetry::watchdog::Watchdog;

type HealthResponse = (StatusCode, String);

/// Answers probes.
pub fn router(readiness: Readiness, watchdog: Watchdog) -> Router {
    let health = Router::new()
        .route("/healthz", get(healthz))
        .with_state(watchdog);
    let ready = Router::new()
        .route("/readyz", get(readyz))
        .with_state(readiness);
    health.merge(ready)
}

async fn healthz(State(watchdog): State<Watchdog>) -> HealthResponse {
    let overdue = watchdog.overdue();
    if overdue.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    let mut text = String::new();
    for name in overdue {
        let _ = writeln!(text, "[-]{name} is stuck");
    }
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        text + "healthz check failed\n",
    )
}

async fn readyz(State(readiness): State<Readiness>, RawQuery(query): RawQuery) -> HealthResponse {
    let verbose = query.is_some_and(|query| asks_for_all(&query));
    let parts = readiness.parts();
    let mut text = String::new();
    let mut ready = true;
    for (name, state) in parts {
        match state {
            readiness::PartState::NotReady(reason) => {
                ready = false;
                let _ = writeln!(text, "[-]{name} not ready: {reason}");
            }
            readiness::PartState::Noted(reason) if verbose => {
                let _ = writeln!(text, "[~]{name}: {reason}");
            }
            readiness::PartState::Ready if verbose => {
                let _ = writeln!(text, "[+]{name} ok");
            }
            readiness::PartState::Noted(_) | readiness::PartState::Ready => {}
        }
    }
    if ready {
        let last = if verbose {
            "readyz check passed\n"
        } else {
            "ok\n"
        };
        (StatusCode::OK, text + last)
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            text + "readyz check failed\n",
        )
    }
}

fn asks_for_all(query: &str) -> bool {
    query.split('&').any(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
        key == "verbose" && !matches!(value, "false" | "0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use axum::body::{Body, to_bytes};
    use tower::ServiceExt;

    async fn get(router: &Router, uri: &str) -> (u16, String) {
        let request = http::Request::get(uri).body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn health_fails_only_while_something_is_stuck() {
        let watchdog = Watchdog::default();
        let router = router(Readiness::default(), watchdog.clone());
        let beat = watchdog.heartbeat("worker 3");
        assert_eq!(get(&router, "/healthz").await, (200, "ok\n".to_owned()));
        beat.arm(Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(2)).await;
        let (status, text) = get(&router, "/healthz").await;
        assert_eq!(status, 500);
        assert!(text.contains("[-]worker 3 is stuck"), "{text}");
        beat.disarm();
        assert_eq!(get(&router, "/healthz").await.0, 200);
    }

    #[tokio::test]
    async fn readiness_names_what_blocks_and_verbose_names_all() {
        let readiness = Readiness::default();
        let router = router(readiness.clone(), Watchdog::default());
        let starting = readiness::PartState::NotReady("starting".to_owned());
        let api = readiness.part("api server", starting);
        let absent = readiness::PartState::Noted("not installed".to_owned());
        let _crd = readiness.part("watch B", absent);
        let (status, text) = get(&router, "/readyz").await;
        assert_eq!(status, 503);
        assert_eq!(
            text,
            "[-]api server not ready: starting\nreadyz check failed\n"
        );
        api.set(readiness::PartState::Ready);
        assert_eq!(get(&router, "/readyz").await, (200, "ok\n".to_owned()));
        let (_, text) = get(&router, "/readyz?verbose").await;
        assert_eq!(
            text,
            "[+]api server ok\n[~]watch B: not installed\nreadyz check passed\n"
        );
        assert_eq!(get(&router, "/readyz?verbose=false").await.1, "ok\n");
    }
}
