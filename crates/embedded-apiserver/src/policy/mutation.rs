//! Evaluates a `MutatingAdmissionPolicy`.

use serde_json::Value;

use super::attributes::Attributes;
use super::definition::fails_closed;
use super::evaluation::{Evaluation, to_json};
use crate::apply;
use crate::patch;
use crate::schema::Schema;

/// Returns the object that the mutations of a policy make of a write's object, or nothing if the policy does
/// not apply to it. Mutations that fail are left out if the policy ignores failures.
pub(crate) fn mutate(
    policy: &Value,
    write: &Attributes<'_>,
    parameter: &Value,
    schema: &Schema,
) -> Result<Option<Value>, String> {
    if !Evaluation::new(policy, write, parameter).meets_conditions(policy)? {
        return Ok(None);
    }
    let mut object = write.object.clone();
    let mutations = policy["spec"]["mutations"].as_array();
    for mutation in mutations.into_iter().flatten() {
        // Each mutation sees the result of the one before it.
        let current = Attributes {
            object: &object,
            ..*write
        };
        let evaluation = Evaluation::new(policy, &current, parameter);
        match mutated(mutation, &object, &evaluation, schema) {
            Ok(next) => object = next,
            Err(error) if fails_closed(policy) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(Some(object))
}

fn mutated(
    mutation: &Value,
    object: &Value,
    evaluation: &Evaluation,
    schema: &Schema,
) -> Result<Value, String> {
    if mutation["patchType"] == "JSONPatch" {
        let operations = evaluation.evaluate(&mutation["jsonPatch"]["expression"])?;
        let operations = to_json(&operations)?;
        return match patch::json_of_policy(object, &operations) {
            Ok(Some(patched)) => Ok(patched),
            // A failed `test` ends the patch without an error.
            Ok(None) => Ok(object.clone()),
            Err(error) => Err(format!("JSON Patch: {error}")),
        };
    }
    let configuration = evaluation.evaluate(&mutation["applyConfiguration"]["expression"])?;
    let configuration = to_json(&configuration)?;
    apply::merge_into(schema, object, &configuration)
        .map_err(|error| format!("error applying patch: {error}"))
}
