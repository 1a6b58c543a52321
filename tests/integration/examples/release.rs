//! Release: about a hundred objects of all scopes, stage by stage in, across versions, and out again.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, TypeMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde_json::json;

use super::example::{Example, built_in, is_owner_of, resource};
use test_harness::{Case, Mark, ObjectReference, Requests, eventually, trials};

/// A hundred objects on a busy machine.
const IN_TIME: Duration = Duration::from_mins(5);
const NAME: &str = "release";
const COMPONENTS: [&str; 6] = [
    "triggers",
    "chains",
    "results",
    "dashboard",
    "resolvers",
    "pruner",
];

pub(super) fn tests() -> Vec<Trial> {
    trials![is_installed_upgraded_reduced_and_removed]
}

/// One test, because the objects that are in no namespace are there once.
async fn is_installed_upgraded_reduced_and_removed(case: Case) -> anyhow::Result<()> {
    let resource = resource("operator.example.com", "Release");
    let releases = Example::shared(&case, resource.clone())
        .await?
        .cluster_scoped(&resource);
    let target = target(&case);
    let mark = case.cluster.audit.mark().await?;
    let spec = json!({"version": "v1.0.0", "targetNamespace": target, "components": COMPONENTS});
    releases.make_with(NAME, json!({"spec": spec})).await?;
    is_installed(&releases, "v1.0.0").await?;
    went_forward(&releases, mark).await?;
    let first = installed(&case).await?;
    anyhow::ensure!(first.len() > 90, "{} objects", first.len());
    let release = releases.api.get(NAME).await?;
    first
        .iter()
        .try_for_each(|object| is_owner_of(&release, object))?;
    releases
        .asks_nothing_in_a_second_run(NAME, |of| is_concerned(of, &target))
        .await?;
    let first = names(&first);

    releases
        .merge(NAME, json!({"spec": {"version": "v1.1.0"}}))
        .await?;
    is_installed(&releases, "v1.1.0").await?;
    is_upgraded(&case, &first).await?;

    let rest = json!({"spec": {"components": ["results"]}});
    releases.merge(NAME, rest).await?;
    is_reduced(&case, &releases).await?;

    let mark = case.cluster.audit.mark().await?;
    releases.delete(NAME).await?;
    eventually(IN_TIME, "the end of the Release", || async {
        let left = releases.api.get_opt(NAME).await?;
        let status = left.map(|left| left.data["status"].clone());
        anyhow::ensure!(status.is_none(), "{status:?}");
        Ok(())
    })
    .await?;
    went_backward(&releases, mark).await?;
    let left = names(&installed(&case).await?);
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}

/// Waits until all objects of a version are ready. The status must show that, and each phase before it.
async fn is_installed(releases: &Example, version: &str) -> anyhow::Result<()> {
    // A watch reports each phase, even a short one.
    let of_it = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
    let mut changes = pin!(watcher(releases.api.clone(), of_it).applied_objects());
    let mut phases = BTreeSet::new();
    let installed = async {
        while let Some(release) = changes.try_next().await? {
            let status = &release.data["status"];
            phases.extend(status["phase"].as_str().map(str::to_owned));
            if is_ready(&release) && status["version"] == version {
                return Ok(status.clone());
            }
        }
        anyhow::bail!("the watch ended")
    };
    let status = tokio::time::timeout(IN_TIME, installed)
        .await
        .with_context(|| format!("{version} is not ready"))??;
    assert!(phases.contains("workloads"), "{phases:?}");
    assert!(status["phase"].is_null(), "{status}");
    let progress = status["progress"].as_str().unwrap_or_default();
    let (applied, all) = progress.split_once('/').context("no progress")?;
    assert_eq!(applied, all, "{status}");
    Ok(())
}

fn is_ready(release: &DynamicObject) -> bool {
    let conditions = release.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "Ready"
            && condition["status"] == "True"
            && condition["observedGeneration"].as_i64() == release.metadata.generation
    })
}

/// Checks that the objects of the second version replaced those of the first.
async fn is_upgraded(case: &Case, first: &BTreeSet<String>) -> anyhow::Result<()> {
    let set = |names: &[&str]| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    let gone = set(&[
        "CustomResourceDefinition listeners.conveyor.example.com",
        "ServiceAccount conveyor-triggers-listener",
        "ConfigMap conveyor-core-leader-election",
        "ConfigMap conveyor-resolvers-bundles",
        "Deployment conveyor-triggers-listener",
        "Service conveyor-triggers-listener",
    ]);
    let new = set(&[
        "CustomResourceDefinition stepactions.conveyor.example.com",
        "ServiceAccount conveyor-core-events",
        "ConfigMap conveyor-core-events",
        "ConfigMap conveyor-results-archive",
        "Deployment conveyor-core-events",
        "Service conveyor-core-events",
    ]);
    eventually(IN_TIME, "the second version's objects", || async {
        let second = names(&installed(case).await?);
        let went: BTreeSet<_> = first.difference(&second).cloned().collect();
        let arrived: BTreeSet<_> = second.difference(first).cloned().collect();
        anyhow::ensure!(
            went == gone && arrived == new,
            "{went:?} went, {arrived:?} came"
        );
        Ok(())
    })
    .await
}

