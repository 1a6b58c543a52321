//! `k8s_get`, `k8s_list`.

use std::sync::Arc;

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::super::HostResult;
use super::super::arguments::{Options, Reference, field_selector, label_selector};
use super::super::session::{Session, live, readable};
use crate::clock;
use crate::cluster::request::ListQuery;
use crate::model::{Gvk, Object, ObjectRef};
use crate::script::{self, HostError};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Reads an object. The role runs again when the object is created, changed or deleted.
    ///
    /// - `api_version`: e.g. `"v1"`, `"apps/v1"`.
    /// - `kind`: e.g. `"Secret"`.
    /// - `name`: its name.
    /// - `namespace`: optional, the custom resource's without it.
    /// - `object`: instead of all these: any object, or a map `#{apiVersion, kind, name, namespace}`.
    ///
    /// Returns the object, or `()` if it does not exist.
    ///
    /// If the cluster does not serve the kind, the result is `()`, and the role runs again when the kind
    /// appears. `has_api` distinguishes the two cases.
    ///
    /// Errors: `forbidden`.
    ///
    /// ```rhai,no_run
    /// let secret = k8s_get("v1", "Secret", "database");
    /// if secret == () {
    ///     fail("there is no Secret database");
    /// }
    /// ```
    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub fn k8s_get(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> HostResult<Dynamic> {
        get(&cx, &reference(api_version, kind, name, None))
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub fn k8s_get_in(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> HostResult<Dynamic> {
        get(&cx, &reference(api_version, kind, name, Some(namespace)))
    }

    #[rhai_fn(name = "k8s_get", volatile, return_raw)]
    pub fn k8s_get_ref(cx: NativeCallContext, object: Dynamic) -> HostResult<Dynamic> {
        get(&cx, &Reference::from_dynamic(&object)?)
    }

    /// Lists objects of a kind. The role runs again when the list changes.
    ///
    /// - `api_version`: e.g. `"v1"`.
    /// - `kind`: e.g. `"Pod"`.
    /// - `options`: optional: `namespace` (the custom resource's without it; `"*"` for all), `labels`
    ///   (a selector as text or a map), `fields` (the same for fields).
    ///
    /// Returns an array, sorted by namespace and name. It is empty if the cluster does not serve the
    /// kind.
    ///
    /// ```rhai,no_run
    /// let pods = k8s_list("v1", "Pod", #{labels: #{app: meta.name}});
    /// set_status(#{nodes: pods.filter(|pod| ready(pod)).map(|pod| pod.metadata.name)});
    /// ```
    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub fn k8s_list(cx: NativeCallContext, api_version: &str, kind: &str) -> HostResult<Array> {
        list(&cx, &Gvk::from_api_version(api_version, kind), Map::new())
    }

    #[rhai_fn(name = "k8s_list", volatile, return_raw)]
    pub fn k8s_list_with(
        cx: NativeCallContext,
        api_version: &str,
        kind: &str,
        options: Map,
    ) -> HostResult<Array> {
        list(&cx, &Gvk::from_api_version(api_version, kind), options)
    }
}

fn reference(api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Reference {
    Reference {
        gvk: Gvk::from_api_version(api_version, kind),
        namespace: namespace.filter(|n| !n.is_empty()).map(str::to_owned),
        name: name.to_owned(),
        uid: None,
    }
}

fn get(cx: &NativeCallContext, reference: &Reference) -> HostResult<Dynamic> {
    let session = Session::from_call(cx)?;
    let since = clock::now();
    let answer = script::block_on(cx, read(&session, reference));
    let (object, found) =
        session.trace_failure("k8s_get", since, || reference.to_string(), answer)?;
    let result = if found.is_some() { "found" } else { "absent" };
    session.trace("k8s_get", since, || object, || result);
    found.as_ref().map_or(Ok(Dynamic::UNIT), live)
}

/// Reads an object and adds it to the run's read set.
pub(crate) async fn read(
    session: &Session,
    reference: &Reference,
) -> Result<(ObjectRef, Option<Arc<Object>>), HostError> {
    let (setup, cluster) = (&session.setup, session.cluster());
    let object = reference.resolve(&cluster, &setup.owner.cr).await?;
    let read = cluster.read(&object).await?;
    if let Some(found) = &read.object {
        session.learn(found)?;
    }
    session.note_read(object.clone(), read.object.as_ref(), read.subscription);
    read.object.as_deref().map_or(Ok(()), readable)?;
    Ok((object, read.object))
}

fn list(cx: &NativeCallContext, gvk: &Gvk, options: Map) -> HostResult<Array> {
    let session = Session::from_call(cx)?;
    let setup = &session.setup;
    let since = clock::now();
    let mut options = Options::new(options);
    let namespace = options.take_text("namespace")?;
    let labels = label_selector(options.take("labels").as_ref())?;
    let fields = field_selector(options.take("fields").as_ref())?;
    options.finish(&["namespace", "labels", "fields"])?;
    let answer = script::block_on(cx, async {
        let cluster = session.cluster();
        let kind = cluster.kind(gvk).await?;
        let namespace = match namespace.as_deref() {
            _ if kind.is_some_and(|kind| !kind.namespaced) => None,
            Some("*") => None,
            Some(namespace) => Some(namespace.into()),
            None => setup.owner.cr.namespace.clone(),
        };
        let query = ListQuery {
            gvk: gvk.clone(),
            namespace,
            labels,
            fields,
        };
        let read = cluster.read_list(&query).await?;
        Ok((query, read))
    });
    let (query, read) = session.trace_failure("k8s_list", since, || gvk.kind_group(), answer)?;
    for object in &read.objects {
        session.learn(object)?;
    }
    let count = read.objects.len();
    session.trace(
        "k8s_list",
        since,
        || describe(&query),
        || format!("{count} found"),
    );
    session.note_list(query, read.version, read.subscription);
    read.objects.iter().map(live).collect()
}

fn describe(query: &ListQuery) -> String {
    let mut text = query.gvk.kind_group();
    if let Some(namespace) = &query.namespace {
        text = format!("{text} {namespace}/*");
    }
    for selector in [query.labels.to_string(), query.fields.to_string()] {
        if !selector.is_empty() {
            text = format!("{text} {selector}");
        }
    }
    text
}
