//! Counts the subscriptions by kind and namespace.

use std::collections::HashMap;
use std::sync::Arc;

use super::scope::Scope;
use crate::model::Gvk;

/// The number of subscriptions to each scope.
#[derive(Default)]
pub(super) struct Claims(HashMap<Gvk, ClaimsOfKind>);

/// The claims on one kind, by namespace.
type ClaimsOfKind = HashMap<Option<Arc<str>>, usize>;

/// The claims that remain after one was removed.
pub(super) enum RemainingClaims {
    /// Claims on the same scope.
    Scope,
    /// Claims on other scopes of the kind.
    Kind,
    /// None on the kind.
    Nothing,
}

impl Claims {
    /// Counts a claim on a scope.
    pub(super) fn add(&mut self, scope: &Scope) {
        let claims = self.0.entry(scope.gvk.clone()).or_default();
        *claims.entry(scope.namespace.clone()).or_default() += 1;
    }

    /// Removes a claim on a scope.
    pub(super) fn remove(&mut self, scope: &Scope) -> RemainingClaims {
        let Some(claims) = self.0.get_mut(&scope.gvk) else {
            return RemainingClaims::Nothing;
        };
        if let Some(count) = claims.get_mut(&scope.namespace) {
            *count -= 1;
            if *count > 0 {
                return RemainingClaims::Scope;
            }
            claims.remove(&scope.namespace);
        }
        if claims.is_empty() {
            self.0.remove(&scope.gvk);
            return RemainingClaims::Nothing;
        }
        RemainingClaims::Kind
    }
}
