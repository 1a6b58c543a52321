//! The service: reads requests, finds their users, and passes them on.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::authenticate::{self, ConnectionIdentity, Users};
use super::exchange::{Exchange, ReceivedRequest};
use super::query::Query;
use super::respond::{self, Body};
use super::{audit, authorize, outcome, route};
use crate::error::ApiError;
use crate::registry::{self, Registry};
use crate::stack;
use crate::user::User;

/// The maximum size of a body: <https://github.com/kubernetes/kubernetes/pull/73805>
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The maximum time to receive a body, as the real server's `--request-timeout`.
const BODY_TIME: Duration = Duration::from_mins(1);

/// The API as a [`tower::Service`]. Clones are handles of one server.
#[derive(Clone, Debug)]
pub struct Service {
    pub(super) registry: Arc<Registry>,
    users: Arc<Users>,
    audit: Option<Arc<audit::Log>>,
    /// The identity of the connection.
    sender: ConnectionIdentity,
}

impl Service {
    /// Returns the service for a registry and its users. `audit` gets the audit events.
    pub fn new(registry: Arc<Registry>, users: Arc<Users>, audit: Option<Arc<audit::Log>>) -> Self {
        Self {
            registry,
            users,
            audit,
            sender: ConnectionIdentity::default(),
        }
    }

    /// Returns the service for requests of one user. It ignores their credentials.
    #[must_use]
    pub fn for_user(&self, user: User) -> Self {
        self.over(ConnectionIdentity::User(Arc::new(user)))
    }

    /// Returns the service for requests over a connection.
    pub(super) fn over(&self, sender: ConnectionIdentity) -> Self {
        Self {
            sender,
            ..self.clone()
        }
    }

    /// Returns the user that sends a request.
    fn authenticated(&self, headers: &http::HeaderMap) -> Result<User, ApiError> {
        let registry = &self.registry;
        let is_valid = |issued: &registry::IssuedToken| {
            registry.read(|store, _| issued.is_valid(store, registry.now()))
        };
        self.users
            .authenticated(&self.sender, registry.now(), headers, is_valid)
    }

    /// Returns the user that the sender acts as: the impersonated user, or the sender.
    fn impersonate(&self, sender: User, headers: &http::HeaderMap) -> Result<User, ApiError> {
        if authorize::impersonates(headers) {
            let registry = &self.registry;
            registry.read(|store, _| authorize::impersonation(&sender, headers, store))?;
        }
        Ok(authenticate::impersonated(sender, headers))
    }

    /// Adds the user and the body to a request.
    async fn complete<B>(
        &self,
        incoming: &mut ReceivedRequest,
        sender: Result<User, ApiError>,
        body: B,
    ) -> Result<(), ApiError>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        incoming.user = self.impersonate(sender?, &incoming.headers)?;
        incoming.body = collected(body).await?;
        Ok(())
    }

    /// Handles a request that was read, or returns the error of reading it.
    fn handle(
        &self,
        incoming: &ReceivedRequest,
        completed: Result<(), ApiError>,
    ) -> Response<Body> {
        let (mut response, warnings) = match completed {
            Ok(()) => contained(|| {
                route::handle(&Exchange {
                    registry: &self.registry,
                    users: &self.users,
                    incoming,
                    warnings: RefCell::default(),
                })
            }),
            Err(error) => (respond::error(&error, None), Vec::new()),
        };
        respond::finish(&mut response, &warnings);
        response
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let received = self.registry.now();
        let (parts, body) = request.into_parts();
        let mut incoming = ReceivedRequest {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            headers: parts.headers,
            body: Bytes::new(),
            user: User::default(),
        };
        let sender = self.authenticated(&incoming.headers);
        let user = sender
            .as_ref()
            .ok()
            .filter(|_| self.audit.is_some())
            .cloned();
        let completed = self.complete(&mut incoming, sender, body).await;
        let mut response = stack::with_room(|| {
            let response = self.handle(&incoming, completed);
            if let Some(log) = &self.audit {
                log.log(&audit::AuditedResponse {
                    incoming: &incoming,
                    uri: &parts.uri,
                    user: user.as_ref(),
                    response: &response,
                    received,
                    now: self.registry.now(),
                });
            }
            response
        });
        if incoming.method == Method::HEAD {
            *response.body_mut() = http_body_util::Empty::new().boxed_unsync();
        }
        response
    }
}

/// Returns a 500 if the handler panics, as the real server does, so that other requests continue.
fn contained(
    handle: impl FnOnce() -> outcome::ResponseWithWarnings,
) -> outcome::ResponseWithWarnings {
    catch_unwind(AssertUnwindSafe(handle)).unwrap_or_else(|_| {
        tracing::error!("a request caused a panic");
        let why = "This request caused apiserver to panic. Look in the logs for details.";
        (respond::error(&ApiError::internal(why), None), Vec::new())
    })
}

/// Reads the whole body.
async fn collected<B>(body: B) -> Result<Bytes, ApiError>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let collected = tokio::select! {
        biased;
        collected = Limited::new(body, BODY_LIMIT).collect() => collected,
        () = clock::sleep(BODY_TIME) => {
            let message = "Timeout: request did not complete within the allotted time";
            return Err(ApiError::request_timeout(message));
        }
    };
    match collected {
        Ok(body) => Ok(body.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            Err(ApiError::too_large(message))
        }
        Err(why) => Err(ApiError::bad_request(why.to_string())),
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let (response, _) = contained(|| panic!("a test's"));
        assert_eq!(response.status(), 500);
        let (response, _) = contained(|| (respond::text(200, "ok"), Vec::new()));
        assert_eq!(response.status(), 200);
    }
}
