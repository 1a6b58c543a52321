//! Digests and random values.

use md5::Md5;
use rand::distr::{Alphanumeric, SampleString};
use rhai::Blob;
use rhai::plugin::{Module, export_module, exported_module};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{HostResult, invalid};

/// Longer ones have no use, and a slip of the finger should not fill the memory.
const MAX_PASSWORD_LENGTH: i64 = 4096;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// The SHA-256 digest of a text or a blob, as 64 hexadecimal digits.
    ///
    /// Its usual place is a Pod template's annotation, so that Pods are rolled when a `ConfigMap`
    /// changes.
    ///
    /// - `value`: a string (its UTF-8 bytes) or a blob.
    ///
    /// ```rhai
    /// assert(sha256("abc").starts_with("ba7816bf8f01cfea"));
    /// ```
    #[rhai_fn(name = "sha256")]
    pub fn sha256_text(value: &str) -> String {
        hex::<Sha256>(value.as_bytes())
    }

    #[rhai_fn(name = "sha256")]
    pub fn sha256_blob(value: Blob) -> String {
        hex::<Sha256>(&value)
    }

    /// The SHA-1 digest of a text or a blob, as 40 hexadecimal digits. Not for security.
    ///
    /// - `value`: a string (its UTF-8 bytes) or a blob.
    ///
    /// ```rhai
    /// assert(sha1("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    /// ```
    #[rhai_fn(name = "sha1")]
    pub fn sha1_text(value: &str) -> String {
        hex::<Sha1>(value.as_bytes())
    }

    #[rhai_fn(name = "sha1")]
    pub fn sha1_blob(value: Blob) -> String {
        hex::<Sha1>(&value)
    }

    /// Returns the MD5 digest of a text or a blob, as 32 hexadecimal digits. Do not use it for security.
    ///
    /// - `value`: a string (its UTF-8 bytes) or a blob.
    ///
    /// ```rhai
    /// assert(md5("abc") == "900150983cd24fb0d6963f7d28e17f72");
    /// ```
    #[rhai_fn(name = "md5")]
    pub fn md5_text(value: &str) -> String {
        hex::<Md5>(value.as_bytes())
    }

    #[rhai_fn(name = "md5")]
    pub fn md5_blob(value: Blob) -> String {
        hex::<Md5>(&value)
    }

    /// Returns a new random password of letters and digits, from the system's secure source.
    ///
    /// Each call returns another one. Store the password in a Secret with `ensure_secret`.
    ///
    /// - `length`: 1 to 4096. Each character has almost 6 bits of entropy.
    ///
    /// Errors: `invalid` when the length is out of range.
    ///
    /// ```rhai
    /// assert(random_password(24).len == 24);
    /// assert(random_password(24) != random_password(24));
    /// ```
    #[rhai_fn(volatile, return_raw)]
    pub fn random_password(length: i64) -> HostResult<String> {
        match usize::try_from(length) {
            Ok(count) if (1..=MAX_PASSWORD_LENGTH).contains(&length) => {
                Ok(Alphanumeric.sample_string(&mut rand::rng(), count))
            }
            _ => Err(invalid(format!(
                "length: expected 1 to {MAX_PASSWORD_LENGTH}, found {length}"
            ))),
        }
    }
}

/// A digest in lower-case hexadecimal digits.
pub(super) fn hex<D: Digest>(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut text = String::new();
    for byte in D::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