/// Checks that one component remains beside the core.
async fn is_reduced(case: &Case, releases: &Example) -> anyhow::Result<()> {
    eventually(IN_TIME, "the core and one component", || async {
        let release = releases.api.get(NAME).await?;
        anyhow::ensure!(is_ready(&release), "{}", release.data["status"]);
        let mut components = BTreeSet::new();
        for object in installed(case).await? {
            let labels = object.metadata.labels.unwrap_or_default();
            components.extend(labels.get("app.kubernetes.io/component").cloned());
        }
        let left: Vec<&str> = components.iter().map(String::as_str).collect();
        anyhow::ensure!(left == ["core", "results"], "{left:?}");
        Ok(())
    })
    .await
}

/// The resources of each stage.
const STAGES: [&[&str]; 4] = [
    &["namespaces", "customresourcedefinitions"],
    &[
        "serviceaccounts",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
    ],
    &["configmaps"],
    &["services", "deployments"],
];

/// Between the first and the last request about the objects of each stage.
async fn spans(
    releases: &Example,
    mark: Mark,
    verbs: &[&str],
) -> anyhow::Result<Vec<(String, String)>> {
    let target = target(&releases.case);
    let requests = releases
        .requests(mark, |of| is_concerned(of, &target))
        .await?
        .filter(|request| verbs.contains(&request.verb.as_str()) && request.code() < 300);
    STAGES.iter().map(|kinds| span(&requests, kinds)).collect()
}

fn span(requests: &Requests, kinds: &[&str]) -> anyhow::Result<(String, String)> {
    let of_stage = requests
        .0
        .iter()
        .filter(|request| kinds.contains(&&*request.object_ref.resource));
    let (first, last) = of_stage.fold((None, None), |(first, last), request| {
        let first = first.map_or(&request.received, |first: &String| {
            first.min(&request.received)
        });
        (Some(first), last.max(Some(&request.answered)))
    });
    let span = first.cloned().zip(last.cloned());
    span.with_context(|| format!("no request about {kinds:?}"))
}

/// Each stage was begun when the one before was through.
async fn went_forward(releases: &Example, mark: Mark) -> anyhow::Result<()> {
    let spans = spans(releases, mark, &["create", "patch"]).await?;
    assert!(
        spans.windows(2).all(|pair| pair[0].1 < pair[1].0),
        "{spans:?}"
    );
    Ok(())
}

/// Each stage was taken away when the one after it was gone.
async fn went_backward(releases: &Example, mark: Mark) -> anyhow::Result<()> {
    let spans = spans(releases, mark, &["delete"]).await?;
    assert!(
        spans.windows(2).all(|pair| pair[1].1 < pair[0].0),
        "{spans:?}"
    );
    Ok(())
}

/// Returns all objects of the product, in all namespaces.
async fn installed(case: &Case) -> anyhow::Result<Vec<DynamicObject>> {
    let kinds: [ApiResource; 10] = [
        built_in::<Namespace>(),
        built_in::<CustomResourceDefinition>(),
        built_in::<ServiceAccount>(),
        built_in::<Role>(),
        built_in::<RoleBinding>(),
        built_in::<ClusterRole>(),
        built_in::<ClusterRoleBinding>(),
        built_in::<ConfigMap>(),
        built_in::<Service>(),
        built_in::<Deployment>(),
    ];
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=conveyor");
    let mut all = Vec::new();
    for kind in &kinds {
        let api = Api::<DynamicObject>::all_with(case.cluster.client.clone(), kind);
        let found = api.list(&ours).await?.items.into_iter();
        all.extend(found.map(|object| DynamicObject {
            types: Some(TypeMeta {
                api_version: kind.api_version.clone(),
                kind: kind.kind.clone(),
            }),
            ..object
        }));
    }
    Ok(all)
}

/// Each object's kind and name.
fn names(objects: &[DynamicObject]) -> BTreeSet<String> {
    let name = |object: &DynamicObject| {
        let kind = object.types.as_ref().map_or("", |types| &types.kind);
        format!("{kind} {}", object.name_any())
    };
    objects.iter().map(name).collect()
}

/// Returns whether it is one of the product's objects, or the Release.
fn is_concerned(of: &ObjectReference, target: &str) -> bool {
    of.namespace == target
        || of.name == target
        || of.name == NAME
        || of.name.starts_with("conveyor-")
        || of.name.ends_with(".conveyor.example.com")
}

fn target(case: &Case) -> String {
    format!("{}-target", case.namespace)
}
