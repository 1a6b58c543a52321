//! Functions on the APIs that the cluster serves: `has_api`, `api_groups`, `k8s_version`.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, NativeCallContext};

use super::super::HostResult;
use super::super::session::Session;
use crate::model::Gvk;
use crate::{clock, script};

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Returns whether the cluster serves a kind, for example of a platform or of another operator.
    ///
    /// - `api_version`: e.g. `"route.openshift.io/v1"`.
    /// - `kind`: e.g. `"Route"`.
    ///
    /// ```rhai,no_run
    /// if has_api("monitoring.coreos.com/v1", "ServiceMonitor") {
    ///     k8s_apply(template_objects("service-monitor.yaml"));
    /// }
    /// ```
    #[rhai_fn(name = "has_api", volatile, return_raw)]
    pub fn has_api(cx: NativeCallContext, api_version: &str, kind: &str) -> HostResult<bool> {
        let session = Session::from_call(&cx)?;
        let since = clock::now();
        let gvk = Gvk::from_api_version(api_version, kind);
        let answer = script::block_on(&cx, async {
            Ok(session.cluster().kind(&gvk).await?.is_some())
        });
        let served = session.trace_failure("has_api", since, || gvk.to_string(), answer)?;
        session.trace("has_api", since, || gvk.to_string(), || served);
        Ok(served)
    }

    /// Returns the names of the API groups that the cluster serves, without the core group.
    ///
    /// ```rhai,no_run
    /// let on_openshift = "config.openshift.io" in api_groups();
    /// ```
    #[rhai_fn(name = "api_groups", volatile, return_raw)]
    pub fn api_groups(cx: NativeCallContext) -> HostResult<Array> {
        let session = Session::from_call(&cx)?;
        let since = clock::now();
        let answer = script::block_on(&cx, async { Ok(session.cluster().api_groups().await?) });
        let groups = session.trace_failure("api_groups", since, String::new, answer)?;
        session.trace(
            "api_groups",
            since,
            || "",
            || format!("{} found", groups.len()),
        );
        let names = groups.into_iter().map(|group| group.name);
        Ok(names
            .filter(|name| !name.is_empty())
            .map(Into::into)
            .collect())
    }

    /// Returns the version of the Kubernetes API server, e.g. `v1.36.3`.
    ///
    /// ```rhai,no_run
    /// let sidecars = semver_matches(k8s_version(), ">=1.29");
    /// ```
    #[rhai_fn(name = "k8s_version", volatile, return_raw)]
    pub fn k8s_version(cx: NativeCallContext) -> HostResult<String> {
        let session = Session::from_call(&cx)?;
        let since = clock::now();
        let answer = script::block_on(&cx, async { Ok(session.cluster().k8s_version().await?) });
        let version = session.trace_failure("k8s_version", since, String::new, answer)?;
        session.trace("k8s_version", since, || "", || version.as_str());
        Ok(version)
    }
}
