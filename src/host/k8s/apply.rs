//! `k8s_apply`, `k8s_ensure`, `k8s_create`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::super::arguments::{self, Reference};
use super::super::session::{Ending, Session, live};
use super::super::{HostResult, invalid};
use super::write;
use crate::apply::{self, Action, DesiredObject, ExistingObject, Options};
use crate::clock;
use crate::cluster::request::Propagation;
use crate::cluster::watch::Subscription;
use crate::model::{Gvk, Object, json, yaml};
use crate::script::{self, HostError, value};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Applies objects: creates absent objects, changes objects that differ, and sends no request if
    /// nothing differs.
    ///
    /// The custom resource owns the objects. Kubernetes deletes them with the custom resource, the
    /// operator reverts changes by others, and it deletes an object that a later run no longer applies.
    /// The default namespace is that of the custom resource. Keys with the value `()` are omitted. The
    /// function refuses an existing object that the custom resource does not own. Otherwise a user could
    /// change or delete objects of others through a custom resource that names them.
    ///
    /// - `object`: an object, an array of objects (applied in their order), or a YAML text of one or
    ///   more documents.
    /// - `options`: optional:
    ///   `owner: false` (no owner, no pruning: for objects that are shared),
    ///   `force` (true: takes fields from other managers; the default is true for owned objects only),
    ///   `adopt: true` (takes over an existing object that the custom resource does not own),
    ///   `recreate: true` (deletes and creates an object again if a field cannot be changed).
    ///
    /// Returns the live object with its status, or an array of them for an array or a text.
    ///
    /// Errors: `not_owned` when the object exists and the custom resource does not own it; `invalid`,
    /// with a hint when a field cannot be changed; `conflict` when another manager owns a field; `kind_absent` when the cluster does not know the kind; `forbidden`.
    ///
    /// ```rhai,no_run
    /// let config = k8s_apply(#{
    ///     apiVersion: "v1", kind: "ConfigMap",
    ///     metadata: #{name: meta.name},
    ///     data: #{greeting: spec.greeting ?? "hello"},
    /// });
    /// log_info(`applied ${config.metadata.name}`);
    /// ```
    #[rhai_fn(name = "k8s_apply", volatile, return_raw)]
    pub fn k8s_apply(cx: NativeCallContext, object: Dynamic) -> HostResult<Dynamic> {
        apply_all(&cx, &object, Options::default())
    }

    #[rhai_fn(name = "k8s_apply", volatile, return_raw)]
    pub fn k8s_apply_with(
        cx: NativeCallContext,
        object: Dynamic,
        options: Map,
    ) -> HostResult<Dynamic> {
        apply_all(&cx, &object, options_of(options)?)
    }

    /// Applies an object if `present` is true, and deletes it otherwise.
    ///
    /// Deletes only an object that the custom resource owns. Another object of that name stays.
    ///
    /// - `present`: whether the object shall exist.
    /// - `object`: as for `k8s_apply`.
    ///
    /// Returns the live object, or `()` if `present` is false.
    ///
    /// ```rhai,no_run
    /// k8s_ensure(spec.metrics ?? false, #{
    ///     apiVersion: "v1", kind: "Service",
    ///     metadata: #{name: `${meta.name}-metrics`},
    ///     spec: #{selector: #{app: meta.name}, ports: [#{port: 9090}]},
    /// });
    /// ```
    #[rhai_fn(name = "k8s_ensure", volatile, return_raw)]
    pub fn k8s_ensure(
        cx: NativeCallContext,
        present: bool,
        object: Dynamic,
    ) -> HostResult<Dynamic> {
        if present {
            return apply_all(&cx, &object, Options::default());
        }
        for object in objects(&object)? {
            let reference = Reference::from_dynamic(&object)?;
            write::delete_one(
                &cx,
                &reference,
                Propagation::Background,
                write::Scope::Owned,
            )?;
        }
        Ok(Dynamic::UNIT)
    }

    /// Creates an object if no object of its name exists. The operator does not change or prune the
    /// object later. Kubernetes deletes it with the custom resource.
    ///
    /// - `object`: an object. With `metadata.generateName` instead of a name, each call creates another.
    ///
    /// Returns the live object.
    ///
    /// Errors: as for `k8s_apply`. An existing object is no error.
    ///
    /// ```rhai,no_run
    /// let pod = k8s_create(#{
    ///     apiVersion: "v1", kind: "Pod",
    ///     metadata: #{generateName: `${meta.name}-`, labels: #{app: meta.name}},
    ///     spec: #{containers: [#{name: "main", image: "busybox", command: ["sleep", "60"]}]},
    /// });
    /// ```
    #[rhai_fn(name = "k8s_create", volatile, return_raw)]
    pub fn k8s_create(cx: NativeCallContext, object: Dynamic) -> HostResult<Dynamic> {
        create(&cx, &object).and_then(|created| live(&created))
    }
}

