//! Requests: each has a deadline, within which answers that pass are asked again.
//!
//! What was written is in the caches before the call returns (see [`super::watch`]).

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{self, Attempts, Bounds, Call};
use super::error::{Error, ErrorKind, Target};
use super::watch::{Answer, Content, list_call, parse_page, push_parameter};
use super::{ApiKind, Cluster};
use crate::clock::Instant;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object, ObjectRef};

/// What stays readable in a path; names like `system:node` are allowed in one.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b':');

/// The answer to a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it now is.
    pub object: Arc<Object>,
    /// What became of it.
    pub effect: Effect,
    /// What the server warned of, e.g. of fields that it dropped.
    pub warnings: Vec<String>,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object is new.
    Created,
    /// The object is another than before, as far as we know.
    Changed,
    /// The object is as it was in the cache: its resource version did not move.
    Unchanged,
}

/// What came of a delete.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// It is gone.
    Gone,
    /// It is marked, and goes when its finalizers are through.
    Marked(Arc<Object>),
    /// It was not there.
    Absent,
}

/// How objects are selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListQuery {
    /// Of what kind.
    pub gvk: Gvk,
    /// In one namespace, or in all.
    pub namespace: Option<Arc<str>>,
    /// With these labels.
    pub labels: LabelSelector,
    /// With these fields.
    pub fields: FieldSelector,
}

/// Options of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Who owns the fields written.
    pub manager: String,
    /// Takes fields from other managers; only applies heed it.
    pub force: bool,
    /// Writes a subresource instead of the object: `status`, `scale`.
    pub subresource: Option<&'static str>,
    /// Ends earlier than the default deadline.
    pub deadline: Option<Instant>,
}

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Kubernetes' own, for built-in kinds.
    Strategic,
}

/// What happens to dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They are collected afterwards.
    #[default]
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// What happens to dependents.
    pub propagation: Propagation,
    /// Only this very object.
    pub uid: Option<String>,
    /// Only this very version of it.
    pub resource_version: Option<String>,
    /// Ends earlier than the default deadline.
    pub deadline: Option<Instant>,
}

impl PatchKind {
    fn content_type(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

impl Propagation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

impl Cluster {
    /// The object as it is, or `None`.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Arc<Object>>, Error> {
        let kind = self.served(&object.gvk).await?;
        let target = target(&kind, "get", object, None);
        let call = Call::get(target, self.path(&kind, object, None)?);
        match self.send(&call, None).await {
            Ok(answer) => parse(&object.gvk, &answer.body, &call.target).map(Some),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.doubting(error, &object.gvk)),
        }
    }

    /// The objects as they are, page by page.
    pub async fn list(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        self.list_as(query, Content::Full).await
    }

    /// As [`Cluster::list`], but metadata only: the objects have no body.
    pub async fn list_metadata(&self, query: &ListQuery) -> Result<Vec<Arc<Object>>, Error> {
        self.list_as(query, Content::Metadata).await
    }

    async fn list_as(
        &self,
        query: &ListQuery,
        content: Content,
    ) -> Result<Vec<Arc<Object>>, Error> {
        let kind = self.served(&query.gvk).await?;
        let parameters = [
            ("labelSelector", query.labels.to_string()),
            ("fieldSelector", query.fields.to_string()),
        ];
        let namespace = query.namespace.as_deref();
        let mut objects = Vec::new();
        let mut page: Option<String> = None;
        loop {
            let call = list_call(&kind, namespace, &parameters, content, page.as_deref());
            let answer = match self.send(&call, None).await {
                // The snapshot that the pages come from is too old: from the start.
                Err(error) if error.kind == ErrorKind::Gone && page.is_some() => {
                    objects.clear();
                    page = None;
                    continue;
                }
                answer => answer.map_err(|error| self.doubting(error, &query.gvk))?,
            };
            let part = parse_page(&query.gvk, content, &answer.body, &call.target)?;
            objects.extend(part.objects);
            page = part.next;
            if page.is_none() {
                return Ok(objects);
            }
        }
    }

