//! The custom resource of a run, from a file or from the cluster.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::{Value, json};

use super::lookup::Lookup;
use super::resource_kind;
use crate::cluster::request::WriteOptions;
use crate::cluster::{ApiKind, Cluster, ErrorKind};
use crate::model::redact::PublicText;
use crate::model::syntax::is_dns_subdomain;
use crate::model::{Gvk, Object, ObjectRef, yaml};
use crate::regular_file;
use crate::telemetry::log;

/// The value of `--cr`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CrSource {
    /// A YAML or JSON file; `-` for stdin.
    File(String),
    /// An object of the cluster.
    Named {
        /// A kind or a plural, with or without its group.
        kind: String,
        /// Its name.
        name: String,
    },
}

impl FromStr for CrSource {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_file(text) {
            return Ok(Self::File(text.to_owned()));
        }
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && is_dns_subdomain(name) => Ok(Self::Named {
                kind: kind.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err("expected a file or KIND/NAME"),
        }
    }
}

/// The requested custom resource. A file has been read.
#[derive(Debug)]
pub(super) enum CrRequest {
    /// The content of a file.
    File {
        /// The file, for messages.
        file: String,
        /// Its group, version and kind.
        gvk: Gvk,
        /// Its name.
        name: String,
        /// All of it.
        value: Value,
    },
    /// An object of the cluster.
    Named {
        /// A kind or a plural, with or without its group.
        kind: String,
        /// Its name.
        name: String,
    },
}

impl CrRequest {
    /// Reads the file, if the source is one.
    pub(super) fn read(source: CrSource) -> anyhow::Result<Self> {
        match source {
            CrSource::File(file) => Self::read_file(&file),
            CrSource::Named { kind, name } => Ok(Self::Named { kind, name }),
        }
    }

    fn read_file(file: &str) -> anyhow::Result<Self> {
        let value = read(file)?;
        let file = shown(file);
        let text = |pointer: &str| {
            let text = value.pointer(pointer).and_then(Value::as_str);
            let text = text.filter(|text| !text.is_empty());
            text.with_context(|| format!("{file}: {} is missing", pointer[1..].replace('/', ".")))
        };
        let gvk = Gvk::from_api_version(text("/apiVersion")?, text("/kind")?);
        let name = text("/metadata/name")?.to_owned();
        let file = file.to_owned();
        Ok(Self::File {
            file,
            gvk,
            name,
            value,
        })
    }
}

/// A custom resource that was found.
#[derive(Debug)]
pub(super) struct FoundCr {
    /// The object that the run gets.
    pub(super) cr: Object,
    /// True if the cluster has it.
    pub(super) live: bool,
    /// The source of the object in messages: the file or the object of the cluster, and `--set`.
    pub(super) origin: String,
}

/// Finds the custom resource. If the cluster also has the custom resource of a file, the result has the
/// uid, the versions, the finalizers and the status of the cluster.
pub(super) async fn find(
    cluster: &Cluster,
    wanted: CrRequest,
    selection: &Lookup<'_>,
) -> anyhow::Result<FoundCr> {
    let typed = matches!(wanted, CrRequest::File { .. }) || !selection.set.is_empty();
    let (mut origin, (kind, mut value, live)) = match wanted {
        CrRequest::File {
            file,
            gvk,
            name,
            value,
        } => {
            let found = from_file(cluster, selection, gvk, &name, value).await;
            (file.clone(), found.context(file)?)
        }
        CrRequest::Named { kind, name } => (
            format!("{kind}/{name}"),
            from_cluster(cluster, selection, &kind, &name).await?,
        ),
    };
    if !selection.set.is_empty() {
        origin.push_str(" with --set");
    }
    for set in selection.set {
        set.apply(&mut value);
    }
    if typed && (live.is_some() || !selection.creates_missing) {
        let taken = apply_server_defaults(cluster, &kind, &mut value).await;
        taken.with_context(|| origin.clone())?;
    }
    let cr = Object::from_value(&kind.gvk, &value);
    let mut cr = cr.with_context(|| format!("{origin}: expected a custom resource"))?;
    if let Some(live) = &live {
        cr.managed.clone_from(&live.managed);
    }
    Ok(FoundCr {
        cr,
        live: live.is_some(),
        origin,
    })
}

type CrParts = (Arc<ApiKind>, Value, Option<Arc<Object>>);

async fn from_file(
    cluster: &Cluster,
    selection: &Lookup<'_>,
    gvk: Gvk,
    name: &str,
    mut value: Value,
) -> anyhow::Result<CrParts> {
    let kind = resource_kind::find_by_gvk(cluster, selection, &gvk).await?;
    let given = value["metadata"]["namespace"].as_str();
    let namespace = namespace(&kind, selection, given)?.map(str::to_owned);
    let live = cluster
        .get(&ObjectRef::new(gvk, namespace.as_deref(), name))
        .await?;
    if let Some(namespace) = namespace {
        value["metadata"]["namespace"] = namespace.into();
    }
    if let Some(live) = &live {
        copy_server_fields(&mut value, &live.value());
    }
    Ok((kind, value, live))
}

async fn from_cluster(
    cluster: &Cluster,
    selection: &Lookup<'_>,
    word: &str,
    name: &str,
) -> anyhow::Result<CrParts> {
    let kind = resource_kind::find_by_name(cluster, selection, word).await?;
    let namespace = namespace(&kind, selection, None)?;
    let object = ObjectRef::new(kind.gvk.clone(), namespace, name);
    match cluster.get(&object).await? {
        Some(live) => Ok((kind, live.value(), Some(live))),
        None if selection.creates_missing => bail!(
            "cannot find {object} in {}\n  hint: name its file with --cr, or a file that contains it with --input",
            selection.target
        ),
        None => bail!("cannot find {object} in {}", selection.target),
    }
}