/// The objects of an argument, in their order.
fn objects(argument: &Dynamic) -> HostResult<Vec<Dynamic>> {
    if let Some(items) = argument.read_lock::<Array>() {
        return Ok(items.clone());
    }
    if argument.is_string() {
        let text = argument.to_string();
        let documents = yaml::parse_all(&text).map_err(|error| invalid(error.to_string()))?;
        return Ok(documents.iter().map(value::to_dynamic).collect());
    }
    Ok(vec![argument.clone()])
}

fn apply_all(cx: &NativeCallContext, argument: &Dynamic, options: Options) -> HostResult<Dynamic> {
    if argument.is_map() {
        return live(&apply_one(
            cx,
            &*Session::from_call(cx)?,
            argument,
            options,
        )?);
    }
    let applied = apply(cx, argument, options)?;
    let applied = applied.iter().map(live).collect::<HostResult<Array>>();
    applied.map(Into::into)
}

/// Applies an object, a list of them, or the documents of a text: the live objects, in order.
pub(crate) fn apply(
    cx: &NativeCallContext,
    argument: &Dynamic,
    options: Options,
) -> HostResult<Vec<Arc<Object>>> {
    let session = Session::from_call(cx)?;
    let objects = objects(argument)?;
    let objects = objects.iter();
    objects
        .map(|object| apply_one(cx, &session, object, options))
        .collect()
}

fn apply_one(
    cx: &NativeCallContext,
    session: &Session,
    object: &Dynamic,
    options: Options,
) -> HostResult<Arc<Object>> {
    script::count_object(cx)?;
    let since = clock::now();
    let result = desired(session, object, false).and_then(|desired| {
        let (setup, cluster) = (&session.setup, session.cluster());
        let call = async {
            Ok(apply::apply(
                &cluster,
                &setup.apply_cache,
                &setup.owner,
                &desired,
                options,
            )
            .await)
        };
        let applied = script::block_on(cx, call)?.map_err(|error| ended(cx, session, error))?;
        session.learn(&applied.object)?;
        session.note(&applied);
        session.trace(
            "k8s_apply",
            since,
            || applied.object.object_ref(),
            || applied.action.as_str(),
        );
        Ok(applied.object)
    });
    if result.is_err() {
        session.effects().failed_applies += 1;
    }
    session.trace_failure("k8s_apply", since, || name_of(object), result)
}

pub(crate) fn create(cx: &NativeCallContext, object: &Dynamic) -> HostResult<Arc<Object>> {
    let session = Session::from_call(cx)?;
    let setup = &session.setup;
    script::count_object(cx)?;
    let since = clock::now();
    let desired = desired(&session, object, true)?;
    let cluster = session.cluster();
    let call = async {
        Ok(
            apply::create_once::create_once(&cluster, &setup.apply_cache, &setup.owner, &desired)
                .await,
        )
    };
    let answer = script::block_on(cx, call)
        .and_then(|created| created.map_err(|error| ended(cx, &session, error)));
    let created = session.trace_failure("k8s_create", since, || name_of(object), answer)?;
    session.learn(&created.object)?;
    let mut effects = session.effects();
    effects.unreachable |= created.is_unreachable;
    effects.actions.record(if created.is_new {
        Action::Created
    } else {
        Action::Skipped
    });
    if !created.is_new {
        effects.skipped += 1;
    }
    drop(effects);
    if created.is_new {
        let object = created.object.object_ref();
        session.note_write(object, None, Some(Arc::clone(&created.object)));
    }
    if !desired.name.is_empty() {
        let subscription = created.subscription.clone();
        session.note_read(
            created.object.object_ref(),
            Some(&created.object),
            subscription,
        );
    }
    let result = if created.is_new { "created" } else { "exists" };
    session.trace(
        "k8s_create",
        since,
        || created.object.object_ref(),
        || result,
    );
    Ok(created.object)
}

