//! A request while the server handles it.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;

use super::authenticate::Users;
use super::query::Query;
use crate::registry::Registry;
use crate::user::User;

/// A request with its body and user.
pub(super) struct ReceivedRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Bytes,
    pub(super) user: User,
}

/// A request and the state of the server.
pub(super) struct Exchange<'a> {
    pub(super) registry: &'a Arc<Registry>,
    pub(super) users: &'a Users,
    pub(super) incoming: &'a ReceivedRequest,
    /// Warnings, which the response contains even if the request fails.
    pub(super) warnings: RefCell<Vec<String>>,
}
