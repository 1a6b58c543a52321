//! The functions `template` and `template_objects`.

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::super::session::Session;
use super::super::{HostResult, path, pattern};
use super::render::{render, render_objects};
use crate::pipeline::scope;
use crate::script::{self, HostError, value};

/// The variables in scope of each template, beside the keys of `vars`.
const NAMES: [&str; 5] = ["vars", "cr", "spec", "status", "meta"];

/// The variables of a step of a pipeline that are in scope, too.
const OF_STEPS: [&str; 3] = [scope::RESULTS, scope::ITEM, scope::ERROR];

/// The package.
pub(crate) fn module() -> Module {
    exported_module!(functions)
}

#[export_module]
mod functions {
    /// Renders a Jinja template of the role to a text.
    ///
    /// The template sees the keys of `vars`, and `vars`, `cr`, `spec`, `status`, `meta`. White space and
    /// filters are as in Ansible. An undefined variable is an error. A value is never rendered as a
    /// template.
    ///
    /// The function inserts values without quotes, so that data of a custom resource can change the
    /// structure of YAML. For manifests, use `template_objects`, which prevents this. A rendering may take
    /// a million steps, and a value and the output may have 16 MiB.
    ///
    /// - `name`: its path within the role's `templates/`.
    /// - `vars`: optional, merged into `vars` deeply.
    ///
    /// Errors: `not_found` if the template does not exist; `invalid`, with the template's line, if it
    /// cannot be rendered or exceeds a limit.
    ///
    /// ```rhai,no_run
    /// let config = template("nginx.conf", #{port: 8080});
    /// ```
    #[rhai_fn(name = "template", return_raw)]
    pub fn template(cx: NativeCallContext, name: &str) -> HostResult<String> {
        to_text(&cx, name, Map::new())
    }

    #[rhai_fn(name = "template", return_raw)]
    pub fn template_with(cx: NativeCallContext, name: &str, vars: Map) -> HostResult<String> {
        to_text(&cx, name, vars)
    }

    /// Renders Jinja templates of the role and parses the result as YAML documents.
    ///
    /// Data cannot change the structure: each string is one scalar or a part of one, with any
    /// content. Structure comes from the template, and from filters such as `to_yaml` and `safe`.
    /// The bounds are those of `template` and `from_yaml`.
    ///
    /// - `name`: a path within the role's `templates/`, or a pattern (`*`, `?`, `**` as in
    ///   `files`), which selects templates in the order of their names.
    /// - `vars`: optional, merged into `vars` deeply.
    ///
    /// Errors: as `template`; `invalid` when the result is not YAML; `not_found` when a pattern
    /// selects nothing.
    ///
    /// ```rhai,no_run
    /// for object in k8s_apply(template_objects("*.yaml", #{replicas: 3})) {
    ///     wait_ready(object);
    /// }
    /// ```
    #[rhai_fn(name = "template_objects", return_raw)]
    pub fn template_objects(cx: NativeCallContext, name: &str) -> HostResult<Array> {
        to_objects(&cx, name, Map::new())
    }

    #[rhai_fn(name = "template_objects", return_raw)]
    pub fn template_objects_with(
        cx: NativeCallContext,
        name: &str,
        vars: Map,
    ) -> HostResult<Array> {
        to_objects(&cx, name, vars)
    }
}

fn to_text(cx: &NativeCallContext, name: &str, vars: Map) -> HostResult<String> {
    let session = Session::from_call(cx)?;
    let scope = template_scope(&session, vars)?;
    ended(render(&session.role().templates, name, &scope))
}

/// Returns the error of a rendering, or the end of the run if the rendering stopped for it.
pub(super) fn ended<T>(rendered: Result<T, HostError>) -> HostResult<T> {
    rendered.or_else(|error| {
        script::checkpoint()?;
        Err(error.into())
    })
}

pub(crate) fn to_objects(cx: &NativeCallContext, name: &str, vars: Map) -> HostResult<Array> {
    let session = Session::from_call(cx)?;
    let role = session.role();
    let scope = template_scope(&session, vars)?;
    let mut objects = Array::new();
    for name in names(&role.templates, name)? {
        let documents = ended(render_objects(&role.templates, name, &scope))?;
        objects.extend(documents.iter().map(value::to_dynamic));
    }
    Ok(objects)
}

/// Returns the templates that a name or a pattern selects.
fn names<'a>(templates: &'a Environment<'_>, name: &'a str) -> HostResult<Vec<&'a str>> {
    if !pattern::is_pattern(name) {
        return Ok(vec![name]);
    }
    let selected = pattern::select(name, templates.templates().map(|(name, _)| name))?;
    if selected.is_empty() {
        let message = format!("the role has no templates that match templates/{name}");
        return Err(HostError::new("not_found", message).into());
    }
    Ok(selected)
}

/// Returns the scope of a template.
fn template_scope(session: &Session, over: Map) -> HostResult<Value> {
    let mut variables = session.variables();
    let vars = variables
        .remove("vars")
        .and_then(Dynamic::try_cast)
        .unwrap_or_default();
    variables.insert("vars", path::merged(vars, over)?.into());
    let of_steps = OF_STEPS
        .iter()
        .filter_map(|name| Some((*name, script::variable(name)?)));
    variables.extend(of_steps);
    let named: Vec<_> = NAMES
        .iter()
        .chain(&OF_STEPS)
        .filter_map(|name| Some((*name, Value::from(Serde(variables.get(name)?)))))
        .collect();
    let vars = &named[0].1;
    let keys = vars.try_iter().into_iter().flatten();
    let own = keys.map(|key| (key.to_string(), vars.get_item(&key).unwrap_or_default()));
    let named = named
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Ok(Value::from_pairs(own.chain(named)))
}
