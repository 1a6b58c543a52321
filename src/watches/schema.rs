//! The JSON Schema of watches.yaml, for editors. The parser (`entry.rs`) does not use it; a test compares the
//! keys of both. The comments are the schema's descriptions, so they contain no Markdown.

#![expect(
    clippy::doc_markdown,
    reason = "editors show these comments as plain text"
)]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

/// Returns the schema as a JSON document.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Vec<Entry>);
    schema.insert("title".to_owned(), "watches.yaml of rhai-operator".into());
    schema.to_value()
}

/// A kind and how its objects are reconciled.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Entry {
    /// API group; empty for the core group.
    #[schemars(default)]
    group: String,
    /// Version of the group, e.g. v1alpha1.
    version: String,
    /// Kind of the objects, e.g. Memcached.
    kind: String,
    /// The role that serves them: a folder of the roles folder, or a path.
    role: String,
    /// Variables that override the custom resource's spec.
    vars: Option<BTreeMap<String, Value>>,
    /// Time between periodic runs, e.g. 1h30m; 0s for none. Default: the flag of the operator.
    reconcile_period: Option<String>,
    /// Maximum number of concurrent runs of this kind. Default: the flag of the operator.
    max_concurrent_reconciles: Option<Count>,
    /// True if the operator writes conditions.
    #[schemars(default = "default_true")]
    manage_status: Flag,
    /// True if changes of children trigger runs.
    #[schemars(default = "default_true")]
    watch_dependent_resources: Flag,
    /// True if changes of cluster-scoped children trigger runs.
    #[schemars(default = "default_true")]
    watch_cluster_scoped_resources: Flag,
    /// True if changes of the custom resource's annotations and labels trigger runs.
    #[schemars(default = "default_false")]
    watch_annotations_changes: Flag,
    /// True if vars contains the keys of the spec in snake_case.
    #[schemars(default = "default_false")]
    snake_case_parameters: Flag,
    /// The objects of the kind that the role serves. Default: all.
    selector: Option<Selector>,
    /// Kinds of children whose changes do not trigger runs.
    blacklist: Option<Vec<Kind>>,
    /// The finalizer that runs a role before a custom resource is deleted.
    finalizer: Option<Finalizer>,
    /// The style of the operator's conditions.
    conditions: Option<Conditions>,
    /// Maximum duration of a run, e.g. 90s. Default: 5m.
    timeout: Option<String>,
    /// True if children that the role no longer applies are deleted.
    #[schemars(default = "default_true")]
    prune: Flag,
    /// True if the operator deletes children that garbage collection cannot reach.
    on_delete: Option<OnDelete>,
    /// True if applies take over fields that other managers own.
    force: Option<Flag>,
    /// True if applies take over existing objects that the custom resource does not own.
    #[schemars(default = "default_false")]
    adopt: Flag,
    /// Namespaces whose objects the role serves. Default: all of WATCH_NAMESPACE.
    #[schemars(length(min = 1))]
    namespaces: Option<Vec<String>>,
}

fn default_true() -> bool {
    true
}

fn default_false() -> bool {
    false
}

/// A boolean, or an environment variable that contains one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Flag {
    Plain(bool),
    Variable(Variable),
}

/// A whole number of at least one, or an environment variable that contains one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Count {
    Plain(#[schemars(range(min = 1))] u64),
    Variable(Variable),
}

/// `${NAME}` or `${NAME:-default}`
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Variable(#[schemars(regex(pattern = r"^\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}$"))] String);

/// A finalizer: a role that runs when a custom resource is deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Finalizer {
    /// The name in metadata.finalizers, e.g. example.com/cleanup.
    name: String,
    /// The role of the deletion run. Default: the role of the watch.
    role: Option<String>,
    /// Variables of the deletion run, which override all others.
    vars: Option<BTreeMap<String, Value>>,
    /// Maximum duration of the deletion, with all its runs. Default: no limit.
    timeout: Option<String>,
    /// The behavior at that limit.
    on_failure: Option<OnFailure>,
}

/// A label selector.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Selector {
    /// The labels with their values.
    match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements. All must be fulfilled.
    match_expressions: Option<Vec<Expression>>,
}

/// A requirement of a label.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Expression {
    /// The name of the label.
    key: String,
    /// The comparison.
    operator: Operator,
    /// The values for In and NotIn.
    values: Option<Vec<String>>,
}

/// The comparison of a label.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// A kind.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
#[expect(clippy::struct_field_names, reason = "the key is called so")]
struct Kind {
    /// API group; empty for the core group.
    #[schemars(default)]
    group: String,
    /// Version of the group.
    version: String,
    /// The kind.
    kind: String,
}

/// `standard`: Ready, Reconciling, Stalled. `ansible`: Running, Successful, Failure.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Conditions {
    Standard,
    Ansible,
}

/// `delete`: the operator deletes them. `orphan`: they stay.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
enum OnDelete {
    Delete,
    Orphan,
}

/// `retry`: the custom resource stays. `orphan`: the finalizer is released, and objects that the role would have deleted stay.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
enum OnFailure {
    Retry,
    Orphan,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::diagnostics::Keys;
    use crate::watches::entry::{ENTRY, FINALIZER, KIND};
    use crate::watches::selector::{EXPRESSION, SELECTOR};

    #[track_caller]
    fn same_keys(schema: &Value, keys: Keys) {
        let described: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().collect();
        let described: BTreeSet<_> = described.into_iter().map(String::as_str).collect();
        assert_eq!(described, keys.known.iter().copied().collect());
    }

    #[test]
    fn the_schema_has_the_keys_of_the_parser() {
        let schema = schema();
        let definitions = &schema["$defs"];
        same_keys(&definitions["Entry"], ENTRY);
        same_keys(&definitions["Finalizer"], FINALIZER);
        same_keys(&definitions["Kind"], KIND);
        same_keys(&definitions["Selector"], SELECTOR);
        same_keys(&definitions["Expression"], EXPRESSION);
    }
}
