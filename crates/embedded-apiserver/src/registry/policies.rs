//! Applies admission policies to writes.
//!
//! Mutating policies run after the owners of fields are set, so that they own nothing. Validating policies run
//! after the validation of the object. Errors have the messages of the real server.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::request::ResourceRequest;
use super::strategy::{self, strategy_of};
use super::transaction::Transaction;
use super::{encode, metadata};
use crate::error::ApiError;
use crate::labels::LabelSelector;
use crate::policy::{self, Attributes, Denial, Operation};
use crate::schema::mismatch;

const VALIDATING: Kind = Kind {
    policies: "validatingadmissionpolicies.admissionregistration.k8s.io",
    bindings: "validatingadmissionpolicybindings.admissionregistration.k8s.io",
};
const MUTATING: Kind = Kind {
    policies: "mutatingadmissionpolicies.admissionregistration.k8s.io",
    bindings: "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
};

/// The resources of a kind of policy.
#[derive(Clone, Copy)]
struct Kind {
    policies: &'static str,
    bindings: &'static str,
}

/// A policy with a binding and one parameter, which is null if there is none.
struct Bound {
    policy: Arc<Value>,
    binding: Arc<Value>,
    parameter: Result<Arc<Value>, Unbound>,
}

/// The reason for which a policy has no parameters.
enum Unbound {
    /// `paramKind` names a kind that is not served.
    Policy(String),
    /// `paramRef` selects no object.
    Binding(String),
}

/// Checks a write against the validating policies. Returns the warnings of bindings whose action is `Warn`.
pub(super) fn validate(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &Value,
    live: &Value,
) -> Result<Vec<String>, ApiError> {
    if tx.list(VALIDATING.policies, None).is_empty() {
        return Ok(Vec::new());
    }
    let namespace = namespace_of(tx, call);
    let write = attributes(call, object, live, &namespace);
    let mut warnings = Vec::new();
    let mut refusal = None;
    for bound in select(tx, VALIDATING, &write) {
        let (policy, binding) = (
            metadata::name(&bound.policy),
            metadata::name(&bound.binding),
        );
        let named = format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}'");
        let closed = policy::fails_closed(&bound.policy);
        let (subject, denials) = match bound.parameter {
            Ok(parameter) => (named, policy::validate(&bound.policy, &write, &parameter)),
            Err(_) if !closed => continue,
            Err(Unbound::Policy(why)) => {
                let why = format!("failed to configure policy: {why}");
                let subject = format!("ValidatingAdmissionPolicy '{policy}'");
                (subject, vec![Denial::of_error(why)])
            }
            Err(Unbound::Binding(why)) => {
                let why = format!("failed to configure binding: {why}");
                (named, vec![Denial::of_error(why)])
            }
        };
        for Denial { message, reason } in denials {
            for action in bound.binding["spec"]["validationActions"]
                .as_array()
                .into_iter()
                .flatten()
            {
                if action == "Warn" {
                    warnings.push(format!("Validation failed for {subject}: {message}"));
                } else if action == "Deny" && refusal.is_none() {
                    let message = format!("{subject} denied request: {message}");
                    refusal = Some(refuse(call, &write, &reason, &message));
                }
            }
        }
    }
    refusal.map_or(Ok(warnings), Err)
}

/// Changes a new or updated object as the mutating policies require.
pub(super) fn mutate(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &mut Value,
    live: &Value,
) -> Result<(), ApiError> {
    if tx.list(MUTATING.policies, None).is_empty() {
        return Ok(());
    }
    let namespace = namespace_of(tx, call);
    let bound = select(tx, MUTATING, &attributes(call, object, live, &namespace));
    for Bound {
        policy,
        binding,
        parameter,
    } in bound
    {
        let write = attributes(call, object, live, &namespace);
        let mutated = match parameter {
            Ok(parameter) => policy::mutate(&policy, &write, &parameter, &strategy::schema(call)),
            Err(_) if !policy::fails_closed(&policy) => continue,
            Err(Unbound::Policy(why)) => Err(format!("failed to configure policy: {why}")),
            Err(Unbound::Binding(why)) => Err(format!("failed to configure binding: {why}")),
        };
        let mutated = mutated.map_err(|why| {
            let (policy, binding) = (metadata::name(&policy), metadata::name(&binding));
            let message =
                format!("policy '{policy}' with binding '{binding}' denied request: {why}");
            let error = ApiError::mutation_failed(&*message);
            with_cause(call, error, shown_name(object), &message)
        })?;
        if let Some(mutated) = mutated {
            *object = decoded(call, mutated)?;
        }
    }
    Ok(())
}

/// Checks the types of a mutated object, and sets its defaults again.
fn decoded(call: &ResourceRequest, mut object: Value) -> Result<Value, ApiError> {
    let schema = strategy::schema(call);
    if !call.resource.is_custom() {
        mismatch::check(&schema, &call.resource.kind, &call.version, &object).map_err(|error| {
            // The message begins with the kind, which the real server leaves out here.
            let why = error
                .message
                .split_once(": ")
                .map_or(&*error.message, |(_, why)| why);
            ApiError::internal(why)
        })?;
    }
    strategy_of(&call.resource).decode(call, &mut object)?;
    Ok(object)
}

