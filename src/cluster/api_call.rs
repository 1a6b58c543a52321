//! One call: repeats the request within a deadline, until an answer needs no retry.
//!
//! Replaces the retry of kube-client, which repeats 15 times on 429, 503 and 504 without a deadline, and
//! is off.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::{Extensions, HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use jiff::fmt::rfc2822::DateTimeParser;
use kube::client::Body;
use tokio_util::task::AbortOnDropHandle;
use tower::{BoxError, ServiceExt};

use super::error::{self, Error, ErrorKind, Target};
use super::guarded_body::SendCondition;
use super::settings::{Settings, WriteDeadline};
use super::transport::{ResponseBody, Transport};
use crate::backoff::Backoff;
use crate::clock::{self, Clock, Instant};

/// The backoff between attempts. It spares a busy server, and finds a restarted one within two seconds.
const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(50),
    max: Duration::from_secs(2),
    jitter: 0.2,
};
use crate::model::redact::PublicText;
use crate::telemetry::log;

/// The maximum length of path and query. The `http` crate panics if a path, together with the path prefix
/// of the server, is longer than 64 KiB.
const URI_LIMIT: usize = 32 << 10;

/// A request with its retry policy.
pub(super) struct ApiCall {
    pub(super) target: Target,
    pub(super) method: Method,
    /// Path and query.
    pub(super) uri: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
    pub(super) retry: RetryPolicy,
}

/// The retry policy of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryPolicy {
    /// No retry: the caller repeats the call itself.
    Never,
    /// Retry if the server certainly did not execute the request.
    UnlessExecuted,
    /// Retry in any case: the request is idempotent.
    Always,
}

/// Deadlines that bound a call.
#[derive(Clone, Default)]
pub(super) struct Deadlines {
    pub(super) deadline: Option<Instant>,
    pub(super) write_deadline: Option<WriteDeadline>,
}

/// A successful response.
pub(super) struct ApiResponse {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    pub(super) warnings: Vec<String>,
}

impl ApiCall {
    /// Creates a read.
    pub(super) fn get(target: Target, uri: String) -> Self {
        Self {
            target,
            method: Method::GET,
            uri,
            accept: "application/json",
            content_type: "",
            body: Bytes::new(),
            retry: RetryPolicy::Always,
        }
    }

    /// Sends the request until an answer needs no retry, or the deadline ends.
    pub(super) async fn send(
        &self,
        transport: &Transport,
        settings: &Settings,
        bounds: &Deadlines,
    ) -> Result<ApiResponse, Error> {
        let call_end = clock::now() + settings.call_timeout;
        let deadline = bounds.deadline.map_or(call_end, |end| end.min(call_end));
        let mut repeated = false;
        for failures in 1.. {
            let until = self.attempt_deadline(bounds, deadline)?;
            let attempt_end = until.min(clock::now() + settings.attempt_timeout);
            let failure = match self.send_once(transport, attempt_end, bounds).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let delay = failure.after.unwrap_or_else(|| BACKOFF.delay(failures));
            if !self.should_retry(&failure) || clock::now() + delay >= until {
                return Err(failure.repeated(repeated));
            }
            repeated |= may_have_executed(&failure);
            let error = PublicText::from(failure.kind.as_str());
            log::debug!(
                "retrying a request",
                attempt = failures,
                delay = delay,
                error = error
            );
            clock::sleep(delay).await;
        }
        unreachable!("the attempts have no end but an answer")
    }

    /// Returns the deadline of this attempt. Each attempt of a write requests its deadline anew.
    fn attempt_deadline(&self, bounds: &Deadlines, deadline: Instant) -> Result<Instant, Error> {
        let ask = bounds.write_deadline.as_ref();
        let Some(ask) = ask.filter(|_| self.method != Method::GET) else {
            return Ok(deadline);
        };
        match ask() {
            Some(until) if until > clock::now() => Ok(until.min(deadline)),
            _ => Err(Error::local(
                ErrorKind::Cancelled,
                "lease lost: write refused",
                self.target.clone(),
            )),
        }
    }