fn is_file(cr: &str) -> bool {
    let extension = Path::new(cr)
        .extension()
        .and_then(|extension| extension.to_str());
    cr == "-" || matches!(extension, Some("yaml" | "yml" | "json")) || Path::new(cr).is_file()
}

/// Returns the name of a file in messages.
fn shown(file: &str) -> &str {
    if file == "-" { "stdin" } else { file }
}

fn read(file: &str) -> anyhow::Result<Value> {
    let mut text = String::new();
    if file == "-" {
        let stdin = std::io::stdin().lock();
        let read = stdin.take(regular_file::LIMIT).read_to_string(&mut text);
        read.context("cannot read stdin")?;
    } else {
        text = regular_file::read_text(Path::new(file))
            .with_context(|| format!("cannot read {file}"))?;
    }
    let file = shown(file);
    let value = yaml::parse(&text).map_err(|error| anyhow::anyhow!("{file}: {error}"))?;
    if !value.is_object() {
        bail!("{file}: expected one object");
    }
    Ok(value)
}

fn namespace<'a>(
    kind: &ApiKind,
    selection: &Lookup<'a>,
    given: Option<&'a str>,
) -> anyhow::Result<Option<&'a str>> {
    if kind.namespaced {
        let named = selection.namespace.or(given);
        return Ok(Some(named.unwrap_or(selection.default_namespace)));
    }
    match selection.namespace {
        Some(_) => bail!("{} is cluster-scoped\n  hint: remove --namespace", kind.gvk),
        None => Ok(None),
    }
}

/// Sets the defaults of a custom resource and validates it, by a dry-run create under a generated name.
/// Without the permission to create, the custom resource gets no defaults and is not validated.
async fn apply_server_defaults(
    cluster: &Cluster,
    kind: &ApiKind,
    value: &mut Value,
) -> anyhow::Result<()> {
    let mut asked = value.clone();
    let metadata = &mut asked["metadata"];
    let namespace = metadata["namespace"].as_str().map(str::to_owned);
    let name = metadata["name"].as_str().unwrap_or_default();
    *metadata = json!({"generateName": format!("{name}-"), "namespace": namespace});
    let options = WriteOptions {
        strict: true,
        ..WriteOptions::default()
    };
    let body = Bytes::from(asked.to_string());
    let planned = cluster.with_dry_run();
    let made = planned
        .create(&kind.gvk, namespace.as_deref(), body, &options)
        .await;
    let made = match made {
        Err(error)
            if matches!(
                error.kind,
                ErrorKind::Forbidden | ErrorKind::MethodNotAllowed
            ) =>
        {
            let error = PublicText::outside_runs(error);
            log::debug!("the server's defaults are not known", error = error);
            return Ok(());
        }
        made => made?.object.value(),
    };
    let own = |key: &str| matches!(key, "apiVersion" | "kind" | "metadata" | "status");
    if let (Value::Object(value), Value::Object(made)) = (value, made) {
        value.extend(made.into_iter().filter(|(key, _)| !own(key)));
    }
    Ok(())
}

/// Copies the fields that the server sets from the live object.
fn copy_server_fields(value: &mut Value, live: &Value) {
    for key in [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "finalizers",
        "ownerReferences",
    ] {
        if let Some(kept) = live["metadata"].get(key) {
            value["metadata"][key] = kept.clone();
        }
    }
    match live.get("status") {
        Some(status) => value["status"] = status.clone(),
        None => drop(
            value
                .as_object_mut()
                .and_then(|value| value.remove("status")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_neither_file_nor_name_are_refused_first() {
        for cr in ["/tmp", "Web", "/web", "Web/", "Web/a/b"] {
            assert!(cr.parse::<CrSource>().is_err(), "{cr}");
        }
        assert!(CrRequest::read("missing.yaml".parse().unwrap()).is_err());
        let (kind, name) = ("webs.example.com".to_owned(), "a.b".to_owned());
        assert_eq!(
            "webs.example.com/a.b".parse(),
            Ok(CrSource::Named { kind, name })
        );
    }

    #[test]
    fn a_file_that_names_no_object_says_what_is_missing() {
        let file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
        let path = file.path().to_str().unwrap();
        for (text, missing) in [
            ("{kind: Web, metadata: {name: a}}", "apiVersion"),
            ("{apiVersion: v1, metadata: {name: a}}", "kind"),
            (
                "{apiVersion: v1, kind: Web, metadata: {name: ''}}",
                "metadata.name",
            ),
            ("{apiVersion: v1, kind: Web}", "metadata.name"),
        ] {
            std::fs::write(path, text).unwrap();
            let error = CrRequest::read_file(path).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!(": {missing} is missing")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_gets_server_fields_from_the_cluster() {
        let mut value = json!({
            "metadata": {"name": "x", "labels": {"mine": "1"}}, "spec": {"size": 2},
            "status": {"made": "up"},
        });
        let live = json!({
            "metadata": {"name": "x", "uid": "u", "generation": 4, "labels": {"live": "1"}},
            "spec": {"size": 1}, "status": {"nodes": []},
        });
        copy_server_fields(&mut value, &live);
        let expected = json!({
            "metadata": {"name": "x", "uid": "u", "generation": 4, "labels": {"mine": "1"}},
            "spec": {"size": 2}, "status": {"nodes": []},
        });
        assert_eq!(value, expected);
    }
}
