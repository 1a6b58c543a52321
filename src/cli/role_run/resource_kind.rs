//! Finds the kind of the custom resource, and suggests a similar kind if it does not exist.

use std::sync::Arc;

use anyhow::{anyhow, bail};

use super::lookup::Lookup;
use crate::cluster::{ApiKind, Cluster};
use crate::model::Gvk;
use crate::model::diagnostics::nearest;
use crate::watches::Watch;

/// Finds the kind of a file.
pub(super) async fn find_by_gvk(
    cluster: &Cluster,
    selection: &Lookup<'_>,
    gvk: &Gvk,
) -> anyhow::Result<Arc<ApiKind>> {
    if let Some(kind) = cluster.kind(gvk).await? {
        return Ok(kind);
    }
    let kinds = cluster.kinds().await?;
    let known: Vec<&Gvk> = kinds.iter().map(|kind| &kind.gvk).collect();
    let near = near(gvk, &known).map(ToString::to_string);
    Err(no_such_kind(selection, &gvk.to_string(), near.as_deref()))
}

/// Returns a kind with a similar name in the same group, or with the same name in a similar group.
fn near<'k>(gvk: &Gvk, known: &[&'k Gvk]) -> Option<&'k Gvk> {
    let of = |field: fn(&Gvk) -> &str, other: fn(&Gvk) -> &str| {
        let same = known.iter().filter(|kind| field(kind) == field(gvk));
        let names: Vec<&str> = same.clone().map(|kind| other(kind)).collect();
        let near = nearest(other(gvk), &names)?;
        same.copied().find(|kind| other(kind) == near)
    };
    of(|kind| &kind.group, |kind| &kind.kind).or_else(|| of(|kind| &kind.kind, |kind| &kind.group))
}

fn no_such_kind(selection: &Lookup<'_>, kind: &str, near: Option<&str>) -> anyhow::Error {
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => selection.missing_kind_hint.to_owned(),
    };
    anyhow!("{} has no kind {kind}\n  hint: {hint}", selection.target)
}

/// Finds a kind by its name or plural, with or without the group (`memcacheds.cache.example.com`).
pub(super) async fn find_by_name(
    cluster: &Cluster,
    selection: &Lookup<'_>,
    word: &str,
) -> anyhow::Result<Arc<ApiKind>> {
    let named = |watch: &&Arc<Watch>| is_named(&watch.gvk, None, word);
    for watch in selection.watches.iter().filter(named) {
        if let Some(kind) = cluster.kind(&watch.gvk).await? {
            return Ok(kind);
        }
    }
    let kinds = cluster.kinds().await?;
    let named = |kind: &&Arc<ApiKind>| is_named(&kind.gvk, Some(&kind.plural), word);
    let found: Vec<_> = kinds.iter().filter(named).collect();
    match found.as_slice() {
        [kind] => Ok(Arc::clone(kind)),
        [] => {
            let name = word.split_once('.').map_or(word, |(name, _)| name);
            let known: Vec<&str> = kinds.iter().map(|kind| &*kind.gvk.kind).collect();
            let near = nearest(name, &known);
            Err(no_such_kind(selection, word, near))
        }
        several => {
            let names: Vec<String> = several.iter().map(|kind| kind.resource()).collect();
            bail!("{word} is ambiguous: {}", names.join(", "))
        }
    }
}

fn is_named(gvk: &Gvk, plural: Option<&str>, word: &str) -> bool {
    let (name, group) = word
        .split_once('.')
        .map_or((word, None), |(n, g)| (n, Some(g)));
    let same_name = name.eq_ignore_ascii_case(&gvk.kind)
        || plural.is_some_and(|plural| name.eq_ignore_ascii_case(plural));
    same_name && group.is_none_or(|group| group == &*gvk.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_share_a_group_or_a_name() {
        let [site, pod] = [
            Gvk::new("web.example.com", "v1", "Site"),
            Gvk::new("", "v1", "Pod"),
        ];
        let known = [&pod, &site];
        for (group, version, kind, expected) in [
            ("web.example.com", "v1", "Sitee", Some(&site)),
            ("web.example.com", "v2", "Site", Some(&site)),
            ("web.exmaple.com", "v1", "Site", Some(&site)),
            ("web.example.com", "v1", "Pod", None),
            ("web.exmaple.com", "v1", "Sitee", None),
        ] {
            let found = near(&Gvk::new(group, version, kind), &known);
            assert_eq!(found, expected, "{group}/{version} {kind}");
        }
    }

    #[test]
    fn a_kind_is_named_by_kind_plural_or_with_its_group() {
        let gvk = Gvk::new("cache.example.com", "v1", "Memcached");
        for word in [
            "Memcached",
            "memcached",
            "memcacheds",
            "memcacheds.cache.example.com",
        ] {
            assert!(is_named(&gvk, Some("memcacheds"), word), "{word}");
        }
        assert!(!is_named(&gvk, Some("memcacheds"), "memcached.example.com"));
    }
}
