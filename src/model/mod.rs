//! Domain values that all layers above use. They do no IO.

pub mod access;
pub mod annotations;
pub mod condition;
pub mod diagnostic;
pub mod diagnostics;
pub mod duration;
pub mod field_selector;
pub mod field_set;
pub mod gvk;
pub mod json;
pub mod json_path;
pub mod object;
pub mod object_ref;
pub mod operator_id;
pub mod outcome;
pub mod owner;
pub mod parsed_object;
pub mod reason;
pub mod redact;
pub mod selector;
pub mod syntax;

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
