//! The API over HTTP: one service for sockets and for clients in the same process.

pub(crate) mod audit;
mod authenticate;
mod authorize;
mod certificates;
mod deletion;
mod exchange;
mod health;
mod negotiate;
mod openapi;
mod outcome;
mod path;
mod query;
mod representation;
mod respond;
mod route;
mod serve;
mod service;
mod strategy;
mod stream;
mod subresource;
mod trust;
mod verbs;

pub use authenticate::Anonymous;
pub(crate) use authenticate::Users;
pub(crate) use certificates::Authority;
use exchange::{Exchange, ReceivedRequest};
pub use respond::Body;
pub use serve::Listening;
pub(crate) use serve::{serve, serve_tls};
pub use service::Service;
pub use trust::Trust;
