//! Writes: create, apply, patch, replace. Their answers update the caches.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Effect, PatchKind, WriteOptions, WriteResponse, check_uid, parse, path, target};
use crate::cluster::Cluster;
use crate::cluster::api_call::{ApiCall, RetryPolicy};
use crate::cluster::error::{Error, ErrorKind};
use crate::cluster::watch::{WriteGuard, WriteResult, push_parameter};
use crate::model::{Gvk, Object, ObjectRef};

impl Cluster {
    /// Creates an object. The body can contain `generateName` instead of a name.
    pub async fn create(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let kind = self.require_kind(gvk).await?;
        let name = name_in(&body).unwrap_or_default();
        let object = ObjectRef::new(gvk.clone(), namespace.filter(|_| kind.namespaced), &name);
        let mut uri = path(
            &kind,
            &ObjectRef {
                name: "".into(),
                ..object.clone()
            },
            None,
        )?;
        push_options(&mut uri, options);
        let call = ApiCall {
            method: Method::POST,
            content_type: "application/json",
            body,
            retry: if name.is_empty() {
                RetryPolicy::UnlessExecuted
            } else {
                RetryPolicy::Always
            },
            ..ApiCall::get(target(&kind, "create", &object, None), uri)
        };
        let named = (!name.is_empty()).then_some(&object);
        match self.write(gvk, named, &call, options).await {
            // The first attempt of this call created it, and its answer was lost.
            Err(error) if error.kind == ErrorKind::AlreadyExists && error.repeated => {
                match self.get(&object).await? {
                    Some(live) if live.managed_by(&options.manager, None).next().is_some() => {
                        Ok(WriteResponse {
                            object: live,
                            effect: Effect::Created,
                            planned: self.dry_run,
                            warnings: Vec::new(),
                        })
                    }
                    _ => Err(error),
                }
            }
            written => written,
        }
    }

    /// Applies an object server-side.
    pub async fn apply(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let content_type = "application/apply-patch+yaml";
        self.modify(object, "apply", Method::PATCH, content_type, body, options)
            .await
    }

    /// Patches an object, or a subresource of it.
    pub async fn patch(
        &self,
        object: &ObjectRef,
        kind: PatchKind,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        self.modify(
            object,
            "patch",
            Method::PATCH,
            kind.content_type(),
            body,
            options,
        )
        .await
    }

    /// Sends a merge patch to the status subresource.
    pub async fn patch_status(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let options = WriteOptions {
            subresource: Some("status"),
            ..options.clone()
        };
        self.patch(object, PatchKind::Merge, body, &options).await
    }

    /// Sets the number of replicas through the scale subresource; returns the `Scale` object.
    pub async fn scale(
        &self,
        object: &ObjectRef,
        replicas: i64,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let body = json!({"spec": {"replicas": replicas}}).to_string().into();
        let options = WriteOptions {
            subresource: Some("scale"),
            ..options.clone()
        };
        self.patch(object, PatchKind::Merge, body, &options).await
    }

    async fn modify(
        &self,
        object: &ObjectRef,
        verb: &'static str,
        method: Method,
        content_type: &'static str,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let kind = self.require_kind(&object.gvk).await?;
        let object = kind.scoped(object);
        let mut uri = path(&kind, &object, options.subresource)?;
        push_options(&mut uri, options);
        if options.force && verb == "apply" {
            push_parameter(&mut uri, "force", "true");
        }
        let once = content_type == PatchKind::Json.content_type();
        let call = ApiCall {
            method,
            content_type,
            body,
            retry: if once {
                RetryPolicy::UnlessExecuted
            } else {
                RetryPolicy::Always
            },
            ..ApiCall::get(target(&kind, verb, &object, options.subresource), uri)
        };
        self.write(&object.gvk, Some(&object), &call, options).await
    }

    /// Sends a write and updates the caches with its answer.
    async fn write(
        &self,
        gvk: &Gvk,
        object: Option<&ObjectRef>,
        call: &ApiCall,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Error> {
        let guard = object
            .filter(|_| !self.dry_run)
            .map(|o| self.shared.watches.write(o));
        let before = guard.as_ref().and_then(WriteGuard::before);
        let answer = self.send(call, options.deadline).await;
        let answer = answer.map_err(|error| self.invalidate_if_absent(error, gvk))?;
        let scale = Gvk::new("autoscaling", "v1", "Scale");
        let is_scale = options.subresource == Some("scale");
        let gvk = if is_scale { &scale } else { gvk };
        let written = parse(gvk, &answer.body, &call.target)?;
        if answer.status != StatusCode::CREATED {
            let uid = guard.as_ref().and_then(WriteGuard::uid);
            check_uid(&written, uid.as_deref(), &call.target)?;
        }
        let unmoved = |old: &Arc<Object>| old.resource_version == written.resource_version;
        let effect = if answer.status == StatusCode::CREATED {
            Effect::Created
        } else if before.as_ref().is_some_and(unmoved) {
            Effect::Unchanged
        } else {
            Effect::Changed
        };
        let guard = match guard {
            None if !self.dry_run => Some(self.shared.watches.write(&written.object_ref())),
            guard => guard,
        };
        if let Some(guard) = guard {
            let own = effect == Effect::Created
                || !before.is_some_and(|before| already_holds(&before, &call.body));
            guard.finish(&if is_scale {
                WriteResult::Version(written.resource_version.clone())
            } else {
                WriteResult::Object {
                    object: Arc::clone(&written),
                    own,
                }
            });
            self.shared.values.refresh(&written);
        }
        Ok(WriteResponse {
            object: written,
            effect,
            planned: self.dry_run,
            warnings: answer.warnings,
        })
    }
}

fn push_options(uri: &mut String, options: &WriteOptions) {
    if !options.manager.is_empty() {
        push_parameter(uri, "fieldManager", &options.manager);
    }
    // Servers before 1.27 drop unknown fields silently without this parameter.
    let validation = if options.strict { "Strict" } else { "Warn" };
    push_parameter(uri, "fieldValidation", validation);
}

fn name_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct NamedObject {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: Option<String>,
    }
    serde_json::from_slice::<NamedObject>(body)
        .ok()?
        .metadata
        .name
}

/// Returns whether a write cannot have changed the known object, because it already contained the whole
/// body.
///
/// An unknown version is then the change of another client. If this cannot be decided (a JSON patch, a
/// value that the server normalizes), the change counts as that of this process.
fn already_holds(before: &Object, body: &[u8]) -> bool {
    if before.json().is_empty() {
        return false;
    }
    let parsed = serde_json::from_slice::<Value>(body);
    parsed.is_ok_and(|body| body.is_object() && contains(&before.value(), &body))
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| match whole.get(key) {
                Some(whole) => contains(whole, part),
                None => part.is_null(),
            })
        }
        (Value::Array(whole), Value::Array(part)) => {
            let pairs = || whole.iter().zip(part);
            whole.len() == part.len() && pairs().all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}
