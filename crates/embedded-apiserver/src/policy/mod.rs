//! Admission policies: rules in the Common Expression Language that refuse or change writes.
//!
//! Implements `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy` as functions of an [`Attributes`] and
//! of the policies. The registry finds the policies, their bindings and their parameters. Policies are parsed
//! for each write, which is fast enough for the few policies of a test. The variable `authorizer` is not
//! implemented: an expression that uses it fails.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/>
//! <https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/>

mod attributes;
mod check;
mod definition;
mod evaluation;
mod matching;
mod mutation;
mod validation;

pub(crate) use attributes::{Attributes, Operation};
pub(crate) use check::check;
pub(crate) use definition::{GROUP, fails_closed};
pub(crate) use matching::{binding_matches, policy_matches};
pub(crate) use mutation::mutate;
pub(crate) use validation::{Denial, validate};

#[cfg(test)]
mod tests;
