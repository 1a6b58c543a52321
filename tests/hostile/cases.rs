//! The cases: each field of each kind, with each hostile value.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rhai_operator::model::yaml;
use serde_json::{Value, json};

use super::random::Random;
use super::values::{self, Hostile};

/// Metadata that a tenant may write, and that the runtime reads.
const METADATA: [&str; 12] = [
    "/metadata/name",
    "/metadata/generateName",
    "/metadata/labels",
    "/metadata/annotations",
    "/metadata/finalizers",
    "/metadata/labels/rhai.operator~1owner",
    "/metadata/annotations/rhai.operator~1reconcile-at",
    "/metadata/annotations/rhai.operator~1reconcile-period",
    "/metadata/annotations/rhai.operator~1paused",
    "/metadata/annotations/rhai.operator~1steps",
    "/metadata/annotations/rhai.operator~1children",
    "/metadata/annotations/ansible.operator-sdk~1reconcile-period",
];

/// The part of the status that a tenant with access to it may write.
const STATUS: [&str; 2] = ["/status", "/status/conditions"];

/// A kind that is attacked.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) name: String,
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    /// Its role in the folder of the project.
    pub(crate) role: String,
    /// A custom resource that does no harm.
    pub(crate) sample: Value,
    /// JSON pointers to the fields that hostile values replace.
    pub(crate) fields: Vec<String>,
    /// The CRD, where it does not come from a file.
    pub(crate) definition: Value,
}

/// One custom resource.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The number in the list of kinds.
    pub(crate) kind: usize,
    pub(crate) field: String,
    pub(crate) hostile: Hostile,
}

/// The cases to run.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// None are all of the list.
    pub(crate) count: Option<usize>,
    pub(crate) seed: u64,
    /// `kind field value`, to run one again.
    pub(crate) only: Option<String>,
}

impl Selection {
    /// Reads the selection from environment variables. The default is `count` cases.
    pub(crate) fn of_environment(count: usize) -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let number =
            |name: &str| -> Option<u64> { variable(name).map(|value| value.parse().expect(name)) };
        Self {
            count: match variable("HOSTILE_CASES").as_deref() {
                Some("all") => None,
                _ => Some(
                    number("HOSTILE_CASES")
                        .map_or(count, |count| usize::try_from(count).expect("a count")),
                ),
            },
            seed: number("HOSTILE_SEED").unwrap_or(1),
            only: variable("HOSTILE_ONLY"),
        }
    }
}

/// The folder of the roles that were written for this.
pub(crate) fn roles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/roles")
}

/// The kinds of the roles that were written for this, in an API group.
pub(crate) fn own_kinds(group: &str) -> Vec<Kind> {
    let folders = std::fs::read_dir(roles()).expect("the roles");
    let mut names: Vec<String> = folders
        .map(|folder| folder.expect("a role").file_name().to_string_lossy().into())
        .filter(|name| name != "widget")
        .collect();
    names.sort();
    names.iter().map(|name| own_kind(group, name)).collect()
}

/// The kind of one of these roles.
pub(crate) fn own_kind(group: &str, role: &str) -> Kind {
    let text = std::fs::read_to_string(roles().join(role).join("sample.yaml")).expect(role);
    let spec = yaml::parse_all(&text).expect(role).remove(0);
    let (first, rest) = role.split_at(1);
    let kind = format!("{}{rest}", first.to_uppercase());
    let plural = format!("{role}s");
    let mut fields = vec!["/spec".to_owned()];
    add_fields(&spec, "/spec", &mut fields);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    // Null reaches the role too.
    let value = json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true});
    let properties = spec.as_object().expect(role).keys();
    let properties: Value =
        Value::Object(properties.map(|key| (key.clone(), value.clone())).collect());
    let spec_schema = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties,
    });
    Kind {
        definition: json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "properties": {"spec": spec_schema, "status": open},
                    }},
                }],
            },
        }),
        sample: json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec}),
        group: group.to_owned(),
        version: "v1".to_owned(),
        name: kind,
        plural,
        is_namespaced: true,
        role: role.to_owned(),
        fields: with_common(fields),
    }
}

/// The kinds of the examples of this repository.
pub(crate) fn example_kinds() -> Vec<Kind> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = |folder: &str| -> Vec<Value> {
        let files = std::fs::read_dir(root.join(folder)).expect(folder);
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect(folder).path()).collect();
        paths.sort();
        let texts = paths
            .iter()
            .map(|path| std::fs::read_to_string(path).expect(folder));
        texts
            .flat_map(|text| yaml::parse_all(&text).expect(folder))
            .collect()
    };
    let watches = std::fs::read_to_string(root.join("watches.yaml")).expect("watches.yaml");
    let watches = yaml::parse_all(&watches).expect("watches.yaml").remove(0);
    let samples = documents("deploy/samples");
    documents("deploy/crds")
        .into_iter()
        .map(|definition| example_kind(&definition, &samples, &watches))
        .collect()
}

