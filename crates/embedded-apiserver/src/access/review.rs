//! Access reviews, which the server responds to without storing them.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access>

use serde_json::{Map, Value, json};

use super::rbac::{self, Decision};
use super::{Attributes, Rules};
use crate::builtin;
use crate::builtin::path::{items, text};
use crate::error::{ApiError, FieldError};
use crate::user::User;

/// The facts that the response to a review depends on.
pub(crate) struct Context<'a> {
    /// The user that sends the review.
    pub user: &'a User,
    /// The namespace of the request. Empty for cluster-scoped reviews.
    pub namespace: &'a str,
    /// The current time as RFC 3339 with whole seconds.
    pub now: &'a str,
    /// The roles and bindings.
    pub rules: &'a dyn Rules,
    /// Returns the user of a token.
    pub tokens: &'a dyn Fn(&str) -> Option<User>,
}

/// Returns whether [`answer`] handles the kind.
pub(crate) fn is_review(kind: &str) -> bool {
    matches!(
        kind,
        "SelfSubjectAccessReview"
            | "SubjectAccessReview"
            | "LocalSubjectAccessReview"
            | "SelfSubjectRulesReview"
            | "SelfSubjectReview"
            | "TokenReview"
    )
}

/// Responds to a review of `authorization.k8s.io` or `authentication.k8s.io`.
pub(crate) fn answer(mut review: Value, context: &Context<'_>) -> Result<Value, ApiError> {
    let kind = text(&review, &["kind"]).to_owned();
    let status = match kind.as_str() {
        "SelfSubjectAccessReview" => own_access(&review, context)?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access(&review, &kind, context)?,
        "SelfSubjectRulesReview" => {
            let status = own_rules(&review, context)?;
            // The response of the real server has an empty spec.
            review["spec"] = json!({});
            status
        }
        "SelfSubjectReview" => {
            review["metadata"] = json!({"creationTimestamp": context.now});
            json!({"userInfo": user_info(context.user)})
        }
        "TokenReview" => token(&review, context)?,
        _ => {
            let message = format!("{kind} is no review that is answered here");
            return Err(ApiError::not_implemented(message));
        }
    };
    review["status"] = status;
    let api_version = text(&review, &["apiVersion"]).to_owned();
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    builtin::canonical(group, version, &kind, &mut review);
    Ok(review)
}

/// Returns a user in the form of reviews.
pub(crate) fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

/// Returns the 422 for a review. The message of the real server contains no kind.
fn invalid(errors: &[FieldError]) -> ApiError {
    ApiError::invalid("authorization.k8s.io", "", "", errors)
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    match (resource.is_null(), path.is_null()) {
        (true, true) => vec![FieldError::invalid(
            "spec.resourceAttributes",
            Value::Null,
            detail,
        )],
        (false, false) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            vec![FieldError::invalid(
                "spec.nonResourceAttributes",
                path.clone(),
                detail,
            )]
        }
        _ => Vec::new(),
    }
}

fn attributes_of(spec: &Value) -> Attributes {
    let resource = &spec["resourceAttributes"];
    let field = |name: &str| text(resource, &[name]).to_owned();
    if resource.is_null() {
        let path = &spec["nonResourceAttributes"];
        return Attributes {
            verb: text(path, &["verb"]).to_owned(),
            path: Some(text(path, &["path"]).to_owned()),
            ..Attributes::default()
        };
    }
    Attributes {
        verb: field("verb"),
        group: field("group"),
        resource: field("resource"),
        subresource: field("subresource"),
        namespace: field("namespace"),
        name: field("name"),
        path: None,
    }
}

fn verdict(decision: &Decision) -> Value {
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status["reason"] = json!(decision.reason);
    }
    status
}

fn own_access(review: &Value, context: &Context<'_>) -> Result<Value, ApiError> {
    let spec = &review["spec"];
    let errors = validate_spec(spec);
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let decision = rbac::decide(context.user, &attributes_of(spec), context.rules);
    Ok(verdict(&decision))
}

fn access(review: &Value, kind: &str, context: &Context<'_>) -> Result<Value, ApiError> {
    let spec = &review["spec"];
    let mut errors = validate_spec(spec);
    if text(spec, &["user"]).is_empty() && items(&spec["groups"]).is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", detail));
    }
    if kind == "LocalSubjectAccessReview" {
        let namespace = text(spec, &["resourceAttributes", "namespace"]);
        if spec["resourceAttributes"].is_object() && namespace != context.namespace {
            let path = "spec.resourceAttributes.namespace";
            let detail = "must match metadata.namespace";
            errors.push(FieldError::invalid(path, namespace, detail));
        }
    }
    if !errors.is_empty() {
        return Err(invalid(&errors));
    }
    let groups = items(&spec["groups"]).iter().filter_map(Value::as_str);
    let user = User {
        name: text(spec, &["user"]).to_owned(),
        uid: text(spec, &["uid"]).to_owned(),
        groups: groups.map(str::to_owned).collect(),
        ..User::default()
    };
    let decision = rbac::decide(&user, &attributes_of(spec), context.rules);
    Ok(verdict(&decision))
}

fn own_rules(review: &Value, context: &Context<'_>) -> Result<Value, ApiError> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let mut resources = Vec::new();
    let mut paths = Vec::new();
    let mut rules = rbac::rules_of(context.user, namespace, context.rules);
    if context
        .user
        .groups
        .iter()
        .any(|group| group == "system:masters")
    {
        rules.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        rules.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    for rule in rules {
        let kept = |fields: &[&str]| -> Map<String, Value> {
            let map = rule.as_object().cloned().unwrap_or_default();
            map.into_iter()
                .filter(|(key, _)| fields.contains(&key.as_str()))
                .collect()
        };
        if !items(&rule["nonResourceURLs"]).is_empty() {
            paths.push(Value::Object(kept(&["verbs", "nonResourceURLs"])));
        } else if !items(&rule["resources"]).is_empty() {
            let fields = ["verbs", "apiGroups", "resources", "resourceNames"];
            resources.push(Value::Object(kept(&fields)));
        }
    }
    Ok(json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false}))
}

fn token(review: &Value, context: &Context<'_>) -> Result<Value, ApiError> {
    let token = text(review, &["spec", "token"]);
    if token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(ApiError::bad_request(message));
    }
    let Some(user) = (context.tokens)(token) else {
        return Ok(json!({"user": {}, "error": "invalid bearer token"}));
    };
    let mut status = json!({"authenticated": true, "user": user_info(&user)});
    let audiences = &review["spec"]["audiences"];
    if !audiences.is_null() {
        status["audiences"] = audiences.clone();
    }
    Ok(status)
}
