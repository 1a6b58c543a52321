//! Domain values that all layers above use. They do no IO.

pub mod access;
pub mod annotations;
pub(crate) mod condition;
pub mod diagnostic;
pub(crate) mod diagnostics;
pub(crate) mod duration;
pub mod field_selector;
pub(crate) mod field_set;
pub(crate) mod gvk;
pub(crate) mod json;
pub(crate) mod json_path;
pub(crate) mod object;
pub(crate) mod object_ref;
pub(crate) mod operator_id;
pub(crate) mod outcome;
pub(crate) mod owner;
pub(crate) mod parsed_object;
pub(crate) mod reason;
pub(crate) mod redact;
pub mod selector;
pub(crate) mod syntax;

pub use positioned_yaml as yaml;

pub use condition::Condition;
pub use diagnostic::Diagnostic;
pub use gvk::Gvk;
pub use object::Object;
pub use object_ref::ObjectRef;
pub use operator_id::OperatorId;
pub use outcome::Outcome;
pub use parsed_object::ParsedObject;
pub use reason::Reason;
pub use redact::{PublicText, Redactor};
