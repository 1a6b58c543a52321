//! The custom kind `Widget`, and a role that makes a ConfigMap of it.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use test_harness::{Case, Crd, Operator, Project, SOON, eventually, throughout};

/// A script that applies a ConfigMap with `spec.text` and sets the status.
pub(crate) const MAKE_MAP: &str = r#"
    k8s_apply(#{
        apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name},
        data: #{text: spec.text},
    });
    set_status(#{text: spec.text, reason: reason});
"#;

/// Watches widgets with the role `widget`.
pub(crate) const WATCHES: &str = "- {group: '{group}', version: v1, kind: Widget, role: widget}\n";

/// The kind, as administrator.
pub(crate) struct Widgets {
    pub(crate) case: Case,
    pub(crate) api: Api<DynamicObject>,
    resource: ApiResource,
}

impl Widgets {
    pub(crate) async fn define(case: &Case) -> anyhow::Result<Self> {
        let resource = case.define(&Crd::new("Widget")).await?;
        Ok(Self::existing(case, resource))
    }

    /// The kind, defined or not.
    pub(crate) fn existing(case: &Case, resource: ApiResource) -> Self {
        Self {
            case: case.clone(),
            api: case.api(&resource),
            resource,
        }
    }

    pub(crate) fn project(&self, role: &str) -> anyhow::Result<Project> {
        Project::new(&self.case, WATCHES)?.with_role(&self.case, "widget", role)
    }

    /// A ready operator with this role.
    pub(crate) async fn operator(&self, role: &str) -> anyhow::Result<Operator> {
        let project = self.project(role)?;
        let operator = Operator::builder(&self.case, &project).start().await?;
        operator.ready().await?;
        Ok(operator)
    }

    pub(crate) async fn make(&self, name: &str, text: &str) -> anyhow::Result<DynamicObject> {
        self.make_with(name, json!({"spec": {"text": text}})).await
    }

    pub(crate) async fn make_with(
        &self,
        name: &str,
        mut more: Value,
    ) -> anyhow::Result<DynamicObject> {
        more["apiVersion"] = self.resource.api_version.clone().into();
        more["kind"] = self.resource.kind.clone().into();
        more["metadata"]["name"] = name.into();
        let object = serde_json::from_value(more)?;
        Ok(self.api.create(&PostParams::default(), &object).await?)
    }

    pub(crate) async fn merge(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        self.api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    pub(crate) async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.api.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        self.case.objects()
    }

    /// The text of a widget's map, once there is one.
    pub(crate) async fn text(&self, name: &str) -> anyhow::Result<String> {
        let map = self.maps().get(name).await?;
        map.data
            .and_then(|mut data| data.remove("text"))
            .context("no text")
    }

    pub(crate) async fn has_text(&self, name: &str, text: &str) -> anyhow::Result<()> {
        eventually(SOON, &format!("{text:?} in the map {name}"), || async {
            let seen = self.text(name).await?;
            anyhow::ensure!(seen == text, "{seen:?}");
            Ok(())
        })
        .await
    }

    /// Returns a condition.
    pub(crate) async fn condition(&self, name: &str, kind: &str) -> anyhow::Result<Value> {
        let widget = self.api.get(name).await?;
        let list = widget.data["status"]["conditions"].as_array().cloned();
        let found = list
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == kind);
        found.with_context(|| format!("no {kind}: {}", widget.data["status"]))
    }

    pub(crate) async fn has_condition(
        &self,
        name: &str,
        kind: &str,
        reason: &str,
    ) -> anyhow::Result<Value> {
        eventually(SOON, &format!("{kind} {reason} of {name}"), || async {
            let condition = self.condition(name, kind).await?;
            anyhow::ensure!(condition["reason"] == reason, "{condition}");
            Ok(condition)
        })
        .await
    }

    /// Waits until an object is reconciled in its current generation.
    pub(crate) async fn is_done(&self, name: &str) -> anyhow::Result<()> {
        // An API server discovers a new kind only every ten seconds. Until then it refuses owner references to it.
        eventually(2 * SOON, &format!("{name} to be reconciled"), || async {
            let widget = self.api.get(name).await?;
            let condition = self.condition(name, "Ready").await?;
            anyhow::ensure!(condition["reason"] == "Reconciled", "{condition}");
            let observed = condition["observedGeneration"].as_i64();
            anyhow::ensure!(observed == widget.metadata.generation, "{condition}");
            Ok(())
        })
        .await
    }

    pub(crate) async fn is_gone(&self, name: &str) -> anyhow::Result<()> {
        eventually(SOON, &format!("{name} to be gone"), || async {
            let left = self.api.get_opt(name).await?;
            anyhow::ensure!(left.is_none(), "{:?}", left.map(|left| left.metadata));
            Ok(())
        })
        .await
    }
}

/// The operator comes to rest: for a while it asks nothing but watches.
pub(crate) async fn comes_to_rest(
    case: &Case,
    operator: &Operator,
    period: Duration,
) -> anyhow::Result<()> {
    eventually(SOON, "the operator to rest", || async {
        let mark = case.cluster.audit.mark().await?;
        throughout(period, "a running operator", || async {
            operator.health_address().map(drop)
        })
        .await?;
        let requests = case
            .cluster
            .audit
            .since(mark)
            .await?
            .by(&operator.user.name);
        let counted = requests.without_watches().counted();
        anyhow::ensure!(counted.is_empty(), "{counted:?}");
        Ok(())
    })
    .await
}
