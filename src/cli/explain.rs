//! `rhai-operator explain`: prints the manual of a host function, or the description of a key.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::Args;
use serde_json::Value;

use super::Exit;
use crate::host::catalogue::{self, Function};
use crate::model::diagnostics::nearest;
use crate::{pipeline, watches};

/// The topic to explain.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of a host function, such as `k8s_apply`, or of a key of watches.yaml or a pipeline, such as
    /// `reconcilePeriod`. Default: list all host functions.
    topic: Option<String>,
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let mut stdout = io::stdout().lock();
        let Some(topic) = self.topic else {
            list_functions(&mut stdout)?;
            return Ok(Exit::Done);
        };
        let functions: Vec<Function> = catalogue::packages()
            .into_iter()
            .flat_map(|package| package.functions)
            .collect();
        let keys = keys();
        let function = functions.iter().find(|function| function.name == topic);
        if let Some(function) = function {
            let signatures = function.signatures.join("\n");
            writeln!(stdout, "{signatures}\n\n{}", function.doc.trim_end())?;
        }
        let found: Vec<&Key> = keys.iter().filter(|key| key.name == topic).collect();
        for key in &found {
            writeln!(stdout, "{} ({}): {}", key.name, key.place, key.description)?;
        }
        if function.is_none() && found.is_empty() {
            let names = functions.iter().map(|function| &*function.name);
            let names: Vec<&str> = names.chain(keys.iter().map(|key| &*key.name)).collect();
            let hint = nearest(&topic, &names).map_or_else(
                || "rhai-operator explain lists all functions".to_owned(),
                |near| format!("did you mean {near:?}?"),
            );
            anyhow::bail!("cannot find a function or key {topic:?}\n  hint: {hint}");
        }
        Ok(Exit::Done)
    }
}

fn list_functions(out: &mut impl Write) -> io::Result<()> {
    for package in catalogue::packages() {
        writeln!(out, "{}", package.title)?;
        for Function { name, doc, .. } in &package.functions {
            let first = doc.lines().next().unwrap_or_default();
            writeln!(out, "  {name:<20} {first}")?;
        }
    }
    Ok(())
}

/// A key of a file that users write.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: String,
    /// The file, and the part of it that has the key.
    place: String,
    description: String,
}

/// Returns the keys of all files that have a schema.
fn keys() -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for (file, schema) in [
        ("watches.yaml", watches::schema()),
        ("pipeline", pipeline::schema()),
    ] {
        for (part, schema) in schema["$defs"].as_object().into_iter().flatten() {
            let place = format!("{file}, {}", part.to_lowercase());
            add_keys(&place, schema, &mut keys);
        }
    }
    keys
}

/// Adds the keys of a schema and of its alternatives.
fn add_keys(place: &str, schema: &Value, keys: &mut BTreeSet<Key>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let description = field["description"].as_str().unwrap_or_default();
        keys.insert(Key {
            name: name.clone(),
            place: place.to_owned(),
            description: description.to_owned(),
        });
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[alternatives].as_array().into_iter().flatten() {
            add_keys(place, schema, keys);
        }
    }
}
