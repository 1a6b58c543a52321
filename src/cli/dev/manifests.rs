//! The project's CRDs and samples in the embedded API server, from the start and whenever a file changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::cli::install;
use crate::cluster::Cluster;
use crate::model::redact::PublicText;
use crate::regular_file;
use crate::role::FileWatch;
use crate::telemetry::log;

/// The annotation in which `kubectl apply` stores the last applied object. `dev` sets it too, so that a
/// later `kubectl apply` of a sample removes fields correctly.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes that all annotations of an object may have together.
const ANNOTATIONS: usize = 256 << 10;

/// A deploy folder, and the content that its files had when they were applied.
pub(super) struct AppliedManifests {
    folder: PathBuf,
    applied: BTreeMap<PathBuf, String>,
}

impl AppliedManifests {
    /// Applies the CRDs of a folder and, if `samples` is set, its samples.
    pub(super) async fn apply(
        cluster: &Cluster,
        folder: &Path,
        samples: bool,
    ) -> anyhow::Result<Self> {
        let mut manifests = Self {
            folder: folder.to_owned(),
            applied: BTreeMap::new(),
        };
        for file in install::manifest_files(&folder.join("crds"))? {
            manifests.file(cluster, file, true).await?;
        }
        for file in install::manifest_files(&folder.join("samples"))? {
            manifests.file(cluster, file, samples).await?;
        }
        Ok(manifests)
    }

    /// Applies files when they change. Does not return.
    pub(super) async fn follow(mut self, cluster: &Cluster) {
        let mut watch = FileWatch::start(&self.folder, &self.folder);
        loop {
            // The first pass applies files that changed before the watch began.
            self.apply_changed(cluster).await;
            watch.changed().await;
        }
    }

    async fn apply_changed(&mut self, cluster: &Cluster) {
        for part in ["crds", "samples"] {
            let files = match install::manifest_files(&self.folder.join(part)) {
                Ok(files) => files,
                Err(error) => {
                    log::error!(PublicText::outside_runs(format!("{error:#}")));
                    continue;
                }
            };
            for file in files {
                let shown = file.display().to_string();
                match self.file(cluster, file, true).await {
                    Ok(true) => log::info!(PublicText::outside_runs(format!("applied {shown}"))),
                    Ok(false) => {}
                    Err(error) => log::error!(PublicText::outside_runs(format!("{error:#}"))),
                }
            }
        }
    }

    /// Applies a file if its content changed. If `apply` is false, only remembers the content. Returns true
    /// if the file was applied.
    async fn file(
        &mut self,
        cluster: &Cluster,
        file: PathBuf,
        apply: bool,
    ) -> anyhow::Result<bool> {
        let text = regular_file::read_text(&file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        if self.applied.get(&file) == Some(&text) {
            return Ok(false);
        }
        // If the server refuses the content, it is not applied again until the file changes.
        self.applied.insert(file.clone(), text.clone());
        if apply {
            install::apply_text(cluster, &file, &text, annotate).await?;
        }
        Ok(apply)
    }
}

/// Adds the annotation of `kubectl apply`.
fn annotate(object: &mut Value) {
    let mut written = object.to_string();
    written.push('\n');
    if written.len() >= ANNOTATIONS || !object["metadata"].is_object() {
        return;
    }
    let annotations = &mut object["metadata"]["annotations"];
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(LAST_APPLIED.to_owned(), Value::from(written));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cluster::connect::{self, Source};
    use crate::model::{Gvk, ObjectRef};
    use embedded_apiserver::{self as apiserver, ApiServer};

    async fn cluster() -> Cluster {
        let server = ApiServer::new(apiserver::Options::default());
        let client = server.client();
        let options = connect::Options {
            source: Source::Client(client),
            ..connect::Options::default()
        };
        connect::connect(options).await.unwrap().cluster
    }

    fn config_map(value: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a"}, "data": {"value": value},
        })
    }

    async fn value(cluster: &Cluster) -> Option<String> {
        let object = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some("default"), "a");
        let found = cluster.get(&object).await.unwrap()?;
        found.value()["data"]["value"].as_str().map(str::to_owned)
    }

    #[tokio::test]
    async fn samples_of_a_loaded_state_stay_until_their_files_change() {
        let (folder, cluster) = (tempfile::tempdir().unwrap(), cluster().await);
        let samples = folder.path().join("samples");
        fs::create_dir(&samples).unwrap();
        let write = |text: &str| fs::write(samples.join("a.yaml"), text).unwrap();
        write(&config_map("1").to_string());
        let left = AppliedManifests::apply(&cluster, folder.path(), false)
            .await
            .unwrap();
        assert_eq!(value(&cluster).await, None);
        drop(left);
        let mut manifests = AppliedManifests::apply(&cluster, folder.path(), true)
            .await
            .unwrap();
        assert_eq!(value(&cluster).await.as_deref(), Some("1"));
        install::apply_object(&cluster, &config_map("2"))
            .await
            .unwrap();
        manifests.apply_changed(&cluster).await;
        assert_eq!(value(&cluster).await.as_deref(), Some("2"));
        write("data: [");
        manifests.apply_changed(&cluster).await;
        assert_eq!(value(&cluster).await.as_deref(), Some("2"));
        write(&config_map("3").to_string());
        manifests.apply_changed(&cluster).await;
        assert_eq!(value(&cluster).await.as_deref(), Some("3"));
    }

    #[test]
    fn kubectl_finds_what_was_applied() {
        let mut object = json!({"kind": "Web", "metadata": {"name": "a"}});
        let before = object.clone();
        annotate(&mut object);
        let annotation = object["metadata"]["annotations"][LAST_APPLIED].as_str();
        let found: Value = serde_json::from_str(annotation.unwrap()).unwrap();
        assert_eq!(found, before);
        let mut large = json!({"metadata": {"name": "x".repeat(ANNOTATIONS)}});
        annotate(&mut large);
        assert!(large["metadata"]["annotations"].is_null());
    }
}
