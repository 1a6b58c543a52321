//! Limits the estimated costs of the rules of a schema.

use crate::error::FieldError;

/// The maximum cost of an expression.
const EACH: u64 = 10_000_000;
/// The maximum cost of all expressions in the schema of a version.
const ALL: u64 = 100_000_000;
/// The maximum number of expensive expressions that an error names.
const NAMED: usize = 4;

/// The estimated costs of expressions.
#[derive(Default)]
pub(super) struct Costs {
    total: u64,
    /// The most expensive expressions with their paths. Expressions below a hundredth of the total limit are
    /// not included.
    dearest: Vec<(String, u64)>,
}

impl Costs {
    /// Adds the cost of a rule or message, and an error if it is too high.
    pub(super) fn note(
        &mut self,
        what: &str,
        path: String,
        cost: u64,
        errors: &mut Vec<FieldError>,
    ) {
        if cost > EACH {
            let why = exceeds(&format!("estimated {what} cost"), cost, EACH);
            errors.push(FieldError::forbidden(path.as_str(), why));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= ALL / 100 {
            self.dearest.push((path, cost));
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.dearest.extend(other.dearest);
    }

    /// Returns the errors of the total cost.
    pub(super) fn total(mut self, path: &str) -> Vec<FieldError> {
        if self.total <= ALL {
            return Vec::new();
        }
        self.dearest
            .sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        let named = self.dearest.into_iter().take(NAMED);
        let contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<_> = named
            .map(|(path, _)| FieldError::forbidden(path, contributed))
            .collect();
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, exceeds(what, self.total, ALL)));
        errors
    }
}

#[expect(clippy::cast_precision_loss, reason = "a factor for people")]
fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, \
         maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}