    fn should_retry(&self, failure: &Error) -> bool {
        match self.retry {
            RetryPolicy::Never => false,
            RetryPolicy::UnlessExecuted => failure.retryable && !may_have_executed(failure),
            RetryPolicy::Always => failure.retryable,
        }
    }

    /// The exchange is a separate task. Scripts wait on threads, and such a thread is then woken once, by
    /// the whole answer, and not by each step of the connection.
    async fn send_once(
        &self,
        transport: &Transport,
        until: Instant,
        bounds: &Deadlines,
    ) -> Result<ApiResponse, Error> {
        // The other task frees the request, and this task frees the answer. The waiting run counts the
        // memory of its own copy of the answer only.
        let exchange = allocation_meter::uncounted(|| {
            let mut request = self.request()?;
            request.extensions_mut().extend(self.guard(until, bounds));
            Ok::<_, Error>(tokio::spawn(exchange(transport.clone(), request)))
        })?;
        let exchange = AbortOnDropHandle::new(exchange);
        let exchanged = match tokio::time::timeout_at(until, exchange).await {
            Ok(Ok(exchanged)) => exchanged,
            Ok(Err(stopped)) => Err(stopped.into()),
            Err(_) => return Err(self.timeout_error()),
        };
        let (status, headers, body) =
            exchanged.map_err(|cause| Error::unreachable(&*cause, self.target.clone()))?;
        let foreign = (headers, body);
        let (headers, body) = (foreign.0.clone(), Bytes::copy_from_slice(&foreign.1));
        allocation_meter::uncounted(move || drop(foreign));
        if status.is_success() {
            return Ok(ApiResponse {
                status,
                body,
                warnings: warnings(&headers),
            });
        }
        let after = retry_after(&headers);
        Err(error::classify(status, &body, after, self.target.clone()))
    }

    /// Opens a stream. Waits for the headers only, for at most the time of one attempt.
    pub(super) async fn open(
        &self,
        transport: &Transport,
        settings: &Settings,
    ) -> Result<ResponseBody, Error> {
        let until = clock::now() + settings.attempt_timeout;
        let answered = transport.clone().oneshot(self.request()?);
        let response: Response<ResponseBody> = match tokio::time::timeout_at(until, answered).await
        {
            Ok(Ok(response)) => response,
            Ok(Err(cause)) => return Err(Error::unreachable(&*cause, self.target.clone())),
            Err(_) => return Err(self.timeout_error()),
        };
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let (parts, body) = response.into_parts();
        let body = tokio::time::timeout_at(until, body.collect()).await;
        let body = match body {
            Ok(Ok(body)) => body.to_bytes(),
            // Without its body, a 404 could mean that the kind is absent, or that the object is.
            Ok(Err(cause)) => return Err(Error::unreachable(&*cause, self.target.clone())),
            Err(_) => return Err(self.timeout_error()),
        };
        let after = retry_after(&parts.headers);
        Err(error::classify(
            parts.status,
            &body,
            after,
            self.target.clone(),
        ))
    }

    fn timeout_error(&self) -> Error {
        Error::local(
            ErrorKind::Timeout,
            "timeout: no answer",
            self.target.clone(),
        )
    }

    /// Returns the extension that checks the deadline of a write again when the connection reads its body.
    fn guard(&self, until: Instant, bounds: &Deadlines) -> Extensions {
        let mut extensions = Extensions::new();
        let write_deadline = bounds.write_deadline.clone();
        if let Some(ask) = write_deadline.filter(|_| self.method != Method::GET) {
            extensions.insert(SendCondition(Arc::new(move || {
                let now = clock::now();
                now < until && ask().is_some_and(|end| now < end)
            })));
        }
        extensions
    }

