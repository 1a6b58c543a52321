//! Parses an entry of the file to a [`Watch`].

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
    "playbook is not supported",
    "write role: NAME, a folder of the roles folder with tasks/main.yaml or tasks/main.rhai",
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
            "maxRunnerArtifacts is not supported: runs write no artifacts",
            "remove it; see the log, the status and the Events of a run",
        ),
        (
            "markUnsafe",
            "markUnsafe is not supported: values are never templates",
            "remove it",
        ),
        (
            "ansibleVerbosity",
            "ansibleVerbosity is not supported",
            "remove it and set --log-level",
        ),
        (
            "maxWorkers",
            "maxWorkers is not supported",
            "write maxConcurrentReconciles",
        ),
        ("watches", "watches is not supported yet", "remove it"),
        (
            "schedule",
            "schedule is not supported yet",
            "use reconcilePeriod",
        ),
        ("applyMode", "applyMode is not supported yet", "remove it"),
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

/// The context that an entry is parsed in.
pub(super) struct EntryContext<'a> {
    pub(super) environment: &'a Environment,
    pub(super) namespaces: &'a Namespaces,
    pub(super) findings: &'a Diagnostics,
}

/// Parses an entry; none if its kind is invalid. Other invalid values are reported and replaced by defaults,
/// so that the entries can still be compared.
pub(super) fn parse(item: &Item<'_>, context: &EntryContext<'_>) -> Option<Watch> {
    let fields = item.fields(ENTRY)?;
    let gvk = gvk(&fields);
    let role = fields.required("role", Some("playbook"));
    let role_position = role.as_ref().map(Item::position).unwrap_or_default();
    let role = role.and_then(|role| role.text_like("the name of a role", |name| !name.is_empty()));
    let max_concurrent = max_concurrent(&fields, gvk.as_ref(), context);
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
            .and_then(|item| selector::parse(&item)),
        blacklist: blacklist(&fields),
        finalizer: fields
            .get("finalizer")
            .and_then(|item| finalizer(&item, context.findings)),
        conditions: choice(&fields, "conditions", &CONDITIONS),
        timeout: positive(&fields, "timeout").unwrap_or(defaults.timeout),
        prune: flag("prune", defaults.prune),
        on_delete: choice(&fields, "onDelete", &ON_DELETE),
        force: fields.get("force").and_then(|item| item.flag()),
        adopt: flag("adopt", defaults.adopt),
        namespaces: namespaces(&fields, context.namespaces),
        position: item.position(),
        ..defaults
    };
    // The entry is parsed even without a kind, to report its errors.
    kind_is_known.then_some(watch)
}

/// Parses one of several words; the default if the key is missing.
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

/// Returns the limit of concurrent runs. The environment overrides the file.
fn max_concurrent(
    fields: &Fields<'_>,
    gvk: Option<&Gvk>,
    context: &EntryContext<'_>,
) -> Option<NonZeroUsize> {
    let from_file = fields.get("maxConcurrentReconciles").and_then(|item| {
        let count = item.count(1)?;
        NonZeroUsize::new(usize::try_from(count).ok()?)
    });
    let from_environment = gvk.and_then(|gvk| {
        concurrency::from_environment(
            gvk,
            context.environment,
            fields.position(),
            context.findings,
        )
    });
    from_environment.or(from_file)
}

fn positive(fields: &Fields<'_>, key: &str) -> Option<Duration> {
    let item = fields.get(key)?;
    let duration = item.duration()?;
    if duration.is_zero() {
        item.error("expected more than 0s", "");
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
        let hint = "use a name in your own domain";
        item.error(&format!("{name} is the operator's own finalizer"), hint);
        return None;
    }
    if !name.contains('/') {
        let message = format!("the finalizer {name:?} has no domain: the API server warns of it");
        findings.warning(
            item.position(),
            message,
            format!("write example.com/{name}"),
        );
    }
    Some(name)
}

/// Returns the namespaces of the entry that the operator watches.
fn namespaces(fields: &Fields<'_>, operator: &Namespaces) -> Namespaces {
    let Some(item) = fields.get("namespaces") else {
        return operator.clone();
    };
    let items = item.items();
    if items.as_ref().is_some_and(Vec::is_empty) {
        item.error(
            "expected at least one namespace",
            "remove the key to watch all namespaces",
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
