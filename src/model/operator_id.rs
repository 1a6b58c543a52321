//! The identity of an operator, which its restarts and replicas share.

use std::fmt;
use std::hash::Hasher;
use std::path::Path;

use twox_hash::XxHash3_64;

/// The identity of an operator in its cluster, as a label value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorId(Box<str>);

/// The maximum length of a label value.
const LABEL: usize = 63;

impl OperatorId {
    /// Identifies an operator by its namespace, or that of its lease, and its name there.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self::joined(&[namespace, name])
    }

    /// Identifies an operator outside the cluster by its files, because nothing else distinguishes it from
    /// others.
    pub fn outside_cluster(namespace: &str, name: &str, files: &Path) -> Self {
        let files = files.to_string_lossy();
        Self::joined(&[namespace, name, &digest(&[&files])])
    }

    /// A namespace contains no dot, and the digest comes last, so the parts are unambiguous.
    fn joined(parts: &[&str]) -> Self {
        let text = parts.join(".");
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let ends_well = text.ends_with(|c: char| c.is_ascii_alphanumeric());
        if text.len() <= LABEL && text.chars().all(inner) && ends_well {
            Self(text.into())
        } else {
            Self(digest(parts).into())
        }
    }

    /// Returns the label value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn digest(parts: &[&str]) -> String {
    let mut hasher = XxHash3_64::new();
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write(&[0]);
    }
    format!("{:016x}", hasher.finish())
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_named_as_people_know_it() {
        assert_eq!(
            OperatorId::new("web-system", "web").as_str(),
            "web-system.web"
        );
    }

    #[test]
    fn an_identity_that_is_not_a_valid_label_becomes_a_digest() {
        for name in ["x".repeat(64).as_str(), "a/b", "ä", "dot.", ""] {
            let holder = OperatorId::new("n", name);
            assert_eq!(holder.as_str().len(), 16, "{name}");
            assert_ne!(holder, OperatorId::new("m", name));
        }
    }

    #[test]
    fn projects_outside_a_cluster_have_different_ids() {
        let of = |path| OperatorId::outside_cluster("default", "rhai-operator", Path::new(path));
        assert_eq!(of("/a/watches.yaml"), of("/a/watches.yaml"));
        assert_ne!(of("/a/watches.yaml"), of("/b/watches.yaml"));
        assert!(
            of("/a/watches.yaml")
                .as_str()
                .starts_with("default.rhai-operator.")
        );
    }
}
