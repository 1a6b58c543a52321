//! Issues tokens of ServiceAccounts.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/>

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::metadata;
use super::request::{ObjectResponse, ResourceRequest};
use super::transaction::Transaction;
use crate::error::{ApiError, FieldError};
use crate::store::{Key, Store};
use crate::user::User;

/// The default lifetime of a token, in seconds.
const LIFETIME: i64 = 3600;

/// The issuer and the audience of tokens.
const ISSUER: &str = "https://kubernetes.default.svc";

/// The time that a token remains valid after it expires or its bound object ends, because clocks differ.
/// `jwt.DefaultLeeway` of the real server.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// A token that the server issued for a `ServiceAccount`.
#[derive(Clone, Debug)]
pub(crate) struct IssuedToken {
    /// The user of a request with the token.
    pub user: User,
    expires: Timestamp,
    /// The account, and the object in `boundObjectRef`, if any.
    bound: Vec<BoundObject>,
}

/// An object whose deletion invalidates a token.
#[derive(Clone, Debug)]
struct BoundObject {
    resource: &'static str,
    key: Key,
    uid: String,
}

impl IssuedToken {
    /// Returns whether the token has expired, with [`LEEWAY`].
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires + LEEWAY < now
    }

    /// Returns whether the token is valid: it has not expired, and no object that it is bound to is deleted.
    pub(crate) fn is_valid(&self, store: &Store, now: Timestamp) -> bool {
        !self.is_expired(now) && self.bound.iter().all(|bound| bound.is_there(store, now))
    }
}

impl BoundObject {
    fn is_there(&self, store: &Store, now: Timestamp) -> bool {
        let table = store.table(self.resource);
        let Some(object) = table.and_then(|table| table.get(&self.key)) else {
            return false;
        };
        let deleted = object["metadata"]["deletionTimestamp"].as_str();
        let deleted = deleted.and_then(|time| time.parse::<Timestamp>().ok());
        metadata::text(object, "uid") == self.uid && deleted.is_none_or(|at| now <= at + LEEWAY)
    }
}

/// Responds to a decoded `TokenRequest` with a token.
pub(crate) fn issue(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    mut request: Value,
) -> Result<(ObjectResponse, String, IssuedToken), ApiError> {
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
    let uid = metadata::text(&account, "uid");
    let (user, bound, private) = binding(tx, call, uid, &request["spec"]["boundObjectRef"], &id)?;
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
        "kubernetes.io": private,
    });
    let token = token(&claims);
    request["spec"]["expirationSeconds"] = lifetime.into();
    request["status"] = json!({"token": token, "expirationTimestamp": metadata::rfc3339(expires)});
    for field in ["name", "namespace", "uid"] {
        metadata::copy(field, &account, &mut request);
    }
    let created = metadata::rfc3339(tx.now());
    metadata::of_mut(&mut request).insert("creationTimestamp".to_owned(), created.into());
    let issued = IssuedToken {
        user,
        expires,
        bound,
    };
    Ok((ObjectResponse::with_code(201, request), token, issued))
}

fn member<'a>(reference: &'a Value, field: &str) -> &'a str {
    reference[field].as_str().unwrap_or_default()
}

/// Returns the user of a token, the objects that it is bound to, and its private claims.
fn binding(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    uid: &str,
    reference: &Value,
    id: &str,
) -> Result<(User, Vec<BoundObject>, Value), ApiError> {
    let mut user = user(&call.namespace, &call.name, uid);
    let credential = vec![format!("JTI={id}")];
    user.extra.insert(User::CREDENTIAL.to_owned(), credential);
    let mut bound = vec![BoundObject {
        resource: "serviceaccounts",
        key: Key::new(&call.namespace, &call.name),
        uid: user.uid.clone(),
    }];
    let mut private = json!({
        "namespace": call.namespace,
        "serviceaccount": {"name": call.name, "uid": user.uid},
    });
    if !reference.is_null() {
        let to = referenced(tx, call, reference)?;
        let (name, uid) = (to.key.name(), &to.uid);
        let kind = member(reference, "kind").to_lowercase();
        private[&kind] = json!({"name": name, "uid": uid});
        if kind != "secret" {
            let extra = |part: &str| format!("authentication.kubernetes.io/{kind}-{part}");
            user.extra.insert(extra("name"), vec![name.to_owned()]);
            user.extra.insert(extra("uid"), vec![uid.clone()]);
        }
        bound.push(to);
    }
    Ok((user, bound, private))
}

/// Returns the object that a token is to be bound to.
fn referenced(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    reference: &Value,
) -> Result<BoundObject, ApiError> {
    let [version, kind, name, uid] =
        ["apiVersion", "kind", "name", "uid"].map(|field| member(reference, field));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    // The real server ignores the version.
    let (resource, namespace) = match (group, kind) {
        ("", "Pod") => ("pods", &*call.namespace),
        ("", "Secret") => ("secrets", &*call.namespace),
        ("", "Node") => ("nodes", ""),
        _ => {
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let found = tx.get(resource, namespace, name);
    let found = found.ok_or_else(|| ApiError::not_found("", resource, name))?;
    if resource == "pods" && found["spec"]["serviceAccountName"] != call.name {
        return Err(ApiError::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            call.name
        )));
    }
    let known = metadata::text(&found, "uid");
    if !uid.is_empty() && uid != known {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. \
             The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict("", kind, name, &why));
    }
    Ok(BoundObject {
        resource,
        key: Key::new(namespace, name),
        uid: known.to_owned(),
    })
}

/// Returns the error for an invalid lifetime, if it is invalid.
fn wrong_lifetime(seconds: i64) -> Option<&'static str> {
    match seconds {
        ..600 => Some("may not specify a duration less than 10 minutes"),
        600..=0x1_0000_0000 => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    }
}

/// Returns the user of a ServiceAccount.
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

/// Returns a token in the form of a JWT, so that clients can read its claims. The signature is random: the
/// server stores the token and compares it.
fn token(claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({"alg": "RS256", "kid": "embedded"});
    let signature: [u8; 32] = rand::random();
    let signature = URL_SAFE_NO_PAD.encode(signature);
    format!("{}.{}.{signature}", encode(&header), encode(claims))
}
