//! Applies the objects of files to a cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::request::WriteOptions;
use crate::model::{Gvk, Object, ObjectRef, yaml};
use crate::regular_file;

/// The field manager. It is that of `kubectl apply --server-side`, which can change the objects later.
const MANAGER: &str = "kubectl";
/// The namespace of objects that name none.
const NAMESPACE: &str = "default";

/// Applies the CRDs of a deploy folder, if it has any.
pub(super) async fn apply_crds(cluster: &Cluster, deploy: &Path) -> anyhow::Result<()> {
    for manifest in manifest_files(&deploy.join("crds"))? {
        apply_file(cluster, &manifest).await?;
    }
    Ok(())
}

/// Applies the objects of a file.
pub(super) async fn apply_file(cluster: &Cluster, file: &Path) -> anyhow::Result<()> {
    let text = regular_file::read_text(file);
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    apply_text(cluster, file, &text, |_| {}).await
}

/// Applies the objects of a text, after `prepare` changed each of them.
pub(super) async fn apply_text(
    cluster: &Cluster,
    file: &Path,
    text: &str,
    prepare: impl Fn(&mut Value),
) -> anyhow::Result<()> {
    let objects = yaml::parse_all(text);
    let objects = objects.with_context(|| format!("{} is not valid YAML", file.display()))?;
    for mut object in objects.into_iter().filter(|object| !object.is_null()) {
        prepare(&mut object);
        let applied = apply_object(cluster, &object).await;
        applied.with_context(|| format!("cannot apply {}", file.display()))?;
    }
    Ok(())
}

/// Returns the YAML files of a folder, sorted by name. Returns none if the folder does not exist.
pub(super) fn manifest_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
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

/// Applies an object and its status. Creates its namespace first if the namespace does not exist.
pub(super) async fn apply_object(cluster: &Cluster, object: &Value) -> anyhow::Result<Arc<Object>> {
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
    if cluster
        .kind(&object_ref.gvk)
        .await?
        .is_some_and(|kind| kind.namespaced)
    {
        let space = ObjectRef::new(Gvk::new("", "v1", "Namespace"), None, namespace);
        if cluster.get(&space).await?.is_none() {
            let body = json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
            });
            cluster
                .apply(&space, body.to_string().into(), &options)
                .await?;
        }
    }
    let body = Bytes::from(object.to_string());
    let applied = cluster.apply(&object_ref, body, &options).await?.object;
    let status = &object["status"];
    if status.is_null() || applied.value()["status"] == *status {
        return Ok(applied);
    }
    let body = json!({ "status": status }).to_string().into();
    let written = cluster.patch_status(&object_ref, body, &options).await?;
    Ok(written.object)
}
