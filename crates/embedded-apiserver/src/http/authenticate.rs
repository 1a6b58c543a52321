//! Authenticates requests by token or certificate.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/authentication/>

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use parking_lot::RwLock;

use crate::error::ApiError;
use crate::registry::IssuedToken;
use crate::user::User;

/// The user of requests without credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// The user `system:anonymous`.
    #[default]
    Unauthenticated,
    /// An administrator, for a server that only its user can reach.
    Administrator,
}

/// The identity that a connection gives to its requests.
#[derive(Debug, Clone, Default)]
pub(super) enum ConnectionIdentity {
    /// The connection has no identity.
    #[default]
    Unknown,
    /// The only user of the service.
    User(Arc<User>),
    /// The user of a trusted certificate, which can expire while the connection is open.
    Certificate {
        user: Arc<User>,
        /// The last second at which the certificate is valid.
        not_after: Timestamp,
    },
    /// A certificate that is not trusted.
    Distrusted,
}

/// The users by their tokens.
#[derive(Debug, Default)]
pub struct Users {
    anonymous: Anonymous,
    tokens: RwLock<HashMap<String, Token>>,
}

/// A known token.
#[derive(Clone, Debug)]
enum Token {
    /// A token that is valid as long as the server runs.
    Given(User),
    /// A token of a ServiceAccount, which is valid until it expires or an object that it is bound to is
    /// deleted.
    Issued(IssuedToken),
}

impl Users {
    /// Returns a table without tokens.
    pub fn new(anonymous: Anonymous) -> Self {
        Self {
            anonymous,
            tokens: RwLock::default(),
        }
    }

    /// Adds a bearer token of a user.
    pub fn insert(&self, token: &str, user: User) {
        let token = (token.to_owned(), Token::Given(user));
        self.tokens.write().extend([token]);
    }

    /// Adds an issued token, and removes the expired ones.
    pub(super) fn issue(&self, token: &str, issued: IssuedToken, now: Timestamp) {
        let mut tokens = self.tokens.write();
        tokens.retain(|_, known| !matches!(known, Token::Issued(old) if old.is_expired(now)));
        tokens.insert(token.to_owned(), Token::Issued(issued));
    }

    /// Returns the user of an issued token that is still valid.
    pub(super) fn owner(
        &self,
        token: &str,
        is_valid: impl FnOnce(&IssuedToken) -> bool,
    ) -> Option<User> {
        // The entry is cloned, because `is_valid` takes the lock of the objects.
        let known = self.tokens.read().get(token).cloned();
        match known? {
            Token::Given(user) => Some(user),
            Token::Issued(issued) => is_valid(&issued).then_some(issued.user),
        }
    }

    /// Returns the user of a request. A valid token replaces a certificate that is expired or not trusted.
    pub(super) fn authenticated(
        &self,
        sender: &ConnectionIdentity,
        now: Timestamp,
        headers: &HeaderMap,
        is_valid: impl FnOnce(&IssuedToken) -> bool,
    ) -> Result<User, ApiError> {
        match sender {
            ConnectionIdentity::User(user) => return Ok(User::clone(user)),
            ConnectionIdentity::Certificate { user, not_after } if now <= *not_after => {
                return Ok(User::clone(user));
            }
            ConnectionIdentity::Unknown
            | ConnectionIdentity::Certificate { .. }
            | ConnectionIdentity::Distrusted => {}
        }
        let header = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if header.is_none() && matches!(sender, ConnectionIdentity::Unknown) {
            return Ok(self.user_without_credentials());
        }
        let token = header
            .and_then(|header| header.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let known = token.and_then(|token| self.owner(token, is_valid));
        known.ok_or_else(ApiError::unauthorized)
    }

    fn user_without_credentials(&self) -> User {
        match self.anonymous {
            Anonymous::Administrator => User::admin(),
            Anonymous::Unauthenticated => User {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
                ..User::default()
            },
        }
    }
}

/// Returns the impersonated user, or the sender if the request does not impersonate.
pub(super) fn impersonated(user: User, headers: &HeaderMap) -> User {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(name) = value("impersonate-user") else {
        return user;
    };
    let groups = headers.get_all("impersonate-group").iter();
    let mut groups: Vec<String> = groups
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect();
    let account = name.strip_prefix("system:serviceaccount:");
    if let (true, Some((namespace, _))) = (
        groups.is_empty(),
        account.and_then(|rest| rest.split_once(':')),
    ) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    let authenticated = "system:authenticated".to_owned();
    if name != "system:anonymous" && !groups.contains(&authenticated) {
        groups.push(authenticated);
    }
    User {
        name: name.to_owned(),
        uid: value("impersonate-uid").unwrap_or_default().to_owned(),
        groups,
        ..User::default()
    }
}