    /// Creates an object; the body may carry `generateName` instead of a name.
    pub async fn create(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let kind = self.served(gvk).await?;
        let name = name_in(&body).unwrap_or_default();
        let object = ObjectRef::new(gvk.clone(), namespace.filter(|_| kind.namespaced), &name);
        let mut uri = self.path(
            &kind,
            &ObjectRef {
                name: "".into(),
                ..object.clone()
            },
            None,
        )?;
        push_options(&mut uri, options);
        let call = Call {
            method: Method::POST,
            content_type: "application/json",
            body,
            attempts: if name.is_empty() {
                Attempts::Refused
            } else {
                Attempts::Any
            },
            ..Call::get(target(&kind, "create", &object, None), uri)
        };
        let named = (!name.is_empty()).then_some(&object);
        match self.write(gvk, named, &call, options).await {
            // Our own first attempt, whose answer was lost, made it.
            Err(error) if error.kind == ErrorKind::AlreadyExists && error.repeated => {
                match self.get(&object).await? {
                    Some(live) if live.managed_by(&options.manager, None).next().is_some() => {
                        Ok(Written {
                            object: live,
                            effect: Effect::Created,
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
    ) -> Result<Written, Error> {
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
    ) -> Result<Written, Error> {
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

    /// A merge patch of the status subresource.
    pub async fn patch_status(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let options = WriteOptions {
            subresource: Some("status"),
            ..options.clone()
        };
        self.patch(object, PatchKind::Merge, body, &options).await
    }

    /// Replaces an object (a PUT); the body carries the resource version.
    pub async fn replace(
        &self,
        object: &ObjectRef,
        body: Bytes,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        self.modify(
            object,
            "update",
            Method::PUT,
            "application/json",
            body,
            options,
        )
        .await
    }

    /// Sets the number of replicas through the scale subresource; returns the `Scale` object.
    pub async fn scale(
        &self,
        object: &ObjectRef,
        replicas: i64,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
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
    ) -> Result<Written, Error> {
        let kind = self.served(&object.gvk).await?;
        let object = self.scoped(&kind, object);
        let mut uri = self.path(&kind, &object, options.subresource)?;
        push_options(&mut uri, options);
        if options.force && verb == "apply" {
            push_parameter(&mut uri, "force", "true");
        }
        let once = content_type == PatchKind::Json.content_type();
        let call = Call {
            method,
            content_type,
            body,
            attempts: if once {
                Attempts::Refused
            } else {
                Attempts::Any
            },
            ..Call::get(target(&kind, verb, &object, options.subresource), uri)
        };
        self.write(&object.gvk, Some(&object), &call, options).await
    }

    /// Sends a write and takes its answer into the caches.
    async fn write(
        &self,
        gvk: &Gvk,
        object: Option<&ObjectRef>,
        call: &Call,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        let guard = object
            .filter(|_| !self.dry_run)
            .map(|o| self.shared.watches.write(o));
        let before = guard.as_ref().and_then(|guard| guard.before());
        let answer = self.send(call, options.deadline).await;
        let answer = answer.map_err(|error| self.doubting(error, gvk))?;
        let scale = Gvk::new("autoscaling", "v1", "Scale");
        let is_scale = options.subresource == Some("scale");
        let gvk = if is_scale { &scale } else { gvk };
        let written = parse(gvk, &answer.body, &call.target)?;
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
            guard.finish(&match is_scale {
                true => Answer::Version(written.resource_version.clone()),
                false => Answer::Object {
                    object: Arc::clone(&written),
                    own,
                },
            });
            self.shared.values.refresh(&written);
        }
        Ok(Written {
            object: written,
            effect,
            warnings: answer.warnings,
        })
    }

    /// Deletes an object; that it is absent is no error.
    pub async fn delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<Deleted, Error> {
        let kind = self.served(&object.gvk).await?;
        let object = self.scoped(&kind, object);
        let call = Call {
            method: Method::DELETE,
            content_type: "application/json",
            body: delete_body(options, self.dry_run),
            ..Call::get(
                target(&kind, "delete", &object, None),
                self.path(&kind, &object, None)?,
            )
        };
        let guard = (!self.dry_run).then(|| self.shared.watches.write(&object));
        let before = guard.as_ref().and_then(|guard| guard.before());
        let answer = match self.send(&call, options.deadline).await {
            Ok(answer) => answer,
            // A delete whose answer was lost is found done.
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Ok(if error.repeated {
                    Deleted::Gone
                } else {
                    Deleted::Absent
                });
            }
            Err(error) => return Err(self.doubting(error, &object.gvk)),
        };
        let (deleted, answer) = deleted(&object.gvk, &answer, before.as_deref(), &call.target)?;
        if let Some(guard) = guard {
            guard.finish(&answer);
        }
        Ok(deleted)
    }

    /// The kind as the cluster serves it, or the error that says that it does not.
    pub(super) async fn served(&self, gvk: &Gvk) -> Result<Arc<ApiKind>, Error> {
        self.kind(gvk).await?.ok_or_else(|| {
            let target = Target {
                verb: "find",
                resource: gvk.kind_group(),
                ..Target::default()
            };
            let message = format!("the cluster does not serve {gvk}");
            Error::local(ErrorKind::KindAbsent, message, target)
        })
    }

    /// The address as the kind has it: cluster-scoped objects have no namespace.
    pub(super) fn scoped(&self, kind: &ApiKind, object: &ObjectRef) -> ObjectRef {
        ObjectRef {
            namespace: object.namespace.clone().filter(|_| kind.namespaced),
            ..object.clone()
        }
    }

    async fn send(&self, call: &Call, deadline: Option<Instant>) -> Result<call::Answer, Error> {
        let bounds = Bounds {
            deadline,
            write_deadline: self.write_deadline.clone(),
        };
        call.send(&self.transport, &self.shared.settings, &bounds)
            .await
    }

    /// A path that is not served any more throws doubt on what discovery said.
    fn doubting(&self, error: Error, gvk: &Gvk) -> Error {
        if error.kind == ErrorKind::KindAbsent {
            self.shared.discovery.doubt(gvk);
        }
        error
    }

    fn path(
        &self,
        kind: &ApiKind,
        object: &ObjectRef,
        subresource: Option<&str>,
    ) -> Result<String, Error> {
        if kind.namespaced && object.namespace.is_none() {
            let message = format!("{} lives in a namespace, and none is given", kind.gvk.kind);
            let target = target(kind, "address", object, subresource);
            return Err(Error::local(ErrorKind::Invalid, message, target));
        }
        let mut path = kind.path(object.namespace.as_deref());
        for segment in [Some(&*object.name), subresource].into_iter().flatten() {
            if !segment.is_empty() {
                path.push('/');
                path.extend(utf8_percent_encode(segment, PATH));
            }
        }
        Ok(path)
    }
}

fn target(
    kind: &ApiKind,
    verb: &'static str,
    object: &ObjectRef,
    subresource: Option<&str>,
) -> Target {
    let mut resource = kind.resource();
    if let Some(subresource) = subresource {
        resource = format!("{resource}/{subresource}");
    }
    let namespace = object.namespace.as_deref().filter(|_| kind.namespaced);
    Target {
        verb,
        resource,
        namespace: namespace.unwrap_or_default().to_owned(),
        name: object.name.to_string(),
    }
}

fn push_options(uri: &mut String, options: &WriteOptions) {
    if !options.manager.is_empty() {
        push_parameter(uri, "fieldManager", &options.manager);
    }
    // Servers before 1.27 drop unknown fields without a word unless asked.
    push_parameter(uri, "fieldValidation", "Warn");
}

fn name_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Top {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: Option<String>,
    }
    serde_json::from_slice::<Top>(body).ok()?.metadata.name
}

fn delete_body(options: &DeleteOptions, dry_run: bool) -> Bytes {
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": options.propagation.as_str(),
    });
    // A delete with a body is not asked for its query.
    if dry_run {
        body["dryRun"] = json!(["All"]);
    }
    if let Some(uid) = &options.uid {
        body["preconditions"]["uid"] = json!(uid);
    }
    if let Some(version) = &options.resource_version {
        body["preconditions"]["resourceVersion"] = json!(version);
    }
    body.to_string().into()
}

/// A delete answers with the object where it is still there, else with it as it was, or a Status.
fn deleted(
    gvk: &Gvk,
    answer: &call::Answer,
    before: Option<&Object>,
    target: &Target,
) -> Result<(Deleted, Answer), Error> {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        details: Details,
    }
    #[derive(Deserialize, Default)]
    struct Details {
        #[serde(default)]
        uid: Box<str>,
    }
    if let Ok(status) = serde_json::from_slice::<Status>(&answer.body)
        && status.kind == "Status"
    {
        let uid = match status.details.uid.is_empty() {
            true => before.map(|before| before.uid.clone()).unwrap_or_default(),
            false => status.details.uid,
        };
        return Ok((Deleted::Gone, Answer::Deleted(uid)));
    }
    let object = parse(gvk, &answer.body, target)?;
    if !object.deleting {
        return Ok((Deleted::Gone, Answer::Deleted(object.uid.clone())));
    }
    let taken = Answer::Object {
        object: Arc::clone(&object),
        own: true,
    };
    Ok((Deleted::Marked(object), taken))
}

fn parse(gvk: &Gvk, body: &[u8], target: &Target) -> Result<Arc<Object>, Error> {
    let malformed = |cause: String| Error::local(ErrorKind::Malformed, cause, target.clone());
    let text = std::str::from_utf8(body).map_err(|cause| malformed(cause.to_string()))?;
    let object = Object::from_json(gvk, text).map_err(|cause| malformed(cause.to_string()))?;
    Ok(Arc::new(object))
}

/// Whether a write could not have changed the object that we knew: it held all of the body already.
///
/// Then a version that we did not know is someone else's change, and not of our making. Where this
/// cannot be told (a JSON patch, a value that the server writes in another form) the write counts as
/// ours.
fn already_holds(before: &Object, body: &[u8]) -> bool {
    if before.json().is_empty() {
        return false;
    }
    let parsed = serde_json::from_slice::<Value>(body);
    parsed.is_ok_and(|body| body.is_object() && contains(&before.value(), &body))
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(key, part)| {
            whole
                .get(key)
                .map_or(part.is_null(), |whole| contains(whole, part))
        }),
        (Value::Array(whole), Value::Array(part)) => {
            let pairs = || whole.iter().zip(part);
            whole.len() == part.len() && pairs().all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}
