//! The discovery documents below `/api` and `/apis`.
//!
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api>

mod aggregated;
mod group_versions;
mod legacy;

pub(crate) use aggregated::{AGGREGATED, aggregated};
pub(crate) use legacy::{core_versions, group, groups, resources};

use serde_json::{Value, json};

use self::group_versions::named_groups;
use super::resource::Catalogue;

/// Returns the document `/`, which lists the served paths.
pub(crate) fn paths(catalogue: &Catalogue) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in named_groups(catalogue) {
        paths.push(format!("/apis/{}", group.name));
        for version in &group.versions {
            paths.push(format!("/apis/{}/{version}", group.name));
        }
    }
    for path in [
        "healthz",
        "livez",
        "openapi/v2",
        "openapi/v3",
        "readyz",
        "version",
    ] {
        paths.push(format!("/{path}"));
    }
    paths.sort();
    json!({"paths": paths})
}
