//! Converts between script values and JSON.
//!
//! | script | JSON |
//! |---|---|
//! | `()` | `null` |
//! | int; a float that is whole and exact (`6 / 2.0`) | a number without point: fields of type integer take no `3.0` |
//! | float | a number; not a number and infinity are errors |
//! | string, char | a string |
//! | array | an array |
//! | map | an object, keys sorted by bytes |
//! | a blob, a function, a range, any other type | an error with the path of the value |
//!
//! A number that does not fit into a signed 64-bit integer becomes a float.

mod error;
mod read;
mod write;

pub use error::Error;
pub use read::{from_json, to_dynamic};
pub use write::{to_value, write_json};
