//! The JSON Schema of a file of steps, for editors. The parser does not use it; a test compares the keys of
//! both. The comments are the schema's descriptions, so they contain no Markdown.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use super::keys::ACTIONS;

/// Returns the schema as a JSON document.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Vec<Step>);
    schema.insert("title".to_owned(), "pipeline of rhai-operator".into());
    let mut schema = schema.to_value();
    // No Rust type can express that a step has exactly one action.
    let one = ACTIONS
        .iter()
        .map(|action| serde_json::json!({"required": [action]}));
    schema["$defs"]["Step"]["oneOf"] = one.collect();
    schema
}

/// A step: one action, with its conditions, gates and needs.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Step {
    /// The name that needs and results refer to.
    name: Option<String>,
    /// The step is skipped unless this is true: Rhai, or JSONPath that selects something.
    when: Option<Tests>,
    /// The step is repeated for each of these, as item.
    r#loop: Option<Loop>,
    /// The key of results for its result. Default: the name.
    register: Option<String>,
    /// Steps that must be done before it. Default: the step before it. An empty list: none.
    needs: Option<Words>,
    /// The step waits until its objects are ready (true), or until this is true for each object.
    ready: Option<Test>,
    /// The step waits until this is true.
    until: Option<Tests>,
    /// The time that it can wait before it fails, e.g. 10m.
    timeout: Option<String>,
    /// The number of runs that it can fail in before its failure is final.
    retries: Option<u64>,
    /// Variables merged into vars, for the step and all steps within it.
    vars: Option<BTreeMap<String, Value>>,
    /// Words for --tags.
    tags: Option<Words>,
    /// Applies objects: a manifest, a list of manifests, a file or a template.
    apply: Option<Apply>,
    /// Deletes objects.
    delete: Option<Delete>,
    /// Runs Rhai. Its value is the result.
    script: Option<Script>,
    /// Runs another role on the same custom resource.
    role: Option<Role>,
    /// Executes the steps of a file of tasks/.
    include: Option<Script>,
    /// Merges this into the status.
    status: Option<Values>,
    /// Sets a condition of the status.
    condition: Option<Condition>,
    /// Sends an Event.
    event: Option<Event>,
    /// Fails without retries unless all of this is true.
    assert: Option<Assert>,
    /// Fails without retries, with this message.
    fail: Option<Fail>,
    /// Executes steps together.
    block: Option<Vec<Self>>,
    /// Steps that are executed if a step of the block fails.
    rescue: Option<Vec<Self>>,
    /// Steps that are executed after the block, also if it failed.
    always: Option<Vec<Self>>,
}

/// Rhai, also as ${...}, or JSONPath that begins with $. or $[
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Test {
    Fixed(bool),
    Code(String),
}

/// One or several tests that must all be true.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Tests {
    One(Test),
    All(Vec<Test>),
}

/// A list or a map, or Rhai or JSONPath that returns one.
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

/// The objects to apply.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Apply {
    Source(Source),
    Manifest(Manifest),
    Manifests(Vec<Part>),
    Slot(Slot),
}

/// A manifest in a list.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Part {
    Manifest(Manifest),
    Slot(Slot),
}

/// The source of manifests, with options.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Source {
    /// The manifest, or a list of manifests.
    manifest: Option<Value>,
    /// A file of files/.
    file: Option<String>,
    /// A file of templates/, or a pattern.
    template: Option<String>,
    /// Variables of the template.
    vars: Option<BTreeMap<String, Value>>,
    /// false: no owner, no pruning.
    owner: Option<bool>,
    /// True if the apply takes fields from other managers.
    force: Option<bool>,
    /// True if the apply takes over existing objects that the custom resource does not own.
    adopt: Option<bool>,
    /// True if objects with changed immutable fields are deleted and created again.
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

/// An object or a reference, or a list of these.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Delete {
    One(Reference),
    Several(Vec<Named>),
    Slot(Slot),
}

/// An object in a list.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Named {
    Reference(Reference),
    Slot(Slot),
}

/// A reference to an object.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
struct Reference {
    /// Group and version, e.g. apps/v1.
    api_version: String,
    /// Kind of the object.
    kind: String,
    /// Its name.
    name: Option<String>,
    /// Its namespace. Default: that of the custom resource.
    namespace: Option<String>,
    /// Name and namespace, as in an object.
    metadata: Option<Value>,
    /// background, foreground or orphan.
    propagation: Option<Propagation>,
}

/// The fate of the objects that it owns.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Code, or a file of tasks/.
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

/// A role, with or without variables.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Role {
    Name(String),
    Call(RoleReference),
}

/// A role with variables.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RoleReference {
    /// Its name.
    name: String,
    /// Variables that override those of the role.
    vars: Option<BTreeMap<String, Value>>,
}

/// A map, or ${...} that returns one.
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
    /// The message for users.
    message: Option<String>,
}

/// An Event.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Event {
    /// Normal or Warning. Default: Normal.
    r#type: Option<String>,
    /// A word in CamelCase.
    reason: String,
    /// The message for users.
    message: String,
}

/// Tests that must all be true.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Assert {
    Tests(Tests),
    WithMessage(AssertionWithMessage),
}

/// Tests with a message.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct AssertionWithMessage {
    /// The tests.
    that: Tests,
    /// The message of the failure.
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
    /// The message for users.
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
        same_keys(&definitions["RoleReference"], keys::ROLE);
        same_keys(&definitions["Condition"], keys::CONDITION);
        same_keys(&definitions["Event"], keys::EVENT);
        same_keys(&definitions["AssertionWithMessage"], keys::ASSERT);
        same_keys(&definitions["Message"], keys::FAIL);
    }
}
