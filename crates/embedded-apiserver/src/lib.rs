//! A Kubernetes API server as a value, for tests and development without a cluster.
//!
//! The README contains an example. Objects are `serde_json::Value`s in one store with one revision
//! counter. Controllers (garbage collection, namespaces, the simulation of workloads) run after each
//! commit and before the response, so a test sees their results at once.
//!
//! Architecture invariant: this crate imports nothing of an operator, so that a bug is not on both sides
//! of a test.
//!
//! # Layout
//!
//! | module | purpose |
//! |---|---|
//! | `store` | the objects, their revisions and their events |
//! | `resource` | the served groups, versions and kinds |
//! | `names` | checks of names, labels, keys and ports |
//! | `labels` | label selectors |
//! | `select` | the selection of lists and watches, by labels and fields |
//! | `schema` | types of built-in kinds, from a data file, and of custom resources |
//! | `patch`, `apply` | patches, server-side apply and field ownership |
//! | `openapi`, `discovery`, `table` | documents and tables for clients |
//! | `builtin`, `crd` | defaults and validation of built-in kinds, and of custom resources |
//! | `access` | RBAC and access reviews |
//! | `policy` | admission policies: rules that refuse or change writes |
//! | `registry` | the write pipeline, with a strategy per kind of resource |
//! | `aggregation`, `garbage`, `namespace`, `quota`, `simulation` | controllers |
//! | `saved_state` | all objects as a document |
//! | `string_checks` | patterns and formats of strings, for other programs |
//! | `http` | requests and responses, over sockets and in process |

mod access;
mod aggregation;
mod apply;
mod bootstrap;
mod builtin;
mod crd;
mod discovery;
mod error;
mod fields;
mod garbage;
mod go;
mod http;
mod labels;
mod names;
mod namespace;
mod openapi;
mod patch;
mod policy;
mod protobuf;
mod quota;
mod registry;
mod resource;
mod saved_state;
mod schema;
mod select;
pub mod simulation;
mod stack;
mod store;
pub mod string_checks;
mod table;
mod user;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

pub use self::http::audit::Log as AuditLog;
pub use self::http::{Anonymous, Body, Listening, Service, Trust};
pub use self::resource::{BuiltinResource, builtin_resources};
pub use self::saved_state::InvalidState;
pub use self::user::User;

use self::aggregation::Aggregator;
use self::garbage::Collector;
use self::http::{Authority, Users};
use self::namespace::Namespaces;
use self::quota::QuotaCounter;
use self::registry::{Controller, Registry};
use self::simulation::Simulation;
pub use clock::Clock;

/// The number of events of each resource that a watch can continue from. The watch cache of the real server
/// has between 100 and 102,400.
const HISTORY: usize = 4096;

/// The version of Kubernetes that this server behaves like.
const VERSION: &str = "v1.36.3";

/// The options of an [`ApiServer`].
pub struct Options {
    /// The clock of the objects and controllers.
    pub clock: Clock,
    /// The user of requests without credentials.
    pub anonymous: Anonymous,
    /// The number of events of each resource that a watch can continue from.
    pub history: usize,
    /// Holds, delays and fails simulated workloads.
    pub simulation: simulation::Control,
    /// The audit log.
    pub audit: Option<AuditLog>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            anonymous: Anonymous::default(),
            history: HISTORY,
            simulation: simulation::Control::new(),
            audit: None,
        }
    }
}

/// A Kubernetes API server in this process. Clones are handles of one server.
///
/// # Guarantees
///
/// Controllers react to each write before the server responds to it. Delayed work, such as a Pod that becomes
/// ready after a second, runs in [`ApiServer::drive`], or in [`ApiServer::settle`] after the clock has
/// advanced.
#[derive(Clone, Debug)]
pub struct ApiServer {
    registry: Arc<Registry>,
    users: Arc<Users>,
    /// Absent if the machine has no random numbers.
    authority: Option<Arc<Authority>>,
    audit: Option<Arc<AuditLog>>,
}

