//! Script values to JSON and back.
//!
//! | script | JSON |
//! |---|---|
//! | `()` | `null` |
//! | int; a float that is whole and exact (`6 / 2.0`) | a number without point: fields of type integer take no `3.0` |
//! | float | a number; not a number and infinity are errors |
//! | string, char | a string |
//! | array | an array |
//! | map | an object, keys sorted by bytes |
//! | a blob, a function, a range, any other type | an error that names the place |
//!
//! A number that does not fit 64 bits with sign becomes a float, as in every JSON reader of floats.

mod error;
mod read;
mod write;

pub use error::Error;
pub use read::{from_json, to_dynamic};
pub use write::{to_value, write_json};
