//! YAML and JSON texts: `from_yaml`, `from_yaml_all`, `to_yaml`, `from_json`, `to_json`.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic};
use serde_json::Value;

use super::{HostResult, arguments, invalid};
use crate::model::yaml;
use crate::script::value;

/// The maximum length of a YAML text to write. The engine refuses a longer one only after it exists.
const MAX_TEXT: usize = 16 << 20;

/// The package.
pub(super) fn module() -> Module {
    exported_module!(functions)
}

#[expect(
    clippy::unwrap_used,
    reason = "in the wrappers that the macro makes of functions with a `&mut` value"
)]
#[export_module]
mod functions {
    /// Parses a text with one YAML document.
    ///
    /// The text may have 400 nested levels. What aliases and merge keys add is bounded by the length of the
    /// text: 20,000 to 1,000,000 values and 1 to 32 MiB. Do not parse a text that `template` rendered
    /// with data: the data can change its structure. `template_objects` protects from that.
    ///
    /// - `text`: YAML as `kubectl` reads it (`yes` is `true`, `0644` is octal); an empty one is
    ///   `()`.
    ///
    /// Errors: `invalid` when it is not YAML, exceeds a bound, has a key twice, or has more than one
    /// document (`from_yaml_all` reads those).
    ///
    /// ```rhai
    /// let limits = from_yaml("cpu: 2\nmemory: 1Gi");
    /// assert(limits == #{cpu: 2, memory: "1Gi"});
    /// assert(from_yaml("# nothing") == ());
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_yaml(text: &str) -> HostResult<Dynamic> {
        match documents(text)?.as_slice() {
            [] => Ok(Dynamic::UNIT),
            [one] => Ok(value::to_dynamic(one)),
            several => Err(invalid(format!(
                "expected one YAML document, found {}; hint: use `from_yaml_all` for several",
                several.len()
            ))),
        }
    }

    /// Parses all documents of a YAML text, except empty ones. The bounds are those of `from_yaml`.
    ///
    /// - `text`: documents separated by `---`.
    ///
    /// Errors: `invalid` when it is not YAML or exceeds a bound.
    ///
    /// ```rhai
    /// assert(from_yaml_all("a: 1\n---\n---\nb: 2") == [#{a: 1}, #{b: 2}]);
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_yaml_all(text: &str) -> HostResult<Array> {
        Ok(documents(text)?.iter().map(value::to_dynamic).collect())
    }

    /// Writes a value as YAML with sorted keys. Quotes strings that YAML would read as something
    /// else.
    ///
    /// - `value`: a map, an array or a plain value.
    ///
    /// Errors: `invalid` when the value contains something other than data, e.g. a function, or when
    /// the text would be longer than 16 MiB.
    ///
    /// ```rhai
    /// assert(to_yaml(#{replicas: 3, enabled: "yes"}) == "enabled: \"yes\"\nreplicas: 3\n");
    /// assert(from_yaml(to_yaml([1, "1"])) == [1, "1"]);
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn to_yaml(value: &mut Dynamic) -> HostResult<String> {
        yaml::write_within(&arguments::json(value)?, MAX_TEXT)
            .ok_or_else(|| invalid(format!("more than {} MiB as YAML", MAX_TEXT >> 20)))
    }

    /// Parses a JSON text.
    ///
    /// - `text`: one JSON value, with at most 400 levels.
    ///
    /// Errors: `invalid`, with line and column, when it is not JSON or has more levels.
    ///
    /// ```rhai
    /// assert(from_json(`{"ports": [80, 443]}`).ports == [80, 443]);
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_json(text: &str) -> HostResult<Dynamic> {
        value::from_json(text.as_bytes()).map_err(|error| invalid(format!("not JSON: {error}")))
    }

    /// Writes a value as compact JSON with sorted keys.
    ///
    /// - `value`: a map, an array or a plain value.
    ///
    /// Errors: `invalid` when the value contains something other than data, e.g. a function, has more
    /// than 400 levels, or would be longer than 64 MiB.
    ///
    /// ```rhai
    /// assert(to_json(#{b: (), a: [1, 2.5]}) == `{"a":[1,2.5],"b":null}`);
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn to_json(value: &mut Dynamic) -> HostResult<String> {
        Ok(arguments::json(value)?.to_string())
    }
}

/// Parses the documents of a YAML text.
fn documents(text: &str) -> HostResult<Vec<Value>> {
    yaml::parse_all(text).map_err(|error| invalid(format!("not YAML: {error}")))
}
