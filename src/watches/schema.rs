//! The JSON Schema of watches.yaml, for editors. The reading itself is done by hand (`entry.rs`); a test
//! keeps the keys of both the same. The comments are the schema's descriptions: no Markdown in them.

#![expect(
    clippy::doc_markdown,
    reason = "editors show these comments as plain text"
)]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

/// The schema of the file as a JSON document.
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
    /// Variables that win over the custom resource's spec.
    vars: Option<BTreeMap<String, Value>>,
    /// Time between runs when nothing happens, e.g. 1h30m; 0s for never. Without it the flag counts.
    reconcile_period: Option<String>,
    /// Runs of this kind at one time. Without it the flag counts.
    max_concurrent_reconciles: Option<Count>,
    /// Whether the runtime writes conditions of its own.
    #[schemars(default = "yes")]
    manage_status: Flag,
    /// Whether changes of children trigger runs.
    #[schemars(default = "yes")]
    watch_dependent_resources: Flag,
    /// Whether changes of cluster-scoped children trigger runs.
    #[schemars(default = "yes")]
    watch_cluster_scoped_resources: Flag,
    /// Whether changes of the custom resource's annotations and labels trigger runs.
    #[schemars(default = "no")]
    watch_annotations_changes: Flag,
    /// Whether the spec's keys appear in vars in snake_case.
    #[schemars(default = "no")]
    snake_case_parameters: Flag,
    /// Which objects of the kind are served; without it all.
    selector: Option<Selector>,
    /// Kinds of children that do not trigger runs.
    blacklist: Option<Vec<Kind>>,
    /// What happens before a custom resource goes.
    finalizer: Option<Finalizer>,
    /// The style of the runtime's conditions.
    conditions: Option<Conditions>,
    /// The longest that one run may take, e.g. 90s; without it 5m.
    timeout: Option<String>,
    /// Whether children that the role no longer applies are deleted.
    #[schemars(default = "yes")]
    prune: Flag,
    /// What becomes of children that garbage collection cannot reach.
    on_delete: Option<OnDelete>,
    /// Whether applies take over fields that other managers own.
    force: Option<Flag>,
    /// Whether applies take over existing objects that the custom resource does not own.
    #[schemars(default = "no")]
    adopt: Flag,
    /// Namespaces whose objects are served; without it all of WATCH_NAMESPACE.
    #[schemars(length(min = 1))]
    namespaces: Option<Vec<String>>,
}

fn yes() -> bool {
    true
}

fn no() -> bool {
    false
}

/// A boolean, or the environment variable that holds it.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Flag {
    Plain(bool),
    Variable(Variable),
}

/// A whole number of at least one, or the environment variable that holds it.
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

/// What happens between a custom resource's deletion and its end.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Finalizer {
    /// Name that is put into metadata.finalizers, e.g. example.com/cleanup.
    name: String,
    /// Role of the deletion run; without it the watch's own.
    role: Option<String>,
    /// Variables of the deletion run, winning over all others.
    vars: Option<BTreeMap<String, Value>>,
    /// The longest that the deletion may take in all; without it there is no bound.
    timeout: Option<String>,
    /// What happens at that bound.
    on_failure: Option<OnFailure>,
}

/// A label selector.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Selector {
    /// Labels and the values that they must have.
    match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements; all must hold.
    match_expressions: Option<Vec<Expression>>,
}

/// What one label must be like.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Expression {
    /// Name of the label.
    key: String,
    /// How it is compared.
    operator: Operator,
    /// The values that In and NotIn speak of.
    values: Option<Vec<String>>,
}

/// How a label is compared.
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
    /// The kind itself.
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

/// `delete`: the runtime deletes them. `orphan`: they stay.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
enum OnDelete {
    Delete,
    Orphan,
}

/// `retry`: the custom resource stays. `orphan`: it goes, and what the role would have removed stays.
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
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let definitions = &schema["$defs"];
        same_keys(&definitions["Entry"], ENTRY);
        same_keys(&definitions["Finalizer"], FINALIZER);
        same_keys(&definitions["Kind"], KIND);
        same_keys(&definitions["Selector"], SELECTOR);
        same_keys(&definitions["Expression"], EXPRESSION);
    }
}
