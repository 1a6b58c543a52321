//! One entry of the file: from what was typed to a [`Watch`].

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::watch::{Conditions, Finalizer, FinalizerFailure, Namespaces, OnDelete, Watch};
use super::{Environment, concurrency, namespaces, selector};
use crate::model::Gvk;
use crate::model::annotations::CLEANUP_FINALIZER;
use crate::model::diagnostics::{Diagnostics, Fields, Item, Keys};
use crate::model::syntax::{
    is_dns_label, is_dns_subdomain, is_kind, is_qualified_name, is_version,
};

const NO_PLAYBOOK: (&str, &str, &str) = (
    "playbook",
    "playbooks are not run here",
    "name a role whose tasks/main.yaml or tasks/main.rhai does the work: role: <folder below the roles folder>",
);

pub(super) const ENTRY: Keys = Keys {
    known: &[
        "group",
        "version",
        "kind",
        "role",
        "vars",
        "reconcilePeriod",
        "maxConcurrentReconciles",
        "manageStatus",
        "watchDependentResources",
        "watchClusterScopedResources",
        "watchAnnotationsChanges",
        "snakeCaseParameters",
        "selector",
        "blacklist",
        "finalizer",
        "conditions",
        "timeout",
        "prune",
        "onDelete",
        "force",
        "adopt",
        "namespaces",
    ],
    refused: &[
        NO_PLAYBOOK,
        (
            "maxRunnerArtifacts",
            "runs leave no artifacts here",
            "take the key out; what a run did is in the log, the status and the events",
        ),
        (
            "markUnsafe",
            "values are never evaluated as code or template here",
            "take the key out: every value is safe",
        ),
        (
            "ansibleVerbosity",
            "there is no Ansible here",
            "take the key out and set --log-level",
        ),
        (
            "maxWorkers",
            "the number of workers has another name",
            "write maxConcurrentReconciles",
        ),
        (
            "watches",
            "watches is not supported yet",
            "take the key out",
        ),
        (
            "schedule",
            "schedule is not supported yet",
            "use reconcilePeriod",
        ),
        (
            "applyMode",
            "applyMode is not supported yet",
            "take the key out",
        ),
    ],
};

pub(super) const FINALIZER: Keys = Keys {
    known: &["name", "role", "vars", "timeout", "onFailure"],
    refused: &[NO_PLAYBOOK],
};

pub(super) const KIND: Keys = Keys {
    known: &["group", "version", "kind"],
    refused: &[],
};

const CONDITIONS: [(&str, Conditions); 2] = [
    ("standard", Conditions::Standard),
    ("ansible", Conditions::Ansible),
];
const ON_DELETE: [(&str, OnDelete); 2] =
    [("delete", OnDelete::Delete), ("orphan", OnDelete::Orphan)];
const ON_FAILURE: [(&str, FinalizerFailure); 2] = [
    ("retry", FinalizerFailure::Retry),
    ("orphan", FinalizerFailure::Orphan),
];

/// What an entry is read with besides its own text.
pub(super) struct Surroundings<'a> {
    pub(super) environment: &'a Environment,
    pub(super) namespaces: &'a Namespaces,
    pub(super) findings: &'a Diagnostics,
}

/// Reads an entry as far as its kind is known. What is wrong in it is noted, and something valid stands in
/// for it, so that the entries can still be compared with each other.
pub(super) fn read(item: &Item<'_>, around: &Surroundings<'_>) -> Option<Watch> {
    let fields = item.fields(ENTRY)?;
    let gvk = gvk(&fields);
    let role = fields.required("role", Some("playbook"));
    let role_position = role.as_ref().map(Item::position).unwrap_or_default();
    let role = role.and_then(|role| role.text_like("the name of a role", |name| !name.is_empty()));
    let max_concurrent = max_concurrent(&fields, gvk.as_ref(), around);
    let kind_is_known = gvk.is_some();
    let gvk = gvk.unwrap_or_else(|| Gvk::new("", "", ""));
    let defaults = Watch::new(gvk, role.unwrap_or_default());
    let flag = |key: &str, default: bool| {
        let given = fields.get(key);
        given.and_then(|item| item.flag()).unwrap_or(default)
    };
    let watch = Watch {
        role_position,
        vars: fields
            .get("vars")
            .and_then(|vars| vars.map())
            .unwrap_or_default(),
        reconcile_period: fields
            .get("reconcilePeriod")
            .and_then(|item| item.duration()),
        max_concurrent,
        manage_status: flag("manageStatus", defaults.manage_status),
        watch_dependents: flag("watchDependentResources", defaults.watch_dependents),
        watch_cluster_scoped: flag("watchClusterScopedResources", defaults.watch_cluster_scoped),
        watch_annotations: flag("watchAnnotationsChanges", defaults.watch_annotations),
        snake_case: flag("snakeCaseParameters", defaults.snake_case),
        selector: fields
            .get("selector")
            .and_then(|item| selector::read(&item)),
        blacklist: blacklist(&fields),
        finalizer: fields
            .get("finalizer")
            .and_then(|item| finalizer(&item, around.findings)),
        conditions: choice(&fields, "conditions", &CONDITIONS),
        timeout: positive(&fields, "timeout").unwrap_or(defaults.timeout),
        prune: flag("prune", defaults.prune),
        on_delete: choice(&fields, "onDelete", &ON_DELETE),
        force: fields.get("force").and_then(|item| item.flag()),
        adopt: flag("adopt", defaults.adopt),
        namespaces: namespaces(&fields, around.namespaces),
        position: item.position(),
        ..defaults
    };
    // All of it is read even so, for its errors.
    kind_is_known.then_some(watch)
}

