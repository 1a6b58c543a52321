//! A role's permissions, held inside the process beside the cluster's RBAC.

/// What a role may do.
pub struct Fence {
    role: String,
    #[expect(clippy::type_complexity, reason = "one use")]
    allows: Box<dyn Fn(&str, &str, &str) -> bool + Send + Sync>,
}

impl Fence {
    /// The fence of a role; `allows` is asked with API group, resource (`deployments`,
    /// `deployments/scale`) and verb as in RBAC.
    pub fn new(
        role: &str,
        allows: impl Fn(&str, &str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            role: role.to_owned(),
            allows: Box::new(allows),
        }
    }
}
