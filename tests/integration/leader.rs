//! Several replicas, of which the leader writes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::api::coordination::v1::Lease;
use libtest_mimic::Trial;
use rhai_operator::clock;
use serde_json::json;

use crate::widgets::{MAKE_MAP, Widgets};
use test_harness::{Case, Mark, Operator, Project, Requests, SOON, eventually, throughout, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_standby_takes_over_from_a_killed_leader,
        a_leader_that_ends_hands_over_at_once,
        a_leader_that_was_stopped_writes_nothing_when_it_continues,
        a_leader_that_was_stopped_among_its_runs_repeats_no_write,
    ]
}

async fn replica(case: &Case, project: &Project) -> anyhow::Result<Operator> {
    let namespace = &case.namespace;
    let flags = ["--leader-elect", "--leader-election-namespace", namespace];
    Operator::builder(case, project).flags(flags).start().await
}

async fn holder(case: &Case) -> anyhow::Result<String> {
    let lease = case.objects::<Lease>().get("rhai-operator").await?;
    let holder = lease
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default();
    anyhow::ensure!(!holder.is_empty(), "the lease has no holder");
    Ok(holder)
}

async fn leads(case: &Case, operator: &Operator) -> anyhow::Result<()> {
    eventually(SOON, "a leader", || async {
        holder(case).await?;
        let metrics = operator.metrics().await?;
        let line = r#"leader_election_master_status{name="rhai-operator"} 1"#;
        anyhow::ensure!(metrics.contains(line), "a standby");
        Ok(())
    })
    .await
}

/// Returns the writes of a replica, except those of its lease.
fn work(requests: &Requests, operator: &Operator) -> Requests {
    let writes = requests.clone().by(&operator.user.name).writes();
    writes.filter(|request| request.object_ref.resource != "leases")
}

/// Checks in the audit log that the writes of two replicas do not interleave.
async fn one_after_the_other(
    case: &Case,
    mark: Mark,
    first: &Operator,
    second: &Operator,
) -> anyhow::Result<()> {
    let all = case.cluster.audit.since(mark).await?;
    // A refused request has changed nothing. SIGSTOP can cut a request off in the middle.
    let accepted = |operator| work(&all, operator).filter(|request| request.code() < 300);
    let (first, second) = (accepted(first), accepted(second));
    anyhow::ensure!(
        !first.0.is_empty() && !second.0.is_empty(),
        "both have worked"
    );
    let last = first.0.iter().map(|request| &request.answered).max();
    let next = second.0.iter().map(|request| &request.received).min();
    anyhow::ensure!(last < next, "{last:?} {next:?}");
    Ok(())
}

async fn a_standby_takes_over_from_a_killed_leader(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let mark = case.cluster.audit.mark().await?;
    let mut leader = replica(&case, &project).await?;
    leads(&case, &leader).await?;
    let standby = replica(&case, &project).await?;
    standby.ready().await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    leader.kill().await?;
    let killed = clock::now();
    widgets.make("b", "two").await?;
    widgets.is_done("b").await?;
    // The lease's 15 s, up to a spread retry period of the standby (4.4 s), and the run.
    assert!(clock::now() - killed < Duration::from_secs(35));
    one_after_the_other(&case, mark, &leader, &standby).await
}

async fn a_leader_that_ends_hands_over_at_once(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let mut leader = replica(&case, &project).await?;
    leads(&case, &leader).await?;
    let standby = replica(&case, &project).await?;
    standby.ready().await?;
    assert!(leader.terminate().await?.success());
    let ended = clock::now();
    leads(&case, &standby).await?;
    // The standby leads before the lease would have expired without its release.
    assert!(clock::now() - ended < Duration::from_secs(13));
    widgets.make("a", "one").await?;
    widgets.is_done("a").await
}

async fn a_leader_that_was_stopped_writes_nothing_when_it_continues(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let mark = case.cluster.audit.mark().await?;
    let mut leader = replica(&case, &project).await?;
    leads(&case, &leader).await?;
    let first = holder(&case).await?;
    widgets.make("a", "one").await?;
    widgets.is_done("a").await?;
    leader.signal("STOP").await?;
    let standby = replica(&case, &project).await?;
    eventually(SOON, "the standby to lead", || async {
        let now = holder(&case).await?;
        anyhow::ensure!(now != first, "the stopped one holds it");
        Ok(())
    })
    .await?;
    leads(&case, &standby).await?;
    widgets.merge("a", json!({"spec": {"text": "two"}})).await?;
    widgets.has_text("a", "two").await?;
    continues_without_a_write(&case, &mut leader).await?;
    throughout(Duration::from_secs(1), "the map to stay", || async {
        let text = widgets.text("a").await?;
        anyhow::ensure!(text == "two", "{text}");
        Ok(())
    })
    .await?;
    one_after_the_other(&case, mark, &leader, &standby).await
}

/// Continues a stopped replica that has lost its lease: it ends, and the server has no write from it.
async fn continues_without_a_write(case: &Case, leader: &mut Operator) -> anyhow::Result<()> {
    let mark = case.cluster.audit.mark().await?;
    leader.signal("CONT").await?;
    let status = leader.exited().await?;
    ensure!(status.code() == Some(1), "{status}");
    let requests = case.cluster.audit.since(mark).await?;
    // A request that the stop cut off reaches the server without its end, and fails.
    let written = work(&requests, leader)
        .filter(|request| request.code() < 300)
        .counted();
    ensure!(written.is_empty(), "written after the lease: {written:?}");
    let leases = requests.by(&leader.user.name).writes();
    let taken = leases.filter(|request| request.code() < 300).counted();
    ensure!(
        taken.is_empty(),
        "the lease of another replica is written: {taken:?}"
    );
    Ok(())
}

async fn a_leader_that_was_stopped_among_its_runs_repeats_no_write(
    case: Case,
) -> anyhow::Result<()> {
    const COUNT: usize = 200;
    let widgets = Widgets::define(&case).await?;
    let project = widgets.project(MAKE_MAP)?;
    let mark = case.cluster.audit.mark().await?;
    let mut leader = replica(&case, &project).await?;
    leads(&case, &leader).await?;
    let (first, standby) = (holder(&case).await?, replica(&case, &project).await?);
    let names: Vec<String> = (0..COUNT)
        .map(|number| format!("widget-{number}"))
        .collect();
    for (number, name) in names.iter().enumerate() {
        widgets.make(name, name).await?;
        if number == COUNT / 2 {
            leader.signal("STOP").await?;
        }
    }
    eventually(SOON, "the standby to lead", || async {
        let now = holder(&case).await?;
        ensure!(now != first, "the stopped one holds the lease");
        Ok(())
    })
    .await?;
    for name in &names {
        widgets.is_done(name).await?;
    }
    continues_without_a_write(&case, &mut leader).await?;
    let requests = case.cluster.audit.since(mark).await?;
    let mut maps = BTreeMap::<String, usize>::new();
    for request in [work(&requests, &leader), work(&requests, &standby)]
        .iter()
        .flat_map(|it| &it.0)
    {
        if request.object_ref.resource == "configmaps" && request.code() < 300 {
            *maps.entry(request.object_ref.name.clone()).or_default() += 1;
        }
    }
    ensure!(maps.len() == COUNT, "{} maps", maps.len());
    let repeated: Vec<_> = maps.iter().filter(|(_, count)| **count > 1).collect();
    ensure!(repeated.is_empty(), "written twice: {repeated:?}");
    one_after_the_other(&case, mark, &leader, &standby).await
}
