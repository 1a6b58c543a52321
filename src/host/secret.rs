//! Generated Secrets, and the redaction of values: `ensure_secret`, `secret`, `reveal`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Dynamic, FnPtr, Map, NativeCallContext};
use serde_json::json;

use super::arguments::Reference;
use super::session::Session;
use super::{HostResult, arguments, invalid, k8s};
use crate::apply::{Claim, ExistingObject};
use crate::clock;
use crate::cluster::watch::Subscription;
use crate::model::{Gvk, Object};
use crate::script::{self, HostError, value};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Creates a Secret with generated values once. Later calls read it.
    ///
    /// - `name`: of the Secret, in the custom resource's namespace.
    /// - `make`: a function that returns a map of texts; called only if there is no such Secret.
    ///
    /// Returns the map of the Secret's values as texts. The operator redacts them in logs, Events and
    /// the status. Kubernetes deletes the Secret with the custom resource. Changes by users stay.
    ///
    /// Errors: `not_owned` if the Secret exists and the custom resource does not own it, because its
    /// creator knows the values. Read such a Secret with `k8s_get`.
    ///
    /// ```rhai,no_run
    /// let secret = ensure_secret(`${meta.name}-admin`, || #{password: random_password(24)});
    /// k8s_apply(template_objects("config.yaml", #{password: secret.password}));
    /// ```
    #[rhai_fn(name = "ensure_secret", volatile, return_raw)]
    pub fn ensure_secret(cx: NativeCallContext, name: &str, make: FnPtr) -> HostResult<Map> {
        let session = Session::from_call(&cx)?;
        let reference = Reference {
            gvk: Gvk::new("", "v1", "Secret"),
            namespace: None,
            name: name.to_owned(),
            uid: None,
        };
        let since = clock::now();
        let answer = script::block_on(&cx, k8s::read(&session, &reference));
        let object = || reference.to_string();
        let (_, found) = session.trace_failure("ensure_secret", since, object, answer)?;
        let secret = if let Some(secret) = found {
            let checked = check_owned(&cx, &session, &secret);
            session.trace_failure("ensure_secret", since, object, checked)?;
            session.trace("ensure_secret", since, object, || "exists");
            secret
        } else {
            let secret = create_generated(&cx, &session, name, &make)?;
            // Another client can have created the Secret meanwhile.
            check_owned(&cx, &session, &secret)?;
            secret
        };
        Ok(texts(&secret))
    }

    /// Marks a value as secret that does not come from a Secret, e.g. a generated token. The operator
    /// redacts it in logs, Events, conditions and the status, even if the custom resource or the role
    /// contains it.
    ///
    /// - `value`: a text of six characters or more.
    ///
    /// Returns it.
    ///
    /// Errors: `invalid` for a shorter text, because it cannot be redacted.
    ///
    /// ```rhai,no_run
    /// let token = secret(from_json(spec.license).token);
    /// log_info(`the license is ${token}`);
    /// ```
    #[rhai_fn(name = "secret", volatile, return_raw)]
    pub fn secret(cx: NativeCallContext, value: &str) -> HostResult<String> {
        let session = Session::from_call(&cx)?;
        if !session.setup.redactor.mark(value) {
            let hint = "hint: values of fewer than 6 characters cannot be redacted";
            return Err(invalid(format!(
                "cannot mark the value as secret: it is too short; {hint}"
            )));
        }
        session.check_secrets()?;
        Ok(value.to_owned())
    }

    /// Excludes a value of a Secret from redaction, e.g. the name of a user.
    ///
    /// - `value`: a text that `k8s_get` or `ensure_secret` read.
    ///
    /// Returns it.
    ///
    /// ```rhai,no_run
    /// let login = ensure_secret("login", || #{user: `admin-${meta.name}`, password: random_password(24)});
    /// set_status(#{user: reveal(login.user)});
    /// ```
    #[rhai_fn(name = "reveal", volatile, return_raw)]
    pub fn reveal(cx: NativeCallContext, value: &str) -> HostResult<String> {
        Session::from_call(&cx)?.setup.redactor.reveal(value);
        Ok(value.to_owned())
    }
}

/// Refuses a Secret that the custom resource does not own. Its creator would know the password that the
/// role uses, and the role could disclose a password of others.
fn check_owned(cx: &NativeCallContext, session: &Session, secret: &Arc<Object>) -> HostResult<()> {
    let owner = &session.setup.owner;
    let existing = || ExistingObject {
        live: Arc::clone(secret),
        subscription: Subscription::permanent(),
    };
    match Claim::determine(owner, secret) {
        Claim::Own => Ok(()),
        Claim::Foreign(_) if owner.adopt => Ok(()),
        Claim::Former => Err(k8s::former(cx, session, &existing())),
        Claim::Foreign(holder) => {
            let object = secret.object_ref();
            let message = format!(
                "cannot use {object}: it exists and {} does not own it, {holder}; \
                 hint: delete it, or read it with k8s_get",
                owner.cr
            );
            Err(HostError {
                retryable: true,
                ..HostError::new("not_owned", message)
            }
            .into())
        }
    }
}

fn create_generated(
    cx: &NativeCallContext,
    session: &Session,
    name: &str,
    make: &FnPtr,
) -> HostResult<Arc<Object>> {
    let values: Dynamic = make.call_within_context(cx, ())?;
    let values = arguments::json(&values)?;
    let texts = values
        .as_object()
        .filter(|map| map.values().all(serde_json::Value::is_string));
    let texts = texts.ok_or_else(|| invalid("ensure_secret: expected a map of texts"))?;
    let redact = texts.values().filter_map(|value| value.as_str());
    redact.for_each(|value| session.setup.redactor.add(value));
    session.check_secrets()?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": texts,
    });
    k8s::create(cx, &value::to_dynamic(&secret))
}

/// Returns the values of a Secret that are text. Omits binary values.
fn texts(secret: &Object) -> Map {
    let secret = secret.value();
    let data = secret["data"].as_object().into_iter().flatten();
    data.filter_map(|(key, value)| {
        let bytes = STANDARD.decode(value.as_str()?).ok()?;
        Some((key.into(), String::from_utf8(bytes).ok()?.into()))
    })
    .collect()
}