/// One of some words, the default if the key is absent.
fn choice<T: Copy + Default>(fields: &Fields<'_>, key: &str, choices: &[(&str, T)]) -> T {
    let item = fields.get(key);
    item.and_then(|item| item.choice(choices))
        .unwrap_or_default()
}

fn gvk(fields: &Fields<'_>) -> Option<Gvk> {
    let group = match fields.get("group") {
        Some(group) => group.text_like("an API group like cache.example.com", |name| {
            name.is_empty() || is_dns_subdomain(name)
        }),
        None => Some(""),
    };
    let version = fields
        .required("version", None)
        .and_then(|version| version.text_like("an API version like v1alpha1", is_version));
    let kind = fields
        .required("kind", None)
        .and_then(|kind| kind.text_like("a kind like Memcached", is_kind));
    Some(Gvk::new(group?, version?, kind?))
}

/// The environment's number wins over the file's.
fn max_concurrent(
    fields: &Fields<'_>,
    gvk: Option<&Gvk>,
    around: &Surroundings<'_>,
) -> Option<NonZeroUsize> {
    let typed = fields.get("maxConcurrentReconciles").and_then(|item| {
        let count = item.count(1)?;
        NonZeroUsize::new(usize::try_from(count).ok()?)
    });
    let from_environment = gvk.and_then(|gvk| {
        concurrency::of(gvk, around.environment, fields.position(), around.findings)
    });
    from_environment.or(typed)
}

fn positive(fields: &Fields<'_>, key: &str) -> Option<Duration> {
    let item = fields.get(key)?;
    let duration = item.duration()?;
    if duration.is_zero() {
        item.error("expected more than no time", "");
        return None;
    }
    Some(duration)
}

fn blacklist(fields: &Fields<'_>) -> Vec<Gvk> {
    let items = fields.get("blacklist").and_then(|list| list.items());
    let items = items.unwrap_or_default();
    items
        .iter()
        .filter_map(|item| gvk(&item.fields(KIND)?))
        .collect()
}

fn finalizer(item: &Item<'_>, findings: &Diagnostics) -> Option<Finalizer> {
    let fields = item.fields(FINALIZER)?;
    let name = fields
        .required("name", None)
        .and_then(|name| finalizer_name(&name, findings));
    let role = fields.get("role");
    let role_position = role
        .as_ref()
        .map_or_else(|| item.position(), Item::position);
    let role = role.and_then(|role| role.text_like("the name of a role", |name| !name.is_empty()));
    let vars = fields.get("vars").and_then(|vars| vars.map());
    if let Some(item) = fields
        .get("onFailure")
        .filter(|_| fields.get("timeout").is_none())
    {
        let message = "finalizer.onFailure does nothing without finalizer.timeout";
        findings.warning(item.position(), message, "add a timeout, e.g. timeout: 1h");
    }
    Some(Finalizer {
        timeout: positive(&fields, "timeout"),
        on_failure: choice(&fields, "onFailure", &ON_FAILURE),
        name: Arc::from(name?),
        role: role.map(Arc::from),
        role_position,
        vars: vars.unwrap_or_default(),
    })
}

fn finalizer_name<'a>(item: &Item<'a>, findings: &Diagnostics) -> Option<&'a str> {
    let expected = "the name of a finalizer like example.com/cleanup";
    let name = item.text_like(expected, is_qualified_name)?;
    if name == CLEANUP_FINALIZER {
        let hint = "take a name of your own domain";
        item.error(&format!("{name} is the runtime's own finalizer"), hint);
        return None;
    }
    if !name.contains('/') {
        let message =
            format!("the finalizer {name:?} names no domain, which the API server warns of");
        findings.warning(item.position(), message, format!("e.g. example.com/{name}"));
    }
    Some(name)
}

/// The entry's namespaces, as far as the operator watches them.
fn namespaces(fields: &Fields<'_>, operator: &Namespaces) -> Namespaces {
    let Some(item) = fields.get("namespaces") else {
        return operator.clone();
    };
    let items = item.items();
    if items.as_ref().is_some_and(Vec::is_empty) {
        item.error(
            "expected at least one namespace",
            "leave the key out to watch all",
        );
    }
    let names = items.unwrap_or_default();
    let names = names
        .iter()
        .filter_map(|item| item.text_like("the name of a namespace", is_dns_label))
        .map(str::to_owned)
        .collect();
    namespaces::intersect(names, &item, operator)
}