fn attributes<'a>(
    call: &'a ResourceRequest,
    object: &'a Value,
    live: &'a Value,
    namespace: &'a Value,
) -> Attributes<'a> {
    let operation = match (object.is_null(), live.is_null()) {
        (true, _) => Operation::Delete,
        (false, true) => Operation::Create,
        (false, false) => Operation::Update,
    };
    Attributes {
        operation,
        resource: &call.resource,
        version: &call.version,
        subresource: &call.subresource,
        name: match &*call.name {
            "" => metadata::name(object),
            name => name,
        },
        namespace: &call.namespace,
        user: &call.user,
        dry_run: call.options.dry_run,
        object,
        old: live,
        namespace_object: namespace,
    }
}

fn namespace_of(tx: &Transaction<'_>, call: &ResourceRequest) -> Value {
    let namespaced = call.resource.namespaced;
    let namespace = namespaced.then(|| tx.get("namespaces", "", &call.namespace));
    namespace.flatten().map_or(Value::Null, |it| (*it).clone())
}

/// Returns the policies that apply to a write, once for each binding and parameter.
fn select(tx: &Transaction<'_>, kind: Kind, write: &Attributes<'_>) -> Vec<Bound> {
    let bindings = tx.list(kind.bindings, None);
    let mut selected = Vec::new();
    for policy in tx.list(kind.policies, None) {
        if !policy::policy_matches(&policy, write) {
            continue;
        }
        let of_policy = bindings.iter().filter(|binding| {
            binding["spec"]["policyName"] == metadata::name(&policy)
                && policy::binding_matches(binding, write)
        });
        for binding in of_policy {
            let bound = |parameter| Bound {
                policy: Arc::clone(&policy),
                binding: Arc::clone(binding),
                parameter,
            };
            match parameters(tx, &policy, binding, write.namespace) {
                Ok(found) => selected.extend(found.into_iter().map(|one| bound(Ok(one)))),
                Err(why) => selected.push(bound(Err(why))),
            }
        }
    }
    selected
}

/// Returns the objects that a binding refers to, or null if the policy or the binding needs none.
fn parameters(
    tx: &Transaction<'_>,
    policy: &Value,
    binding: &Value,
    namespace: &str,
) -> Result<Vec<Arc<Value>>, Unbound> {
    let (kind, reference) = (&policy["spec"]["paramKind"], &binding["spec"]["paramRef"]);
    if kind.is_null() {
        return Ok(vec![Arc::new(Value::Null)]);
    }
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(kind, "apiVersion"), text(kind, "kind"));
    let Some(resource) = tx.resource_of_kind(&api_version, &kind) else {
        return Err(Unbound::Policy(format!(
            "failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'"
        )));
    };
    if reference.is_null() {
        return Ok(vec![Arc::new(Value::Null)]);
    }
    let own = text(reference, "namespace");
    let namespace = match (resource.namespaced, &*own, namespace) {
        (false, "", _) => "",
        (false, ..) => {
            let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
            return Err(Unbound::Binding(why.to_owned()));
        }
        (true, "", "") => {
            let why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(Unbound::Binding(why.to_owned()));
        }
        (true, "", namespace) => namespace,
        (true, own, _) => own,
    };
    let name = text(reference, "name");
    let found = if name.is_empty() {
        let selector = LabelSelector::from_value(&reference["selector"]).unwrap_or_default();
        let mut all = tx.list(resource.storage(), Some(namespace));
        all.retain(|it| selector.matches(|label| it["metadata"]["labels"][label].as_str()));
        all
    } else {
        tx.get(resource.storage(), namespace, &name)
            .into_iter()
            .collect()
    };
    if found.is_empty() && reference["parameterNotFoundAction"] == "Deny" {
        let why = "no params found for policy binding with `Deny` parameterNotFoundAction";
        return Err(Unbound::Binding(why.to_owned()));
    }
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let presented = found
        .iter()
        .map(|it| encode::presented(&resource, version, it));
    Ok(presented.collect())
}

/// Returns the error of a denied write.
fn refuse(call: &ResourceRequest, write: &Attributes<'_>, reason: &str, message: &str) -> ApiError {
    let name = match write.name {
        "" => Cow::Borrowed("Unknown"),
        name => Cow::Borrowed(name),
    };
    let shown = format!("{} {name:?} is forbidden: {message}", call.resource.id());
    with_cause(call, ApiError::denied(reason, shown), &name, message)
}

fn with_cause(call: &ResourceRequest, error: ApiError, name: &str, message: &str) -> ApiError {
    let (group, plural) = (&*call.resource.group, &*call.resource.plural);
    error
        .about(group, plural, name)
        .with_detail("causes", json!([{"message": message}]))
}

/// Returns the name of an object, or the base of the name that it will get.
fn shown_name(object: &Value) -> &str {
    match metadata::text(object, "generateName") {
        "" => metadata::name(object),
        base => base,
    }
}