/// An error that a script can catch, or the end of the run.
fn ended(
    cx: &NativeCallContext,
    session: &Session,
    error: apply::Error,
) -> Box<rhai::EvalAltResult> {
    match error {
        apply::Error::Recreating { object } => {
            session.note_read(object.clone(), None, Subscription::permanent());
            let on = format!("{object}: it is being deleted and will be created again");
            let objects = BTreeSet::from([object]);
            script::end(cx, Arc::new(Ending::Waiting { on, objects }))
        }
        apply::Error::OwnerGone { .. } => script::end(cx, Arc::new(Ending::Gone)),
        apply::Error::Former { existing, .. } => former(cx, session, &existing),
        apply::Error::NotOwned { ref existing, .. } => {
            session.note_existing(existing);
            HostError::from(error).into()
        }
        error => HostError::from(error).into(),
    }
}

/// Ends the run as waiting until garbage collection has removed an object of an earlier custom resource
/// with the same name.
pub(crate) fn former(
    cx: &NativeCallContext,
    session: &Session,
    existing: &ExistingObject,
) -> Box<rhai::EvalAltResult> {
    session.note_existing(existing);
    let object = existing.live.object_ref();
    let on = format!(
        "{object}: it belongs to an earlier {} and is being removed by garbage collection",
        session.setup.owner.cr
    );
    let objects = BTreeSet::from([object]);
    script::end(cx, Arc::new(Ending::Waiting { on, objects }))
}

/// Returns the desired object that a script passed.
fn desired(session: &Session, object: &Dynamic, nameless: bool) -> HostResult<DesiredObject> {
    let Some(map) = object.read_lock::<Map>() else {
        return Err(invalid(format!(
            "expected an object, found {}",
            object.type_name()
        )));
    };
    let text = |map: &Map, key: &str| -> Option<String> {
        let text = map.get(key)?.clone().into_string().ok()?;
        (!text.is_empty()).then_some(text)
    };
    let missing = |field: &str| invalid(format!("the object has no {field}"));
    let api_version = text(&map, "apiVersion").ok_or_else(|| missing("apiVersion"))?;
    let kind = text(&map, "kind").ok_or_else(|| missing("kind"))?;
    let metadata = map.get("metadata").and_then(Dynamic::read_lock::<Map>);
    let metadata = metadata.ok_or_else(|| missing("metadata"))?;
    let name = text(&metadata, "name");
    let generated = nameless && metadata.contains_key("generateName");
    let mut json = Vec::with_capacity(1024);
    value::write_json(object, &mut json).map_err(|error| {
        invalid(format!(
            "{kind} {}: {error}",
            name.as_deref().unwrap_or_default()
        ))
    })?;
    let gvk = Gvk::from_api_version(&api_version, &kind);
    if gvk.group.is_empty() && &*gvk.kind == "Secret" {
        let secret = json::parse_slice(&json).map_err(|error| invalid(error.to_string()))?;
        session.setup.redactor.learn_value(&secret);
        session.check_secrets()?;
    }
    Ok(DesiredObject {
        gvk,
        namespace: text(&metadata, "namespace").map(Into::into),
        name: match name {
            Some(name) => name.into(),
            None if generated => "".into(),
            None => return Err(missing("metadata.name")),
        },
        json,
    })
}

fn options_of(options: Map) -> HostResult<Options> {
    let mut given = arguments::Options::new(options);
    let default = Options::default();
    let options = Options {
        owner: given.take_bool("owner")?.unwrap_or(default.owner),
        force: given.take_bool("force")?,
        adopt: given.take_bool("adopt")?,
        recreate: given.take_bool("recreate")?.unwrap_or(default.recreate),
    };
    given.finish(&["owner", "force", "adopt", "recreate"])?;
    Ok(options)
}

/// Describes an object that was not applied, for a trace.
fn name_of(object: &Dynamic) -> String {
    match Reference::from_dynamic(object) {
        Ok(reference) => format!("{} {}", reference.gvk.kind_group(), reference.name),
        Err(_) => "?".to_owned(),
    }
}
