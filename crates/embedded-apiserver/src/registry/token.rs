//! Tokens of ServiceAccounts, on request.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/>

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::call::{Answer, Call, User};
use super::{Transaction, metadata};
use crate::error::{ApiError, FieldError};

/// How long a token is good for that does not say it, in seconds.
const LIFETIME: i64 = 3600;

/// Who issues tokens, and for whom.
const ISSUER: &str = "https://kubernetes.default.svc";

/// Answers a decoded `TokenRequest`; the token is the user's from then on.
pub(crate) fn issue(
    tx: &Transaction<'_>,
    call: &Call,
    mut request: Value,
) -> Result<(Answer, String, User), ApiError> {
    let account = tx.live(call).ok_or_else(|| call.not_found(&call.name))?;
    let lifetime = request["spec"]["expirationSeconds"]
        .as_i64()
        .unwrap_or(LIFETIME);
    if let Some(why) = wrong_lifetime(lifetime) {
        let error = FieldError::invalid("spec.expirationSeconds", lifetime, why);
        let group = "authentication.k8s.io";
        return Err(ApiError::invalid(group, "TokenRequest", "", &[error]));
    }
    let expires = tx.now() + SignedDuration::from_secs(lifetime);
    let id = metadata::uid();
    let user = User {
        extra: [(User::CREDENTIAL.to_owned(), vec![format!("JTI={id}")])].into(),
        ..user(&call.namespace, &call.name, metadata::text(&account, "uid"))
    };
    let audiences = &mut request["spec"]["audiences"];
    if audiences.as_array().is_none_or(Vec::is_empty) {
        *audiences = json!([ISSUER]);
    }
    let claims = json!({
        "iss": ISSUER,
        "sub": user.name,
        "aud": audiences,
        "iat": tx.now().as_second(),
        "exp": expires.as_second(),
        "jti": id,
        "kubernetes.io": {
            "namespace": call.namespace,
            "serviceaccount": {"name": call.name, "uid": user.uid},
        },
    });
    let token = token(&claims);
    request["spec"]["expirationSeconds"] = lifetime.into();
    request["status"] = json!({"token": token, "expirationTimestamp": metadata::rfc3339(expires)});
    for field in ["name", "namespace", "uid"] {
        metadata::copy(field, &account, &mut request);
    }
    let created = metadata::rfc3339(tx.now());
    metadata::of_mut(&mut request).insert("creationTimestamp".to_owned(), created.into());
    Ok((Answer::with_code(201, request), token, user))
}

/// Why a token cannot be good for so many seconds.
fn wrong_lifetime(seconds: i64) -> Option<&'static str> {
    match seconds {
        ..600 => Some("may not specify a duration less than 10 minutes"),
        600..=0x1_0000_0000 => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    }
}

/// The user that a ServiceAccount is.
fn user(namespace: &str, name: &str, uid: &str) -> User {
    User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: uid.to_owned(),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ],
        ..User::default()
    }
}

/// A token in the form of a JWT, so that clients can read its claims. It is known by being
/// remembered: the signature is random.
fn token(claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "RS256", "kid": "embedded"});
    let signature: [u8; 32] = rand::random();
    let signature = URL_SAFE_NO_PAD.encode(signature);
    format!("{}.{}.{signature}", encode(&header), encode(claims))
}
