//! Requests the permissions of this process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::Cluster;
use super::error::{Error, ErrorKind, Target};
use super::request::WriteOptions;
use super::rules::{Rules, parse};
use crate::clock;
use crate::model::Gvk;

/// No namespace is called so: the rules of a review in it are those that hold in every namespace.
const NO_NAMESPACE: &str = "rhai-operator-none";

/// The time for which a review is valid. Permissions change seldom, and requests after a start come within it.
const KEPT: Duration = Duration::from_mins(1);

impl Cluster {
    /// Requests the rules of this process in a namespace, or in every one.
    pub async fn rules(&self, namespace: Option<&str>) -> Result<Arc<Rules>, Error> {
        let reviews = &self.shared.reviews.0;
        if let Some((asked, rules)) = reviews.lock().get(&namespace.map(Arc::from))
            && asked.elapsed() < KEPT
        {
            return Ok(Arc::clone(rules));
        }
        let gvk = Gvk::new("authorization.k8s.io", "v1", "SelfSubjectRulesReview");
        let review = json!({
            "apiVersion": gvk.api_version(), "kind": &*gvk.kind,
            "spec": {"namespace": namespace.unwrap_or(NO_NAMESPACE)},
        });
        let body = Bytes::from(review.to_string());
        let options = WriteOptions::default();
        let answer = self.create(&gvk, None, body, &options).await?;
        // Without rules, children would be neither found nor deleted.
        let rules = parse(answer.object.json()).map_err(|cause| malformed(&gvk, &cause))?;
        let rules = Arc::new(rules);
        let entry = (clock::now(), Arc::clone(&rules));
        reviews.lock().insert(namespace.map(Arc::from), entry);
        Ok(rules)
    }
}

fn malformed(gvk: &Gvk, cause: &serde_json::Error) -> Error {
    let message = format!("cannot read the {}: {cause}", gvk.kind);
    let target = Target {
        verb: "create",
        resource: gvk.kind_group(),
        ..Target::default()
    };
    Error::local(ErrorKind::Malformed, message, target)
}
