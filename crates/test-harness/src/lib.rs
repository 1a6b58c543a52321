//! Clusters, users, operators and faulty networks for the tests of this workspace.
//!
//! An integration test is an `async fn(Case) -> anyhow::Result<()>` that [`trials!`] lists: once for a
//! real Kubernetes and once for the embedded API ([`Environment`]). Its [`Case`] has a namespace and an
//! API group of its own on the [`Cluster`] that all tests of the environment share. A case makes users
//! ([`User`]), operators ([`Operator`], the real binary as a process) and proxies that inject faults
//! ([`Proxy`]). A test does not sleep: [`eventually`] waits for a condition with a deadline,
//! [`throughout`] checks that a condition holds for a period.
//!
//! | module | contents |
//! |---|---|
//! | [`suite`] | trials, and the `main` function of a test binary |
//! | [`requests`] | the format of the conformance requests, which the fuzz tests change |
//! | [`edit`] | random edits of texts, for fuzz tests |
//! | [`programs`] | client programs in Go and Python |
//! | [`run_folder`], [`supervisor`] | the files and processes of a run |

#![expect(
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    reason = "a panic fails the test, and a builder without a use is found by reading the test"
)]

mod audit;
mod case;
mod certificate;
mod cluster;
mod crd;
pub mod edit;
mod embedded;
mod environment;
mod folder;
mod kubectl;
mod operator;
pub mod programs;
mod project;
mod proxy;
pub mod requests;
pub mod run_folder;
pub mod suite;
pub mod supervisor;
mod user;
mod wait;

pub use audit::{AuditLog, Mark, ObjectReference, Request, Requests};
pub use case::Case;
pub use certificate::{Certificate, Signer};
pub use cluster::{Cluster, client};
pub use crd::Crd;
pub use environment::{Environment, PerEnvironment};
pub use folder::copy_folder;
pub use kubectl::MissingTool;
pub use operator::{Operator, OperatorBuilder, is_operator_process};
pub use project::Project;
pub use proxy::{Fault, Proxy, Rule};
pub use suite::Suite;
pub use user::User;
pub use wait::{SOON, eventually, throughout};
