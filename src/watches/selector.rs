//! Parses a label selector: `matchLabels` and `matchExpressions`.

use crate::model::diagnostics::{Fields, Item, Keys};
use crate::model::selector::{LabelSelector, Operator, Requirement};
use crate::model::syntax::{is_label_value, is_qualified_name};

pub(super) const SELECTOR: Keys = Keys {
    known: &["matchLabels", "matchExpressions"],
    refused: &[],
};
pub(super) const EXPRESSION: Keys = Keys {
    known: &["key", "operator", "values"],
    refused: &[],
};

/// Parses a selector. Invalid requirements are reported and left out.
pub(super) fn parse(item: &Item<'_>) -> Option<LabelSelector> {
    let fields = item.fields(SELECTOR)?;
    let mut requirements = Vec::new();
    if let Some(labels) = fields.get("matchLabels") {
        for (key, value) in labels.entries()? {
            if !is_qualified_name(&key.name) {
                let message = format!("expected the name of a label, found {:?}", key.name);
                labels.error_at(key.position, &message, "");
            }
            requirements.extend(label_value(&value).map(|value| Requirement {
                key: key.name.clone(),
                operator: Operator::In,
                values: vec![value],
            }));
        }
    }
    if let Some(expressions) = fields.get("matchExpressions") {
        let expressions = expressions.items()?;
        requirements.extend(expressions.iter().filter_map(expression));
    }
    Some(LabelSelector::new(requirements))
}

fn expression(item: &Item<'_>) -> Option<Requirement> {
    let fields = item.fields(EXPRESSION)?;
    let key = fields
        .required("key", None)
        .and_then(|key| key.text_like("the name of a label", is_qualified_name));
    let operator = fields
        .required("operator", None)
        .and_then(|operator| operator.choice(&Operator::NAMES));
    let values = values(&fields, operator?)?;
    Some(Requirement {
        key: key?.to_owned(),
        operator: operator?,
        values,
    })
}

fn values(fields: &Fields<'_>, operator: Operator) -> Option<Vec<String>> {
    let takes_values = matches!(operator, Operator::In | Operator::NotIn);
    let Some(item) = fields.get("values") else {
        if takes_values {
            fields.required("values", None);
            return None;
        }
        return Some(Vec::new());
    };
    let values = item.items()?;
    if takes_values == values.is_empty() {
        let message = if takes_values {
            "expected at least one value"
        } else {
            "Exists and DoesNotExist cannot have values"
        };
        item.error(message, "");
        return None;
    }
    values.iter().map(label_value).collect()
}

fn label_value(item: &Item<'_>) -> Option<String> {
    let value = item.text_like("a label's value", is_label_value)?;
    Some(value.to_owned())
}
