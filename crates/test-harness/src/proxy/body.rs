//! The body of an answer that a proxy passes on or makes.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a complete body.
pub(super) fn complete(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}
