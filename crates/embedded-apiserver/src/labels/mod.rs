//! Label selectors of queries and of objects.

mod manifest;
mod query;
mod selector;

pub(crate) use self::query::parse;
pub(crate) use self::selector::LabelSelector;