    fn request(&self) -> Result<Request<Body>, Error> {
        if self.uri.len() > URI_LIMIT {
            let message = format!(
                "expected a path and query of at most {} KiB, found {}",
                URI_LIMIT >> 10,
                self.uri.len() >> 10
            );
            return Err(Error::local(
                ErrorKind::Invalid,
                message,
                self.target.clone(),
            ));
        }
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.parse().map_err(|error| {
            let message = format!("invalid path {:?}: {error}", self.uri);
            Error::local(ErrorKind::Invalid, message, self.target.clone())
        })?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, http::HeaderValue::from_static(self.accept));
        if !self.content_type.is_empty() {
            let value = http::HeaderValue::from_static(self.content_type);
            headers.insert(CONTENT_TYPE, value);
        }
        Ok(request)
    }
}

/// Sends a request and waits for the whole answer.
async fn exchange(
    transport: Transport,
    request: Request<Body>,
) -> Result<(StatusCode, HeaderMap, Bytes), BoxError> {
    let response = transport.oneshot(request).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok((parts.status, parts.headers, body))
}

/// Returns whether the server may have executed a request that failed on this side.
fn may_have_executed(failure: &Error) -> bool {
    match failure.kind {
        ErrorKind::Timeout | ErrorKind::Unreachable => true,
        ErrorKind::ServerError => failure.code != Some(503),
        _ => false,
    }
}

/// Returns the delay that an answer demands: a number of seconds, or a time of the server's clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = String::from_utf8_lossy(headers.get(RETRY_AFTER)?.as_bytes());
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let time = |text: &str| DateTimeParser::new().parse_timestamp(text).ok();
    let Some(end) = time(text) else {
        log::debug!("ignoring an invalid Retry-After header");
        return None;
    };
    let sent = headers.get(DATE).and_then(|date| time(date.to_str().ok()?));
    let now = sent.unwrap_or_else(|| Clock::system().timestamp());
    // A time in the past demands no delay.
    Some(Duration::try_from(end.duration_since(now)).unwrap_or_default())
}

