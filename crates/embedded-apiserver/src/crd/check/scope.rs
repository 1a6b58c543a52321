//! The position of a node in a schema, and the errors found in a schema.

use serde_json::Value;

use super::costs::Costs;
use crate::error::FieldError;

/// The position of a node in a schema, as far as it changes the checks.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) is_root: bool,
    pub(super) in_metadata: bool,
    /// The reason that a default is not allowed here.
    pub(super) no_defaults: Option<&'a str>,
    /// The path of the list or map whose items cannot be matched with those of the old state.
    pub(super) uncorrelated: Option<&'a str>,
    /// True if rules are compiled: outside of junctors, and if the schema has no other errors.
    pub(super) with_rules: bool,
    /// The maximum number of values at this node, if it has a bound.
    pub(super) times: Option<u64>,
}

impl Scope<'_> {
    /// Returns the scope of the root of a schema.
    pub(super) fn root(with_rules: bool) -> Self {
        Self {
            is_root: true,
            in_metadata: false,
            no_defaults: None,
            uncorrelated: None,
            with_rules,
            times: Some(1),
        }
    }

    /// Returns the maximum number of values in the lists or maps of a schema that has this bound.
    pub(super) fn times_of(self, schema: &Value, bound: &str) -> Option<u64> {
        let most = schema[bound].as_i64()?;
        Some(self.times?.saturating_mul(u64::try_from(most).unwrap_or(0)))
    }
}

/// The errors of a schema. Rules are compiled only if the schema has no errors.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) schema: Vec<FieldError>,
    pub(super) rules: Vec<FieldError>,
    pub(super) costs: Costs,
}

impl Errors {
    pub(super) fn append(&mut self, other: Self) {
        self.schema.extend(other.schema);
        self.rules.extend(other.rules);
        self.costs.append(other.costs);
    }
}
