//! A kill of the operator while it reconciles a thousand custom resources.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::ListParams;
use libtest_mimic::Trial;
use test_harness::{Case, Operator, Requests, eventually, trials};

use crate::widgets::{MAKE_MAP, Widgets};

pub(crate) fn tests() -> Vec<Trial> {
    trials![a_kill_among_a_thousand_custom_resources_repeats_no_write_and_loses_none]
}

const COUNT: usize = 1_000;
/// The number of applied children at which the operator is killed.
const KILLED_AT: usize = 300;
/// The API server makes about two hundred writes a second, and each custom resource needs two.
const DEADLINE: Duration = Duration::from_mins(5);
/// Requests of the test at a time.
const CONCURRENT_REQUESTS: usize = 16;

fn name(number: usize) -> String {
    format!("widget-{number:04}")
}

async fn a_kill_among_a_thousand_custom_resources_repeats_no_write_and_loses_none(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    stream::iter(0..COUNT)
        .map(|number| {
            let widgets = &widgets;
            async move {
                widgets
                    .make(&name(number), &number.to_string())
                    .await
                    .map(drop)
            }
        })
        .buffer_unordered(CONCURRENT_REQUESTS)
        .try_collect::<()>()
        .await?;
    let project = widgets.project(MAKE_MAP)?;
    let mark = case.cluster.audit.mark().await?;
    let mut first = Operator::builder(&case, &project).start().await?;
    eventually(DEADLINE, "children before the kill", || async {
        let applied = applied(&first).await?;
        ensure!(applied >= KILLED_AT, "{applied}");
        Ok(())
    })
    .await?;
    first.kill().await?;
    let killed = case.cluster.audit.since(mark).await?;
    let before = writes(&killed.by(&first.user.name), "configmaps", "");
    ensure!(
        before.len() >= KILLED_AT && before.len() < COUNT,
        "{} children existed at the kill",
        before.len()
    );
    let second = Operator::builder(&case, &project).start().await?;
    eventually(DEADLINE, "all to be reconciled", || all_are_done(&widgets)).await?;
    let requests = case.cluster.audit.since(mark).await?;
    let of_both = requests.filter(|request| {
        [&first.user.name, &second.user.name].contains(&&request.user().to_owned())
    });
    for (resource, subresource) in [("configmaps", ""), ("widgets", "status")] {
        let writes = writes(&of_both, resource, subresource);
        // The kill cuts requests off. The server does not log their result, although it can have stored them.
        let answered_or_cut = targets(&of_both, resource, subresource);
        ensure!(
            answered_or_cut.len() == COUNT,
            "{resource}: {} objects",
            answered_or_cut.len()
        );
        let repeated: Vec<_> = writes.iter().filter(|(_, count)| **count > 1).collect();
        ensure!(
            repeated.is_empty(),
            "{resource} written twice: {repeated:?}"
        );
    }
    Ok(())
}

/// Returns the number of applies that the operator has counted.
async fn applied(operator: &Operator) -> anyhow::Result<usize> {
    let metrics = operator.metrics().await?;
    let counter = r#"applies_total{action="created"}"#;
    let line = metrics.lines().find(|line| line.contains(counter));
    let count = line.and_then(|line| line.rsplit(' ').next());
    Ok(count.context("no apply yet")?.parse()?)
}

/// Returns the names of the objects of a resource that requests wrote, or tried to write.
fn targets(requests: &Requests, resource: &str, subresource: &str) -> BTreeSet<String> {
    let requests = requests.clone().writes().0.into_iter();
    requests
        .map(|request| request.object_ref)
        .filter(|object| object.resource == resource && object.subresource == subresource)
        .map(|object| object.name)
        .collect()
}

/// Counts the successful writes of each object of a resource, by its name.
fn writes(requests: &Requests, resource: &str, subresource: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in &requests.clone().writes().0 {
        let object = &request.object_ref;
        if object.resource == resource && object.subresource == subresource && request.code() < 300
        {
            *counts.entry(object.name.clone()).or_default() += 1;
        }
    }
    counts
}

/// Checks that each widget is ready, and that its child is complete and belongs to it.
async fn all_are_done(widgets: &Widgets) -> anyhow::Result<()> {
    let all = ListParams::default();
    let objects = widgets.api.list(&all).await?.items;
    ensure!(objects.len() == COUNT, "{} widgets", objects.len());
    let maps = widgets.maps().list(&all).await?.items.into_iter();
    let maps: BTreeMap<String, ConfigMap> = maps.map(|map| (map.name_any(), map)).collect();
    for widget in &objects {
        let name = widget.name_any();
        let conditions = widget.data["status"]["conditions"].as_array();
        let is_ready = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["reason"] == "Reconciled");
        ensure!(is_ready, "{name}: {}", widget.data["status"]);
        let map = maps
            .get(&name)
            .with_context(|| format!("{name} has no map"))?;
        let text = map.data.as_ref().and_then(|data| data.get("text"));
        ensure!(
            text.map(String::as_str) == widget.data["spec"]["text"].as_str(),
            "{name}: {text:?}"
        );
        let is_owned = map
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == widget.uid().as_ref());
        ensure!(is_owned, "{name}: {:?}", map.metadata);
    }
    Ok(())
}
