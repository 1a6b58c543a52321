//! Users and their groups.

use std::collections::BTreeMap;

/// A user that sends requests, as an authenticator of the real server identifies it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// `system:admin`
    pub name: String,
    /// The unique id, or an empty text.
    pub uid: String,
    /// `system:masters`, `system:authenticated`, ...
    pub groups: Vec<String>,
    /// Other attributes, such as the id of the credential.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The key of the credential in [`User::extra`]: <https://kep.k8s.io/4193>
    pub const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

    /// Returns an administrator, to whom RBAC allows everything.
    pub fn admin() -> Self {
        Self {
            name: "system:admin".to_owned(),
            groups: vec![
                "system:masters".to_owned(),
                "system:authenticated".to_owned(),
            ],
            ..Self::default()
        }
    }
}
