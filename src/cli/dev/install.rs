//! What a project brings to a cluster: its CRDs, then its samples.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::request::WriteOptions;
use crate::model::{Gvk, ObjectRef, yaml};

/// Field manager of what is applied here.
const MANAGER: &str = "rhai-operator-dev";
/// Where an object goes that names no namespace.
const NAMESPACE: &str = "default";

/// Applies `crds` and `samples` of a deploy folder; either may be absent.
pub(super) async fn project(cluster: &Cluster, deploy: &Path) -> anyhow::Result<()> {
    for folder in ["crds", "samples"] {
        for file in manifests(&deploy.join(folder))? {
            let text = fs::read_to_string(&file);
            let text = text.with_context(|| format!("cannot read {}", file.display()))?;
            let objects = yaml::parse_all(&text);
            let objects = objects.with_context(|| format!("{} is no YAML", file.display()))?;
            for object in objects.iter().filter(|object| !object.is_null()) {
                let applied = apply(cluster, object).await;
                applied.with_context(|| format!("cannot apply {}", file.display()))?;
            }
        }
    }
    Ok(())
}

/// The YAML files of a folder, by name; none where there is no such folder.
fn manifests(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    let is_yaml = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml"))
    };
    files.retain(is_yaml);
    files.retain(|file| !file.ends_with("kustomization.yaml"));
    files.sort();
    Ok(files)
}

async fn apply(cluster: &Cluster, object: &Value) -> anyhow::Result<()> {
    let text = |pointer: &str| {
        let value = object.pointer(pointer).and_then(Value::as_str);
        value.with_context(|| format!("an object has no {}", pointer.replace('/', ".")))
    };
    let gvk = Gvk::from_api_version(text("/apiVersion")?, text("/kind")?);
    let namespace = text("/metadata/namespace").unwrap_or(NAMESPACE);
    let object_ref = ObjectRef::new(gvk, Some(namespace), text("/metadata/name")?);
    let options = WriteOptions {
        manager: MANAGER.to_owned(),
        force: true,
        ..WriteOptions::default()
    };
    let body = Bytes::from(object.to_string());
    cluster.apply(&object_ref, body, &options).await?;
    Ok(())
}
