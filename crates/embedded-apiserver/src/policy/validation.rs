//! Evaluates a `ValidatingAdmissionPolicy`.

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::attributes::Attributes;
use super::definition::fails_closed;
use super::evaluation::Evaluation;

/// The maximum length of a message that an expression returns.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// A validation that a write does not meet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) message: String,
    /// The reason of the Status: `Invalid`, `Forbidden`, ...
    pub(crate) reason: String,
}

impl Denial {
    /// Returns the denial of a policy that cannot be evaluated.
    pub(crate) fn of_error(message: String) -> Self {
        let reason = "Invalid".to_owned();
        Self { message, reason }
    }
}

/// Returns the validations of a policy that a write does not meet.
pub(crate) fn validate(policy: &Value, write: &Attributes<'_>, parameter: &Value) -> Vec<Denial> {
    let evaluation = Evaluation::new(policy, write, parameter);
    match evaluation.meets_conditions(policy) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(error) => return vec![Denial::of_error(error)],
    }
    let validations = policy["spec"]["validations"].as_array();
    let validations = validations.into_iter().flatten();
    validations
        .filter_map(|validation| deny(policy, validation, &evaluation))
        .collect()
}

fn deny(policy: &Value, validation: &Value, evaluation: &Evaluation) -> Option<Denial> {
    match evaluation.evaluate(&validation["expression"]) {
        Ok(Cel::Bool(true)) => None,
        Ok(_) => Some(Denial {
            message: message(validation, evaluation),
            reason: validation["reason"]
                .as_str()
                .unwrap_or("Invalid")
                .to_owned(),
        }),
        Err(error) => fails_closed(policy).then(|| Denial::of_error(error)),
    }
}

/// Returns the message of a failed validation: the computed one, the constant one, or the expression.
fn message(validation: &Value, evaluation: &Evaluation) -> String {
    let text = |field: &str| validation[field].as_str().unwrap_or_default().trim();
    if !text("messageExpression").is_empty()
        && let Ok(Cel::String(computed)) = evaluation.evaluate(&validation["messageExpression"])
    {
        let computed = computed.trim();
        let usable =
            !computed.is_empty() && computed.len() <= MESSAGE_LIMIT && !computed.contains('\n');
        if usable {
            return computed.to_owned();
        }
    }
    match text("message") {
        "" => format!("failed expression: {}", text("expression")),
        message => message.to_owned(),
    }
}