impl ApiServer {
    /// Returns a server with the objects of an empty cluster.
    pub fn new(options: Options) -> Self {
        let Options {
            clock,
            anonymous,
            history,
            simulation,
            audit,
        } = options;
        let authority = Authority::new().ok().map(Arc::new);
        let root_ca = authority.as_deref().map(Authority::pem);
        let controllers: Vec<Box<dyn Controller>> = vec![
            Box::new(Aggregator::default()),
            Box::new(Collector::new()),
            Box::new(QuotaCounter),
            Box::new(Namespaces::new(root_ca.unwrap_or_default())),
            Box::new(Simulation::new(simulation)),
        ];
        let server = Self {
            registry: Arc::new(Registry::new(clock, history, controllers)),
            users: Arc::new(Users::new(anonymous)),
            authority,
            audit: audit.map(Arc::new),
        };
        server.registry.write(bootstrap::create);
        server.registry.forget_history();
        server
    }

    /// Returns a client in this process, as an administrator in the namespace `default`.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`kube::Client::new`] does.
    pub fn client(&self) -> kube::Client {
        self.client_as(User::admin())
    }

    /// Returns a client in this process, as a user in the namespace `default`.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`kube::Client::new`] does.
    pub fn client_as(&self, user: User) -> kube::Client {
        kube::Client::new(self.service_as(user), "default")
    }

    /// Returns the service for requests of one user. It ignores their credentials.
    pub fn service_as(&self, user: User) -> Service {
        self.service().for_user(user)
    }

    /// Returns the service for requests that contain their credentials.
    pub fn service(&self) -> Service {
        let audit = self.audit.as_ref().map(Arc::clone);
        Service::new(Arc::clone(&self.registry), Arc::clone(&self.users), audit)
    }

    /// Serves plain HTTP on a listener until the value is dropped.
    pub fn serve(&self, listener: TcpListener) -> io::Result<Listening> {
        http::serve(&self.service(), listener, None)
    }

    /// Serves plain HTTP to one user on a listener until the value is dropped. It ignores credentials.
    pub fn serve_as(&self, user: User, listener: TcpListener) -> io::Result<Listening> {
        http::serve(&self.service_as(user), listener, None)
    }

    /// Serves HTTPS on a listener until the value is dropped.
    ///
    /// The server's own authority signs its certificate: see [`Listening::authority`]. With `trust`, clients
    /// can authenticate with certificates.
    pub fn serve_tls(&self, listener: TcpListener, trust: Option<Trust>) -> io::Result<Listening> {
        let authority = self.authority.as_deref();
        let authority = authority.ok_or_else(|| io::Error::other("no random numbers"))?;
        http::serve_tls(&self.service(), listener, authority, trust)
    }

    /// Returns all objects, and the revision, as a JSON document.
    pub fn save(&self) -> String {
        saved_state::save(&self.registry)
    }

    /// Loads the objects of a document that [`Self::save`] returned. They replace objects of the same names.
    pub fn load(&self, saved: &str) -> Result<(), InvalidState> {
        saved_state::load(&self.registry, saved)
    }

    /// Adds a bearer token of a user.
    pub fn add_token(&self, token: &str, user: User) {
        self.users.insert(token, user);
    }

    /// Runs the controllers until they have no work before the clock advances.
    pub fn settle(&self) {
        self.registry.settle();
    }

    /// Runs the delayed work of the controllers when it is due. Never returns.
    pub async fn drive(self) {
        loop {
            let now = self.registry.now();
            let wait = match self.registry.next_due() {
                Some(due) if due <= now => {
                    self.settle();
                    Duration::ZERO
                }
                Some(due) => due.duration_since(now).unsigned_abs(),
                // `rescheduled` ends this wait when a controller schedules new work.
                None => Duration::from_hours(1),
            };
            tokio::select! {
                () = clock::sleep(wait) => {}
                () = self.registry.rescheduled() => {}
            }
        }
    }
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
