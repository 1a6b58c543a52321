//! The body of a write, which fails if the write is no longer allowed when the connection reads it.
//!
//! A process that is stopped and continued may have lost its lease meanwhile. The body fails for a write
//! that was checked before the stop and is sent after it, so that the server gets no complete request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

/// An extension of a request that decides whether it may still be sent.
#[derive(Clone)]
pub(super) struct SendCondition(pub(super) Arc<dyn Fn() -> bool + Send + Sync>);

/// A body behind a check.
pub(super) struct GuardedBody<B> {
    body: B,
    may_send: Option<SendCondition>,
}

/// Puts the body of a request behind the check in its extensions.
pub(super) fn guard<B>(mut request: Request<B>) -> Request<GuardedBody<B>> {
    let may_send = request.extensions_mut().remove::<SendCondition>();
    request.map(|body| GuardedBody { body, may_send })
}

impl<B> Body for GuardedBody<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.may_send.as_ref().is_some_and(|may_send| !may_send.0()) {
            return Poll::Ready(Some(Err("the write deadline has passed".into())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
