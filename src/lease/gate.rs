//! A layer of the client: writes pass only while this process leads, and are given up when it no longer
//! may.

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{BoxError, Layer, Service};

use super::Leadership;
use super::leadership::Deadline;
use crate::clock;

/// The layer.
#[derive(Clone, Debug)]
pub struct Gate(Leadership);

impl Gate {
    /// Holds writes to a leadership.
    pub fn new(leadership: Leadership) -> Self {
        Self(leadership)
    }
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated {
            inner,
            leadership: self.0.clone(),
        }
    }
}

/// What the layer makes of a service.
#[derive(Clone, Debug)]
pub struct Gated<S> {
    inner: S,
    leadership: Leadership,
}

/// A write that this process may not make.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not hold the lease")]
pub struct NotLeader;

impl<S, B, R> Service<Request<B>> for Gated<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<R>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        ) {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        match self.leadership.write_deadline() {
            None => Box::pin(std::future::ready(Err(NotLeader.into()))),
            Some(Deadline::Never) => {
                let answer = self.inner.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
            Some(Deadline::At(deadline)) => {
                let answer = self.inner.call(request);
                Box::pin(async move {
                    tokio::select! {
                        answer = answer => answer.map_err(Into::into),
                        () = clock::sleep_until(deadline) => Err(NotLeader.into()),
                    }
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::time::Duration;

    use jiff::Timestamp;
    use tower::{ServiceExt, service_fn};

    use crate::clock::Clock;

    const EPOCH: Timestamp = Timestamp::UNIX_EPOCH;

    async fn send(
        leadership: &Leadership,
        method: Method,
        takes: Duration,
    ) -> Result<(), BoxError> {
        let server = service_fn(move |_: Request<()>| async move {
            clock::sleep(takes).await;
            Ok::<_, Infallible>(Response::new(()))
        });
        let request = Request::builder().method(method).body(())?;
        Gate::new(leadership.clone())
            .layer(server)
            .oneshot(request)
            .await?;
        Ok(())
    }

    fn is_refused(answer: Result<(), BoxError>) -> bool {
        answer.is_err_and(|error| error.is::<NotLeader>())
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_reads_and_does_not_write() {
        let standby = Leadership::standby(Clock::from_fn(|| EPOCH));
        send(&standby, Method::GET, Duration::ZERO).await.unwrap();
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(is_refused(send(&standby, method, Duration::ZERO).await));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_given_up_at_the_end_of_the_term() {
        let leader = Leadership::standby(Clock::from_fn(|| EPOCH));
        let term = Duration::from_secs(10);
        leader.extend(clock::now() + term, EPOCH + term);
        send(&leader, Method::POST, Duration::from_secs(9))
            .await
            .unwrap();
        assert!(is_refused(
            send(&leader, Method::POST, Duration::from_secs(9)).await
        ));
        assert!(
            is_refused(send(&leader, Method::POST, Duration::ZERO).await),
            "term is over"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_machine_writes_nothing_when_it_wakes() {
        let woken = EPOCH + Duration::from_secs(60);
        let leader = Leadership::standby(Clock::from_fn(move || woken));
        let term = Duration::from_secs(10);
        leader.extend(clock::now() + term, EPOCH + term);
        assert!(is_refused(
            send(&leader, Method::POST, Duration::ZERO).await
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn without_election_writes_pass() {
        let answer = send(&Leadership::sole(), Method::POST, Duration::from_mins(10)).await;
        answer.unwrap();
    }
}
