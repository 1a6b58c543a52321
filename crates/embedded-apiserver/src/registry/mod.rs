//! The rules of the API: the checks and changes of each request, and the controllers.
//!
//! There is one lock. A write holds it from reading the live object until every controller has handled the
//! resulting events. So a later read sees all consequences of the write.

mod admission;
mod allocate;
mod controller;
mod controller_writes;
mod conversion;
mod create;
mod decode;
mod definitions;
mod delete;
mod encode;
mod identity;
mod list;
mod metadata;
mod owners;
mod ownership;
mod patch;
mod pipeline;
mod pod_admission;
mod pods;
mod policies;
mod quota;
mod request;
pub(crate) mod scale;
mod shape;
mod store_lock;
mod strategy;
mod syntax;
mod token;
mod transaction;
mod update;
mod watch;

pub(crate) use controller::Controller;
pub(crate) use decode::decode;
pub(crate) use delete::{DeleteOptions, Preconditions, Propagation, delete, delete_collection};
pub(crate) use list::{ListOptions, ListResponse, Match, get, list, too_large};
pub(crate) use patch::patch;
pub(crate) use pods::{bind, evict};
pub(crate) use quota::{QUOTAS, quota_status};
pub(crate) use request::{
    FieldValidation, Media, ObjectResponse, PatchType, ResourceRequest, WriteOptions,
};
pub(crate) use store_lock::Registry;
pub(crate) use token::{IssuedToken, issue};
pub(crate) use transaction::Transaction;
pub(crate) use watch::{Watch, WatchEvent, WatchOptions};

pub(crate) use create::{create, owned};
pub(crate) use update::update;
