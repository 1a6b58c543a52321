//! Versions: `semver_compare`, `semver_matches`.

use std::cmp::Ordering;

use rhai::plugin::{Module, export_module, exported_module};
use semver::{Version, VersionReq};

use super::{HostResult, invalid};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Compares two versions: -1, 0 or 1 as `a` is older than, as old as, or newer than `b`.
    ///
    /// A leading `v` and missing parts are forgiven (`v1.2` is `1.2.0`); build metadata (`+k3s1`)
    /// does not count.
    ///
    /// - `a`, `b`: semantic versions.
    ///
    /// Errors: `invalid` when one is not a version.
    ///
    /// ```rhai
    /// assert(semver_compare("1.9.0", "1.10.0") == -1);
    /// assert(semver_compare("v1.36", "1.36.0+k3s1") == 0);
    /// assert(semver_compare("2.0.0", "2.0.0-rc.1") == 1);
    /// ```
    #[rhai_fn(return_raw)]
    pub fn semver_compare(a: &str, b: &str) -> HostResult<i64> {
        Ok(match version(a)?.cmp_precedence(&version(b)?) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }

    /// Returns whether a version is in a range.
    ///
    /// - `version`: a semantic version, with the forgiveness of `semver_compare`.
    /// - `range`: comparisons joined by commas: `>=1.30, <2`, `^1.2`, `~1.2.3`, `1.*`. A
    ///   pre-release is in a range only if the range names a pre-release of the same version.
    ///
    /// Errors: `invalid` when one cannot be read.
    ///
    /// ```rhai
    /// assert(semver_matches("v1.36.1", ">=1.30, <2"));
    /// assert(!semver_matches("1.3.0", "~1.2"));
    /// ```
    #[rhai_fn(return_raw)]
    pub fn semver_matches(version: &str, range: &str) -> HostResult<bool> {
        let range = VersionReq::parse(range)
            .map_err(|error| invalid(format!("`{range}` is not a range of versions: {error}")))?;
        Ok(range.matches(&super::version(version)?))
    }
}

/// A version, read with forgiveness.
fn version(text: &str) -> HostResult<Version> {
    let bare = text.trim().trim_start_matches('v');
    let (numbers, rest) = bare.split_at(bare.find(['-', '+']).unwrap_or(bare.len()));
    let missing = 2_usize.saturating_sub(numbers.matches('.').count());
    Version::parse(&format!("{numbers}{}{rest}", ".0".repeat(missing)))
        .map_err(|error| invalid(format!("`{text}` is not a version: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_forgiveness() {
        for (text, expected) in [
            ("1", "1.0.0"),
            ("v1.2", "1.2.0"),
            (" 1.2.3 ", "1.2.3"),
            ("1.2-rc.1", "1.2.0-rc.1"),
            ("v1.36.1+k3s1", "1.36.1+k3s1"),
        ] {
            assert_eq!(version(text).expect(text).to_string(), expected);
        }
    }

    #[test]
    fn invalid_versions_are_refused() {
        for text in ["", "v", "latest", "1.2.3.4", "1..2", "01.2.3", "1.x"] {
            assert!(version(text).is_err(), "{text}");
        }
    }
}
