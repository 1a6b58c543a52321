//! A campaign: batches of hostile custom resources, each with a batch of harmless ones before it, and what
//! must hold after each.

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::api::{Api, Created, ObjectSummary, Owner};
use super::bystander::Bystander;
use super::cases::{Case, Kind};
use super::cluster::{self, Namespaces, Snapshot, in_namespace};
use super::oracle::{Oracle, Secrets};
use super::report::{Report, short};
use super::values::Hostile;
use super::wait;

/// Hostile custom resources of a batch, and harmless ones before it.
const BATCH: usize = 100;
const HARMLESS: usize = 25;
/// Requests of the tenant at a time.
const AT_ONCE: usize = 8;

/// A campaign: hostile values in the fields of custom resources of some kinds.
pub(crate) struct Campaign<O> {
    pub(crate) api: Api,
    pub(crate) namespaces: Namespaces,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) widget: Kind,
    /// True if no other test uses the cluster. The campaign then compares cluster-scoped objects and all
    /// namespaces too.
    pub(crate) is_alone: bool,
    pub(crate) operator: O,
}

/// The operator under test, as a campaign observes it.
pub(crate) trait Operator {
    /// The error says that it is not alive, or not well.
    async fn is_well(&self) -> anyhow::Result<()>;
    /// All texts that it has written for people: log and metrics.
    async fn texts(&self) -> anyhow::Result<String>;
}

/// A custom resource of a batch.
struct Member {
    name: String,
    path: String,
    uid: String,
    case: Case,
    /// True if the custom resource is created with a harmless value, and updated to the hostile one later.
    is_late: bool,
}

impl<O: Operator> Campaign<O> {
    /// Runs the cases; the error lists all violations.
    pub(crate) async fn run(&self, cases: &[Case]) -> anyhow::Result<()> {
        let bystander = Bystander::default();
        let api = self.api.clone();
        let namespace = self.namespaces.bystander.clone();
        let changing = bystander
            .clone()
            .change(api, self.widget.clone(), namespace);
        let mut report = Report::default();
        tokio::select! {
            done = self.batches(cases, &bystander, &mut report) => {
                done.with_context(|| report.to_text())?;
            }
            ended = changing => {
                ended.with_context(|| report.to_text())?;
            }
        }
        match bystander.evaluate() {
            Ok(told) => println!("{told}"),
            Err(slow) => report.violation("all", slow),
        }
        println!(
            "{} custom resources, {} refused by the server",
            report.made, report.refused
        );
        ensure!(report.is_empty(), "{}", report.to_text());
        Ok(())
    }

    async fn batches(
        &self,
        cases: &[Case],
        bystander: &Bystander,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let mut oracle = Oracle::default();
        let all: Vec<Case> = (0..self.kinds.len())
            .map(|kind| self.harmless(kind))
            .collect();
        self.batch("sample", &all, &mut oracle, report).await?;
        oracle.learned();
        for (number, hostile) in cases.chunks(BATCH).enumerate() {
            let harmless = hostile.iter().take(HARMLESS);
            let harmless: Vec<Case> = harmless.map(|case| self.harmless(case.kind)).collect();
            bystander.attack(false);
            self.batch(&format!("quiet-{number}"), &harmless, &mut oracle, report)
                .await?;
            bystander.attack(true);
            self.batch(&format!("case-{number}"), hostile, &mut oracle, report)
                .await?;
        }
        Ok(())
    }

    /// A case that changes nothing.
    fn harmless(&self, kind: usize) -> Case {
        let value = self.kinds[kind].sample["spec"].clone();
        Case {
            kind,
            field: "/spec".to_owned(),
            hostile: Hostile {
                name: "sample".to_owned(),
                value,
            },
        }
    }

    async fn batch(
        &self,
        prefix: &str,
        cases: &[Case],
        oracle: &mut Oracle,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        cluster::make_decoys(&self.api, &self.namespaces).await?;
        let before = self.snapshot().await?;
        let members = self.make(prefix, cases, report).await?;
        self.have_answered(&members, report).await?;
        for member in members.iter().filter(|member| member.is_late) {
            self.attack(member, report).await?;
        }
        self.have_answered(&members, report).await?;
        let during = self.snapshot().await?;
        let uids = members
            .iter()
            .map(|member| (member.uid.clone(), &member.case));
        let found = oracle.find_violations(&self.kinds, &before, &during, &uids.collect());
        report.add(found);
        for member in &members {
            self.still_has_objects(member, oracle, &during, report)
                .await?;
        }
        self.look_for_secrets(&members, &during, report).await?;
        self.remove(&members).await?;
        if let Err(error) = self.is_as_before(&before, &members).await {
            report.violation(
                prefix,
                format!("after its end: {error:#}\n{}", self.suspects(&members)),
            );
        }
        Ok(())
    }

