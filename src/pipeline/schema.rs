//! The JSON Schema of a file of steps, for editors. The reading itself is done by hand (`read.rs`); a
//! test keeps the keys of both the same. The comments are the schema's descriptions: no Markdown in them.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::keys::ACTIONS;

/// The schema of the file as a JSON document.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Vec<Step>);
    schema.insert("title".to_owned(), "pipeline of rhai-operator".into());
    let mut schema = schema.to_value();
    // One action, which no type of Rust says.
    let one = ACTIONS
        .iter()
        .map(|action| serde_json::json!({"required": [action]}));
    schema["$defs"]["Step"]["oneOf"] = one.collect();
    schema
}

/// A step: what is to be done, when, and after what.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Step {
    /// Its name: what needs and results go by.
    name: Option<String>,
    /// It is done only if this holds: Rhai, or JSONPath that selects something.
    when: Option<Tests>,
    /// It is done for each of these, as item.
    r#loop: Option<Loop>,
    /// The key of results that its result is kept under; without it the name.
    register: Option<String>,
    /// Steps that have to be done before it; without it the one before, with an empty list none.
    needs: Option<Words>,
    /// It waits until its objects are ready (true), or until this holds for each object.
    ready: Option<Test>,
    /// It waits until this holds for its result.
    until: Option<Tests>,
    /// How long it may wait before that is a failure, e.g. 10m.
    timeout: Option<String>,
    /// How many runs it may fail in before its failure is final.
    retries: Option<u64>,
    /// Variables laid over vars, for it and for all steps within it.
    vars: Option<BTreeMap<String, Value>>,
    /// Words that --tags selects by.
    tags: Option<Words>,
    /// Makes objects as they are given: a manifest, a list of such, a file or a template.
    apply: Option<Apply>,
    /// Deletes objects.
    delete: Option<Delete>,
    /// Runs Rhai; its value is the result.
    script: Option<Script>,
    /// Runs another role on the same custom resource.
    role: Option<Role>,
    /// Does the steps of a file of tasks/.
    include: Option<Script>,
    /// Lays this over the status.
    status: Option<Values>,
    /// Sets a condition of the status.
    condition: Option<Condition>,
    /// Sends an Event.
    event: Option<Event>,
    /// Fails for good unless all of this holds.
    assert: Option<Assert>,
    /// Fails for good with this message.
    fail: Option<Fail>,
    /// Does steps together.
    block: Option<Vec<Self>>,
    /// What is done when a step of the block fails.
    rescue: Option<Vec<Self>>,
    /// What is done after the block, also when it failed.
    always: Option<Vec<Self>>,
}

/// Rhai, also as ${...}; or JSONPath, where it begins with $. or $[
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Test {
    Fixed(bool),
    Code(String),
}

/// One or several that all have to hold.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Tests {
    One(Test),
    All(Vec<Test>),
}

/// A list or a map, or Rhai or JSONPath that gives one.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Loop {
    Items(Vec<Value>),
    Entries(BTreeMap<String, Value>),
    Code(String),
}

/// One word or several.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// What is applied.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Apply {
    Source(Source),
    Manifest(Manifest),
    Manifests(Vec<Part>),
    Slot(Slot),
}

/// One of several manifests.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Part {
    Manifest(Manifest),
    Slot(Slot),
}

/// Where a manifest comes from, and how it is applied.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Source {
    /// The manifest, or a list of such.
    manifest: Option<Value>,
    /// A file of files/, as it is.
    file: Option<String>,
    /// A file of templates/, or a pattern.
    template: Option<String>,
    /// Variables of the template.
    vars: Option<BTreeMap<String, Value>>,
    /// false: no owner, no pruning.
    owner: Option<bool>,
    /// Whether fields are taken from other managers.
    force: Option<bool>,
    /// Whether an object that another controls is taken over.
    adopt: Option<bool>,
    /// Whether what cannot be changed is deleted and made anew.
    recreate: Option<bool>,
}

/// An object.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Manifest {
    /// Group and version, e.g. apps/v1.
    api_version: String,
    /// Kind of the object.
    kind: String,
}

/// A string that is one expression: ${...}
#[derive(JsonSchema)]
struct Slot(#[schemars(regex(pattern = r"^\$\{"))] String);

/// Objects or references, or one.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Delete {
    One(Reference),
    Several(Vec<Named>),
    Slot(Slot),
}

/// One of several objects.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Named {
    Reference(Reference),
    Slot(Slot),
}

/// An object by its name.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
struct Reference {
    /// Group and version, e.g. apps/v1.
    api_version: String,
    /// Kind of the object.
    kind: String,
    /// Its name.
    name: Option<String>,
    /// Its namespace; without it the custom resource's.
    namespace: Option<String>,
    /// Name and namespace, as in an object.
    metadata: Option<Value>,
    /// background, foreground or orphan.
    propagation: Option<Propagation>,
}

/// What becomes of what it owns.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Written here, or a file of tasks/.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Script {
    Text(String),
    File(File),
}

/// A file of tasks/.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct File {
    /// Its name.
    file: String,
}

/// A role, with variables or without.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Role {
    Name(String),
    Call(Call),
}

/// A role and what is laid over its variables.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Call {
    /// Its name.
    name: String,
    /// Laid over its variables.
    vars: Option<BTreeMap<String, Value>>,
}

/// A map, or ${...} that gives one.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Values {
    Map(BTreeMap<String, Value>),
    Slot(Slot),
}

/// A condition.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Condition {
    /// Its type, e.g. Degraded.
    r#type: String,
    /// true, false, True, False, Unknown, or ${...}
    status: Test,
    /// A word in CamelCase.
    reason: String,
    /// For people.
    message: Option<String>,
}

/// An Event.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Event {
    /// Normal or Warning; without it Normal.
    r#type: Option<String>,
    /// A word in CamelCase.
    reason: String,
    /// For people.
    message: String,
}

/// What has to hold.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Assert {
    Tests(Tests),
    Said(Said),
}

/// What has to hold, and what is said otherwise.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Said {
    /// What has to hold.
    that: Tests,
    /// What is said otherwise.
    message: Option<String>,
}

/// A message.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Fail {
    Text(String),
    Message(Message),
}

/// A message.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Message {
    /// For people.
    message: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::keys;
    use super::*;
    use crate::model::diagnostics::Keys;

    #[track_caller]
    fn same_keys(schema: &Value, keys: Keys) {
        let described = schema["properties"].as_object().unwrap().keys();
        let described: BTreeSet<_> = described.map(String::as_str).collect();
        assert_eq!(described, keys.known.iter().copied().collect());
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let definitions = &schema["$defs"];
        same_keys(&definitions["Step"], keys::STEP);
        same_keys(&definitions["Source"], keys::APPLY);
        same_keys(&definitions["Reference"], keys::DELETE);
        same_keys(&definitions["File"], keys::SCRIPT);
        same_keys(&definitions["Call"], keys::ROLE);
        same_keys(&definitions["Condition"], keys::CONDITION);
        same_keys(&definitions["Event"], keys::EVENT);
        same_keys(&definitions["Said"], keys::ASSERT);
        same_keys(&definitions["Message"], keys::FAIL);
    }
}
