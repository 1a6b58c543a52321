//! Functions on the role's `files/`: `file`, `files`.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, NativeCallContext};

use super::session::Session;
use super::{HostResult, invalid, pattern};
use crate::script::HostError;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Returns the text of a file of the role.
    ///
    /// - `name`: its path within the role's `files/`; nothing else can be read.
    ///
    /// Errors: `not_found` if the file does not exist, `invalid` if it is not text.
    ///
    /// ```rhai,no_run
    /// k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: meta.name},
    ///             data: #{"index.html": file("index.html")}});
    /// ```
    #[rhai_fn(return_raw)]
    pub fn file(cx: NativeCallContext, name: &str) -> HostResult<String> {
        read(&cx, name)
    }

    /// Returns the sorted names of the role's files that match a pattern.
    ///
    /// - `pattern`: a pattern of paths within the role's `files/`; `*` matches any part of a name, `?`
    ///   one character, `**` any folders.
    ///
    /// ```rhai,no_run
    /// for name in files("dashboards/*.json") {
    ///     log_info(`${name} has ${file(name).len} characters`);
    /// }
    /// ```
    #[rhai_fn(return_raw)]
    pub fn files(cx: NativeCallContext, pattern: &str) -> HostResult<Array> {
        let role = Session::from_call(&cx)?.role();
        let names = pattern::select(pattern, role.files.keys().map(String::as_str))?;
        Ok(names.into_iter().map(Into::into).collect())
    }
}

/// Returns the text of a file of the role.
pub(crate) fn read(cx: &NativeCallContext, name: &str) -> HostResult<String> {
    let role = Session::from_call(cx)?.role();
    let Some(bytes) = role.files.get(name) else {
        let message = format!("the role has no files/{name}");
        return Err(HostError::new("not_found", message).into());
    };
    String::from_utf8(bytes.to_vec()).map_err(|_| invalid(format!("files/{name} is not text")))
}
