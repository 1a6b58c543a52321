//! Compares values with snapshots: expected values in files beside the scenario.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::compare::unified;
use super::failure::Failure;
use crate::model::annotations::OWNER_LABEL;
use crate::model::yaml;
use crate::regular_file;

/// The folder of a scenario with a file per snapshot.
pub(super) const FOLDER: &str = "snapshots";
/// The fields of metadata that differ in each run.
const VOLATILE_METADATA: [&str; 6] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// The snapshots of one scenario. Clones share the list of written files.
#[derive(Clone, Debug)]
pub(super) struct Snapshots {
    folder: PathBuf,
    update: bool,
    written: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Snapshots {
    /// Creates the snapshots of a folder, which need not exist. With `update`, files are written.
    pub(super) fn new(folder: PathBuf, update: bool) -> Self {
        Self {
            folder,
            update,
            written: Arc::default(),
        }
    }

    /// Fails unless the value equals the snapshot of this name.
    pub(super) fn check(&self, name: &str, value: &Value, namespace: &str) -> Result<(), Failure> {
        if !is_name(name) {
            let message = format!("invalid name of a snapshot: {name:?}");
            return Err(Failure::new(message).with_details(
                "letters, digits, dots, hyphens and underscores, and no dot at the beginning",
            ));
        }
        let file = self.folder.join(format!("{name}.yaml"));
        let shown = file.display();
        let actual = normalized(value, "", namespace);
        let golden = match regular_file::read_text(&file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                return Err(Failure::new(format!("{shown} cannot be read: {error}")));
            }
        };
        let expected = golden.as_deref().map(yaml::parse);
        if matches!(&expected, Some(Ok(expected)) if *expected == actual) {
            return Ok(());
        }
        if self.update {
            return self.write(file, &actual);
        }
        match expected {
            None => {
                let failure = Failure::new(format!("snapshot {shown} does not exist"));
                Err(failure.with_details("run `rhai-operator test --update` to write it"))
            }
            Some(Err(error)) => Err(Failure::new(format!("{shown}: {error}"))),
            Some(Ok(expected)) => {
                let diff = unified(&expected, &actual);
                let details =
                    format!("{diff}run `rhai-operator test --update` to accept the new value");
                Err(Failure::new(format!("the value differs from {shown}")).with_details(details))
            }
        }
    }

    fn write(&self, file: PathBuf, value: &Value) -> Result<(), Failure> {
        let shown = file.display().to_string();
        if !self.written.lock().insert(file.clone()) {
            let message = format!("cannot compare two different values with {shown}");
            return Err(Failure::new(message));
        }
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(file, yaml::write(value)))
            .map_err(|error| Failure::new(format!("{shown} cannot be written: {error}")))
    }

    /// Returns the written files, sorted by name.
    pub(super) fn written(&self) -> Vec<PathBuf> {
        self.written.lock().iter().cloned().collect()
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
}

/// Returns whether labels are nothing but the runtime's own.
fn is_owner_label_only(labels: &Map<String, Value>) -> bool {
    labels.len() == 1 && labels.contains_key(OWNER_LABEL)
}

/// Removes the values that differ in each run. `key` is the key of the value.
fn normalized(value: &Value, key: &str, namespace: &str) -> Value {
    match value {
        Value::Object(fields) => {
            let stays = |field: &str, value: &Value| match field {
                "observedGeneration" => false,
                "namespace" => value != namespace,
                "uid" if key == "ownerReferences" => false,
                OWNER_LABEL => key != "labels" && key != "matchLabels",
                "labels" => value
                    .as_object()
                    .is_none_or(|labels| !is_owner_label_only(labels)),
                field => key != "metadata" || !VOLATILE_METADATA.contains(&field),
            };
            let fields = fields.iter().filter(|(field, value)| stays(field, value));
            let fields =
                fields.map(|(field, value)| (field.clone(), normalized(value, field, namespace)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| normalized(item, key, namespace))
            .collect(),
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => Value::from("<time>"),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_vary_between_runs_are_omitted() {
        let object = |run: &str, time: &str| {
            json!({
                "metadata": {
                    "name": "a", "namespace": "n", "uid": run, "resourceVersion": run,
                    "generation": run, "creationTimestamp": time,
                    "labels": {OWNER_LABEL: run, "app": "a"},
                    "ownerReferences": [{"kind": "Web", "uid": run}],
                },
                "spec": {"uid": "kept", "namespace": "other"},
                "status": {"observedGeneration": run, "conditions": [{"lastTransitionTime": time}]},
            })
        };
        let one = normalized(&object("1", "2026-01-01T00:00:00Z"), "", "n");
        let other = normalized(&object("2", "2027-02-03T04:05:06.789Z"), "", "n");
        assert_eq!(one, other);
        insta::assert_snapshot!(yaml::write(&one), @r"
        metadata:
          labels:
            app: a
          name: a
          ownerReferences:
          - kind: Web
        spec:
          namespace: other
          uid: kept
        status:
          conditions:
          - lastTransitionTime: <time>
        ");
    }

    #[test]
    fn a_snapshot_is_written_when_asked_and_compared_with_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join(FOLDER);
        let (compared, updated) = (
            Snapshots::new(folder.clone(), false),
            Snapshots::new(folder.clone(), true),
        );
        let missing = compared.check("a", &json!({"size": 3}), "n").unwrap_err();
        assert!(missing.message.ends_with(" does not exist"), "{missing}");
        updated.check("a", &json!({"size": 3}), "n").unwrap();
        assert_eq!(updated.written(), [folder.join("a.yaml")]);
        compared.check("a", &json!({"size": 3}), "n").unwrap();
        let differs = compared.check("a", &json!({"size": 4}), "n").unwrap_err();
        assert!(
            differs.details.contains("-size: 3\n+size: 4\n"),
            "{differs}"
        );
        assert!(compared.written().is_empty());
        let twice = updated.check("a", &json!({"size": 4}), "n").unwrap_err();
        assert!(
            twice
                .message
                .starts_with("cannot compare two different values"),
            "{twice}"
        );
    }

    #[test]
    fn a_name_leads_to_no_other_folder() {
        let snapshots = Snapshots::new(PathBuf::from("none"), true);
        for name in ["", "..", "../a", "a/b", ".a", "a b"] {
            assert!(snapshots.check(name, &json!(1), "n").is_err(), "{name}");
        }
        assert!(snapshots.written().is_empty());
    }
}