    async fn snapshot(&self) -> anyhow::Result<Snapshot> {
        let mut namespaces = self.namespaces.others.clone();
        namespaces.push(self.namespaces.tenant.clone());
        if self.is_alone {
            namespaces = cluster::all_namespaces(&self.api).await?;
            namespaces.retain(|name| *name != self.namespaces.bystander);
        }
        cluster::snapshot(&self.api, &namespaces, self.is_alone).await
    }

    /// Makes the custom resources that the server takes.
    async fn make(
        &self,
        prefix: &str,
        cases: &[Case],
        report: &mut Report,
    ) -> anyhow::Result<Vec<Member>> {
        let made = stream::iter(cases.iter().enumerate())
            .map(|(number, case)| self.make_one(prefix, number, case))
            .buffer_unordered(AT_ONCE);
        let made: Vec<Option<Member>> = made.try_collect().await?;
        report.refused += made.iter().filter(|made| made.is_none()).count();
        let made: Vec<Member> = made.into_iter().flatten().collect();
        report.made += made.len();
        Ok(made)
    }

    /// Every other one begins as a harmless one.
    async fn make_one(
        &self,
        prefix: &str,
        number: usize,
        case: &Case,
    ) -> anyhow::Result<Option<Member>> {
        let name = format!("{prefix}-{number}");
        let is_late = number % 2 == 1 && case.can_be_late();
        let kind = &self.kinds[case.kind];
        let group_version = format!("apis/{}/{}", kind.group, kind.version);
        let collection = if kind.is_namespaced {
            in_namespace(&group_version, &kind.plural, &self.namespaces.tenant)
        } else {
            format!("/{group_version}/{}", kind.plural)
        };
        let first = if is_late {
            &self.harmless(case.kind)
        } else {
            case
        };
        let object = first.object(&self.kinds, &self.namespaces.tenant, &name);
        let Created::Made(made) = self.api.create(&collection, &object).await? else {
            return Ok(None);
        };
        let name = made.metadata.name.clone();
        let path = format!("{collection}/{name}");
        if case.is_status() {
            let mut patch = json!({});
            match case.field.strip_prefix("/status/") {
                Some(field) => patch["status"][field] = case.hostile.value.clone(),
                None => patch["status"] = case.hostile.value.clone(),
            }
            self.api.merge(&format!("{path}/status"), &patch).await?;
        }
        let uid = made.metadata.uid.clone();
        Ok(Some(Member {
            name,
            path,
            uid,
            case: case.clone(),
            is_late,
        }))
    }

    /// Puts its hostile value into a custom resource that was harmless.
    async fn attack(&self, member: &Member, report: &mut Report) -> anyhow::Result<()> {
        let tenant = &self.namespaces.tenant;
        let mut object = member.case.object(&self.kinds, tenant, &member.name);
        let replaced = wait::until("a replacement without conflict", async || {
            let seen = self.api.get(&member.path).await?.context("it is gone")?;
            object["metadata"]["resourceVersion"] = seen.metadata.resource_version.into();
            self.api.replace(&member.path, &object).await
        });
        if let Created::Refused(_) = replaced.await? {
            report.refused += 1;
        }
        Ok(())
    }

    async fn have_answered(&self, members: &[Member], report: &mut Report) -> anyhow::Result<()> {
        for member in members {
            if let Err(error) = self.has_answered(member).await {
                report.violation(&member.case.to_text(&self.kinds), format!("{error:#}"));
            }
            let well = self.operator.is_well().await;
            well.with_context(|| self.suspects(members))?;
        }
        Ok(())
    }

    /// Fails if a role that creates objects reports success without any object: the role must not treat
    /// unreadable data as empty.
    async fn still_has_objects(
        &self,
        member: &Member,
        oracle: &Oracle,
        during: &Snapshot,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let seen = self.api.get(&member.path).await?.context("it is gone")?;
        let ready = seen.condition("Ready");
        let is_ready = ready.is_some_and(|ready| ready.status == "True");
        let is_owned = |owner: &Owner| owner.uid == member.uid;
        let mut objects = during.values();
        let has_some = objects.any(|object| {
            let owners = &object.seen.metadata.owner_references;
            owners.iter().any(is_owned)
        });
        if is_ready && !has_some && oracle.makes_objects(&self.kinds, member.case.kind) {
            let what = "is ready and has no object".to_owned();
            report.violation(&member.case.to_text(&self.kinds), what);
        }
        Ok(())
    }

    /// Waits until the custom resource says what became of its present generation.
    async fn has_answered(&self, member: &Member) -> anyhow::Result<()> {
        wait::until("a condition", async || {
            let seen = self.api.get(&member.path).await?.context("it is gone")?;
            let ready = seen.condition("Ready");
            let ready =
                ready.with_context(|| format!("no condition Ready: {}", short(seen.status())))?;
            ensure!(
                ready.observed_generation == seen.metadata.generation,
                "{ready:?}"
            );
            Ok(())
        })
        .await
    }

