//! Sequences of requests in YAML files: the conformance tests send them as they are, the fuzz tests with
//! changes.

mod parts;
mod sequence;
mod variables;

pub use parts::{RequestParts, parts};
pub use sequence::{Sequence, Step, Watch, load};
pub use variables::Variables;
