//! The operator's environment variables: `env`.

use std::ffi::OsString;

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Dynamic, NativeCallContext};

use super::session::Session;
use super::{HostResult, invalid};
use crate::script::HostError;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// An environment variable of the operator, or the default where it is not set or empty.
    ///
    /// Closed unless opened twice: by the role (`permissions.env` in `meta/main.yaml`) and by the
    /// operator's `--allow-env`.
    ///
    /// - `name`: the variable.
    /// - `default`: optional, `()` without it.
    ///
    /// Errors: `forbidden` when the variable is not open to the role, `invalid` when its value is
    /// not text.
    ///
    /// ```rhai,no_run
    /// let image = env("RELATED_IMAGE_WEB", "docker.io/library/nginx:1.29");
    /// ```
    #[rhai_fn(name = "env", volatile, return_raw)]
    pub fn env(cx: NativeCallContext, name: &str) -> HostResult<Dynamic> {
        read(&cx, name).map(Option::unwrap_or_default)
    }

    #[rhai_fn(name = "env", volatile, return_raw)]
    pub fn env_or(cx: NativeCallContext, name: &str, default: Dynamic) -> HostResult<Dynamic> {
        read(&cx, name).map(|value| value.unwrap_or(default))
    }
}

fn read(cx: &NativeCallContext, name: &str) -> HostResult<Option<Dynamic>> {
    let session = Session::from_call(cx)?;
    let roles = session.roles();
    let closing = roles
        .iter()
        .find(|role| !opens(&role.permissions.env, name));
    let closed = if let Some(role) = closing {
        &*format!(
            "{}/meta/main.yaml does not list it under permissions.env",
            role.name
        )
    } else if !opens(&session.setup.allow_env, name) {
        "the operator's --allow-env does not list it"
    } else {
        return value(std::env::var_os(name), name);
    };
    let message = format!("cannot read the environment variable {name}: {closed}");
    Err(HostError::new("forbidden", message).into())
}

fn value(value: Option<OsString>, name: &str) -> HostResult<Option<Dynamic>> {
    match value
        .filter(|value| !value.is_empty())
        .map(OsString::into_string)
    {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text.into())),
        Some(Err(_)) => Err(invalid(format!("the value of {name} is not text"))),
    }
}

/// Returns true if a list contains a name. A trailing `*` in the list matches any ending.
fn opens(list: &[String], name: &str) -> bool {
    list.iter().any(|item| match item.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => item == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_star_matches_any_ending() {
        let list = ["HOME".to_owned(), "RELATED_IMAGE_*".to_owned()];
        assert!(opens(&list, "HOME") && opens(&list, "RELATED_IMAGE_WEB"));
        assert!(!opens(&list, "HOMES") && !opens(&list, "RELATED") && !opens(&[], "HOME"));
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        assert!(value(Some("".into()), "X").unwrap().is_none());
        assert!(value(None, "X").unwrap().is_none());
        assert!(value(Some("a".into()), "X").unwrap().is_some());
    }
}