fn example_kind(definition: &Value, samples: &[Value], watches: &Value) -> Kind {
    let names = &definition["spec"]["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sample = samples
        .iter()
        .find(|sample| sample["kind"] == names["kind"]);
    let mut sample = sample.expect("a sample").clone();
    let metadata = sample["metadata"].as_object_mut().expect("metadata");
    metadata.remove("name");
    let mut watches = watches.as_array().expect("watches").iter();
    let watch = watches.find(|watch| watch["kind"] == names["kind"]);
    let version = &definition["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut fields = vec!["/spec".to_owned()];
    add_fields(&sample["spec"], "/spec", &mut fields);
    add_properties(schema, "/spec", &mut fields);
    fields.sort();
    fields.dedup();
    Kind {
        group: text(&definition["spec"]["group"]),
        version: text(&version["name"]),
        name: text(&names["kind"]),
        plural: text(&names["plural"]),
        is_namespaced: definition["spec"]["scope"] == "Namespaced",
        role: text(&watch.expect("a watch")["role"]),
        fields: with_common(fields),
        definition: definition.clone(),
        sample,
    }
}

fn with_common(mut fields: Vec<String>) -> Vec<String> {
    fields.extend(METADATA.map(str::to_owned));
    fields.extend(STATUS.map(str::to_owned));
    fields
}

/// All places in a value.
fn add_fields(value: &Value, at: &str, fields: &mut Vec<String>) {
    let mut add = |token: &str, child: &Value| {
        let at = format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
        fields.push(at.clone());
        add_fields(child, &at, fields);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, child)| add(key, child)),
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                add(&index.to_string(), child);
            }
        }
        _ => {}
    }
}

/// All places that a schema has, items of lists apart.
fn add_properties(schema: &Value, at: &str, fields: &mut Vec<String>) {
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}/{key}");
        fields.push(at.clone());
        add_properties(schema, &at, fields);
    }
}

/// The cases of a selection, in a random order; one of ten has a random value.
pub(crate) fn select(kinds: &[Kind], selection: &Selection) -> Vec<Case> {
    let mut rng = StdRng::seed_from_u64(selection.seed);
    let mut random = Random::new(StdRng::seed_from_u64(selection.seed.wrapping_add(1)));
    let values = values::all();
    let mut cases = Vec::new();
    for (kind, field) in places(kinds) {
        let case = |hostile| Case {
            kind,
            field: field.clone(),
            hostile,
        };
        cases.extend(values.iter().cloned().map(case));
        cases.extend((0..values.len() / 9).map(|number| {
            let hostile = random.hostile(number);
            Case {
                kind,
                field: field.clone(),
                hostile,
            }
        }));
    }
    if let Some(only) = &selection.only {
        cases.retain(|case| case.to_text(kinds) == *only);
    }
    cases.shuffle(&mut rng);
    // Specs are what differs from kind to kind.
    let (specs, common): (Vec<_>, Vec<_>) = cases.into_iter().partition(Case::is_spec);
    let count = selection.count.unwrap_or(usize::MAX);
    let common = common.into_iter().take(count / 4);
    let mut cases: Vec<Case> = common.chain(specs).take(count).collect();
    cases.shuffle(&mut rng);
    cases
}

fn places(kinds: &[Kind]) -> Vec<(usize, String)> {
    let fields = |(number, kind): (usize, &Kind)| {
        let fields = kind.fields.clone().into_iter();
        fields.map(move |field| (number, field)).collect::<Vec<_>>()
    };
    kinds.iter().enumerate().flat_map(fields).collect()
}

impl Case {
    /// Returns the value of `HOSTILE_ONLY` that selects this case.
    pub(crate) fn to_text(&self, kinds: &[Kind]) -> String {
        let kind = &kinds[self.kind].name;
        format!("{kind} {} {}", self.field, self.hostile.name)
    }

    fn is_spec(&self) -> bool {
        self.field.starts_with("/spec")
    }

    /// Returns whether it can be made of a harmless custom resource.
    pub(crate) fn can_be_late(&self) -> bool {
        let is_name = self.field.ends_with("ame") && self.field.starts_with("/metadata");
        !is_name && !self.is_status()
    }

    /// Returns whether the value goes into the status, which is written by a request of its own.
    pub(crate) fn is_status(&self) -> bool {
        self.field.starts_with("/status")
    }

    /// The custom resource, in a namespace.
    pub(crate) fn object(&self, kinds: &[Kind], namespace: &str, name: &str) -> Value {
        let mut object = kinds[self.kind].sample.clone();
        object["metadata"]["name"] = name.into();
        if kinds[self.kind].is_namespaced {
            object["metadata"]["namespace"] = namespace.into();
        }
        if !self.is_status() {
            put(&mut object, &self.field, self.hostile.value.clone());
        }
        object
    }
}

/// Replaces a value. Missing fields on its path become maps.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let tokens = pointer.split('/').skip(1);
    let mut place = object;
    for token in tokens.map(|token| token.replace("~1", "/").replace("~0", "~")) {
        place = match place {
            Value::Array(items) => {
                let index: usize = token.parse().expect("an index");
                &mut items[index]
            }
            other => {
                if !other.is_object() {
                    *other = json!({});
                }
                &mut other[token]
            }
        };
    }
    *place = value;
}