    async fn look_for_secrets(
        &self,
        members: &[Member],
        objects: &Snapshot,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let secrets = Secrets::from_objects(objects);
        for member in members {
            if let Some(seen) = self.api.get(&member.path).await?
                && let Some(leak) = secrets.find(seen.status())
            {
                report.violation(
                    &member.case.to_text(&self.kinds),
                    format!("its status leaks {leak}"),
                );
            }
        }
        let events = in_namespace("apis/events.k8s.io/v1", "events", &self.namespaces.tenant);
        for event in self.api.list(&events).await? {
            if let Some(leak) = secrets.find(&event.text) {
                report.violation("Event", format!("leaks {leak}: {}", short(&event.text)));
            }
        }
        if let Some(leak) = secrets.find(&self.operator.texts().await?) {
            report.violation("log", format!("leaks {leak}"));
        }
        Ok(())
    }

    async fn remove(&self, members: &[Member]) -> anyhow::Result<()> {
        for member in members {
            if member.case.field == "/metadata/finalizers" {
                self.api
                    .merge(&member.path, &json!({"metadata": {"finalizers": null}}))
                    .await?;
            }
            self.api.delete(&member.path).await?;
        }
        for member in members {
            self.is_gone(member).await?;
            self.operator
                .is_well()
                .await
                .with_context(|| self.suspects(members))?;
        }
        Ok(())
    }

    /// Waits until a custom resource is gone. Where its own data keeps its deletion run from success, the
    /// tenant gives the finalizer up.
    async fn is_gone(&self, member: &Member) -> anyhow::Result<()> {
        let what = format!(
            "{} to be gone ({})",
            member.name,
            member.case.to_text(&self.kinds)
        );
        wait::until(&what, async || {
            let Some(seen) = self.api.get(&member.path).await? else {
                return Ok(());
            };
            let failed = |seen: &ObjectSummary| {
                let ready = seen.condition("Ready");
                ready.is_some_and(|ready| {
                    ["Failed", "Invalid", "Paused"].contains(&ready.reason.as_str())
                })
            };
            if failed(&seen) {
                let none = json!({"metadata": {"finalizers": null}});
                self.api.merge(&member.path, &none).await?;
            }
            let ready = seen.condition("Ready");
            anyhow::bail!("{:?} {ready:?}", seen.metadata.deletion_timestamp)
        })
        .await
    }

    /// Waits until the cluster has the same objects as before the batch.
    async fn is_as_before(&self, before: &Snapshot, members: &[Member]) -> anyhow::Result<()> {
        wait::until("the same objects as before", async || {
            let after = self.snapshot().await?;
            let (gone, left) = (missing(before, &after), missing(&after, before));
            for name in left.iter().copied() {
                self.give_up(&after[name].seen, name, members).await?;
            }
            // A deleted object does not come back.
            if !gone.is_empty() {
                return Ok(Err(anyhow::anyhow!("gone {gone:?}")));
            }
            ensure!(left.is_empty(), "left {left:?}");
            Ok(Ok(()))
        })
        .await?
    }

    /// Takes the finalizers off an object that its role would have released.
    async fn give_up(
        &self,
        seen: &ObjectSummary,
        name: &str,
        members: &[Member],
    ) -> anyhow::Result<()> {
        let owners = &seen.metadata.owner_references;
        let is_theirs = |uid: &str| members.iter().any(|member| member.uid == uid);
        if let Some(namespace) = &seen.metadata.namespace
            && name.starts_with("deployments ")
            && owners.iter().any(|owner| is_theirs(&owner.uid))
        {
            let path = in_namespace("apis/apps/v1", "deployments", namespace);
            let path = format!("{path}/{}", seen.metadata.name);
            self.api
                .merge(&path, &json!({"metadata": {"finalizers": null}}))
                .await?;
        }
        Ok(())
    }

    fn suspects(&self, members: &[Member]) -> String {
        let cases: Vec<String> = members
            .iter()
            .map(|member| member.case.to_text(&self.kinds))
            .collect();
        format!("one of these:\n  {}", cases.join("\n  "))
    }
}

/// Returns the names of objects that one snapshot contains, and that the other lacks or has with another uid.
fn missing<'a>(one: &'a Snapshot, other: &Snapshot) -> Vec<&'a str> {
    let uid = |snapshot: &Snapshot, name: &str| {
        let object = snapshot.get(name);
        object.map(|object| object.seen.metadata.uid.clone())
    };
    let names = one.keys().map(String::as_str);
    names
        .filter(|name| uid(one, name) != uid(other, name))
        .collect()
}