/// Returns the texts of Warning headers: `299 - "text"`, with escaped quotes and backslashes. Returns a header
/// of another form as it is.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let text = |value: &http::HeaderValue| {
        // Names of fields can have any characters.
        let value = String::from_utf8_lossy(value.as_bytes());
        let Some((_, quoted)) = value.split_once('"') else {
            return value.into_owned();
        };
        let quoted = quoted.strip_suffix('"').unwrap_or(quoted);
        quoted.replace("\\\"", "\"").replace("\\\\", "\\")
    };
    let headers = headers.get_all(http::header::WARNING);
    headers.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cluster::{guarded_body, transport};

    /// A server that answers the first requests with these codes (0 closes the connection, 1 never
    /// answers), and then with 200.
    fn server(codes: &'static [u16]) -> (Transport, Arc<AtomicUsize>) {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let service = tower::service_fn(move |_request: Request<Body>| {
            let code = codes
                .get(count.fetch_add(1, Ordering::SeqCst))
                .copied()
                .unwrap_or(200);
            async move {
                match code {
                    0 => Err(BoxError::from("cut")),
                    1 => std::future::pending().await,
                    _ => Ok(Response::builder()
                        .status(code)
                        .header("retry-after", if code == 429 { "7" } else { "" })
                        .header("warning", r#"299 - "unknown field \"spec.x\"""#)
                        .body(transport::body(Body::from(b"{}".to_vec())))?),
                }
            }
        });
        (transport::boxed(service), sent)
    }

    fn call(retry: RetryPolicy) -> ApiCall {
        ApiCall {
            method: Method::POST,
            retry,
            ..ApiCall::get(Target::default(), "/x".to_owned())
        }
    }

    #[test]
    fn a_server_demands_a_delay_in_seconds_or_until_a_time() {
        let after = |retry: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, retry.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            retry_after(&headers)
        };
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(after("7", None), seconds(7));
        assert_eq!(after(" 0 ", None), seconds(0));
        assert_eq!(after("99999999999999999999", None), seconds(u64::MAX));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", date), seconds(30));
        assert_eq!(after("Sun, 06 Nov 1994 08:49:00 GMT", date), seconds(0));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", None), seconds(0));
        assert_eq!(after("soon", date), None);
        assert_eq!(after("-1", date), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_cannot_demand_a_delay_without_end() {
        for (header, details) in [("18446744073709551615", 0), ("", u64::MAX)] {
            let service = tower::service_fn(move |_request: Request<Body>| async move {
                let status = serde_json::json!({"kind": "Status", "code": 429,
                    "reason": "TooManyRequests", "details": {"retryAfterSeconds": details}});
                let body = Body::from(status.to_string().into_bytes());
                let answer = Response::builder().status(429);
                let answer = answer.header("retry-after", header);
                Ok::<_, BoxError>(answer.body(transport::body(body))?)
            });
            let (settings, bounds) = (Settings::default(), Deadlines::default());
            let transport = transport::boxed(service);
            let answer = call(RetryPolicy::Always);
            let answer = answer.send(&transport, &settings, &bounds).await;
            let error = answer.err().unwrap();
            assert_eq!(error.after, Some(Duration::from_mins(1)));
        }
    }

    #[test]
    fn warnings_have_any_characters() {
        let mut headers = HeaderMap::new();
        for value in [
            r#"299 - "unknown field \"spec.größe\"""#,
            r#"199 proxy "stale""#,
            "299 - plain",
        ] {
            let value = http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(http::header::WARNING, value);
        }
        assert_eq!(
            warnings(&headers),
            [r#"unknown field "spec.größe""#, "stale", "299 - plain"]
        );
    }

    /// Without its body, a 404 would read as the absence of the kind.
    #[tokio::test]
    async fn an_error_whose_body_is_cut_is_no_answer() {
        let service = tower::service_fn(|_request: Request<Body>| async {
            let cut =
                futures::stream::iter([Err::<http_body::Frame<Bytes>, _>(BoxError::from("cut"))]);
            let body = transport::body(http_body_util::StreamBody::new(cut));
            Ok::<_, BoxError>(Response::builder().status(404).body(body)?)
        });
        let transport = transport::boxed(service);
        let call = ApiCall::get(Target::default(), "/x".to_owned());
        let opened = call.open(&transport, &Settings::default()).await;
        assert_eq!(opened.err().unwrap().kind, ErrorKind::Unreachable);
    }

    #[tokio::test]
    async fn a_path_that_the_server_would_not_take_is_not_sent() {
        for (length, expected) in [
            (URI_LIMIT, 1),
            (URI_LIMIT + 1, 0),
            (usize::from(u16::MAX), 0),
        ] {
            let (transport, sent) = server(&[200]);
            let call = ApiCall::get(Target::default(), format!("/{}", "x".repeat(length - 1)));
            let (settings, bounds) = (Settings::default(), Deadlines::default());
            let answer = call.send(&transport, &settings, &bounds).await;
            let failed = answer.err().map(|error| error.kind);
            assert_eq!(failed, (expected == 0).then_some(ErrorKind::Invalid));
            assert_eq!(sent.load(Ordering::SeqCst), expected, "{length}");
        }
    }

    async fn send(
        retry: RetryPolicy,
        codes: &'static [u16],
    ) -> (Result<ApiResponse, Error>, usize) {
        let (transport, sent) = server(codes);
        let settings = Settings::default();
        let answer = call(retry)
            .send(&transport, &settings, &Deadlines::default())
            .await;
        (answer, sent.load(Ordering::SeqCst))
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_retried() {
        let started = clock::now();
        let (answer, sent) = send(RetryPolicy::Always, &[500, 0, 503, 504, 1, 429]).await;
        assert_eq!(answer.unwrap().warnings, [r#"unknown field "spec.x""#]);
        assert_eq!(sent, 7);
        // The time is the sum of the attempt without an answer and of the server's Retry-After.
        assert!(started.elapsed() > Duration::from_secs(14 + 7));
    }

    #[tokio::test(start_paused = true)]
    async fn writes_that_may_have_succeeded_are_not_repeated() {
        for codes in [&[500][..], &[0], &[504], &[1]] {
            let (answer, sent) = send(RetryPolicy::UnlessExecuted, codes).await;
            assert!(answer.is_err());
            assert_eq!(sent, 1, "{codes:?}");
        }
        let (answer, sent) = send(RetryPolicy::UnlessExecuted, &[429, 503]).await;
        assert!(answer.is_ok());
        assert_eq!(sent, 3);
        assert_eq!(send(RetryPolicy::Never, &[503]).await.1, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn refused_requests_are_not_retried() {
        let (answer, sent) = send(RetryPolicy::Always, &[422]).await;
        assert_eq!(answer.err().unwrap().kind, ErrorKind::Invalid);
        assert_eq!(sent, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_holds() {
        let started = clock::now();
        let (answer, sent) = send(RetryPolicy::Always, &[1; 99]).await;
        let error = answer.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Timeout);
        assert!(error.retryable && error.repeated);
        assert!(sent > 1 && started.elapsed() <= Settings::default().call_timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn each_attempt_of_a_write_checks_the_lease() {
        let (transport, sent) = server(&[503; 99]);
        let end = clock::now() + Duration::from_secs(3);
        let bounds = Deadlines {
            write_deadline: Some(Arc::new(move || Some(end))),
            ..Deadlines::default()
        };
        let settings = Settings::default();
        let refused = call(RetryPolicy::Always)
            .send(&transport, &settings, &bounds)
            .await;
        assert!(refused.is_err() && clock::now() <= end);
        let before = sent.load(Ordering::SeqCst);
        clock::sleep(Duration::from_secs(3)).await;
        let refused = call(RetryPolicy::Always)
            .send(&transport, &settings, &bounds)
            .await;
        assert_eq!(refused.err().unwrap().kind, ErrorKind::Cancelled);
        assert_eq!(sent.load(Ordering::SeqCst), before);
        let read = ApiCall::get(Target::default(), "/x".to_owned());
        let Err(read) = read.send(&transport, &settings, &bounds).await else {
            panic!("the server answers 503 only");
        };
        assert_eq!(read.kind, ErrorKind::ServerError);
    }

    /// A process that is stopped between the check of a write and its transmission.
    #[tokio::test(start_paused = true)]
    async fn a_write_that_is_late_on_its_connection_is_not_sent() {
        let arrived = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&arrived);
        let transport = transport::boxed(tower::service_fn(move |request: Request<Body>| {
            let count = Arc::clone(&count);
            async move {
                let request = guarded_body::guard(request);
                clock::sleep(Duration::from_secs(1)).await;
                request.into_body().collect().await?;
                count.fetch_add(1, Ordering::SeqCst);
                let body = transport::body(http_body_util::Full::new(Bytes::new()));
                Ok(Response::new(body))
            }
        }));
        let leads = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let lease = Arc::clone(&leads);
        let end = clock::now() + Duration::from_mins(1);
        let bounds = Deadlines {
            write_deadline: Some(Arc::new(move || {
                lease.load(Ordering::SeqCst).then_some(end)
            })),
            ..Deadlines::default()
        };
        let settings = Settings::default();
        let write = ApiCall {
            body: Bytes::from_static(b"{}"),
            ..call(RetryPolicy::Never)
        };
        let sent = write.send(&transport, &settings, &bounds).await;
        assert!(sent.is_ok());
        let stop = async {
            clock::sleep(Duration::from_millis(500)).await;
            leads.store(false, Ordering::SeqCst);
        };
        let (refused, ()) = tokio::join!(write.send(&transport, &settings, &bounds), stop);
        assert!(refused.is_err());
        assert_eq!(arrived.load(Ordering::SeqCst), 1);
    }
}
