//! The words of the domain: pure values without IO, that every layer above speaks in.

pub mod access;
pub mod annotations;
pub mod condition;
pub mod duration;
pub mod field_selector;
pub mod field_set;
pub mod findings;
pub mod gvk;
pub mod holder;
pub mod json;
pub mod json_path;
pub mod object;
pub mod object_ref;
pub mod outcome;
pub mod owner;
pub mod parsed;
pub mod problem;
pub mod reason;
pub mod redact;
pub mod selector;
pub mod syntax;

pub use positioned_yaml as yaml;

pub use condition::Condition;
pub use gvk::Gvk;
pub use holder::Holder;
pub use object::Object;
pub use object_ref::ObjectRef;
pub use outcome::Outcome;
pub use parsed::Parsed;
pub use problem::Problem;
pub use reason::Reason;
pub use redact::{PublicText, Redactor};
