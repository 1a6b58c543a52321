//! YAML and JSON texts: `from_yaml`, `from_yaml_all`, `to_yaml`, `from_json`, `to_json`.

use rhai::plugin::{Module, export_module, exported_module};
use rhai::{Array, Dynamic};
use serde_json::Value;

use super::{Answer, arguments, invalid};
use crate::model::yaml;
use crate::script::value;

/// The engine takes no longer text, but looks when it is there.
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
    /// Reads a text of one YAML document.
    ///
    /// - `text`: YAML as `kubectl` reads it (`yes` is `true`, `0644` is octal); an empty one is
    ///   `()`.
    ///
    /// Errors: `invalid` when it is not YAML, when a key stands twice, or when there is more than
    /// one document (`from_yaml_all` reads those).
    ///
    /// ```rhai
    /// let limits = from_yaml("cpu: 2\nmemory: 1Gi");
    /// assert(limits == #{cpu: 2, memory: "1Gi"});
    /// assert(from_yaml("# nothing") == ());
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_yaml(text: &str) -> Answer<Dynamic> {
        match documents(text)?.as_slice() {
            [] => Ok(Dynamic::UNIT),
            [one] => Ok(value::to_dynamic(one)),
            several => Err(invalid(format!(
                "{} YAML documents where one is expected; `from_yaml_all` reads several",
                several.len()
            ))),
        }
    }

    /// Reads all documents of a YAML text; empty ones are left out.
    ///
    /// - `text`: documents separated by `---`.
    ///
    /// Errors: `invalid` when it is not YAML.
    ///
    /// ```rhai
    /// assert(from_yaml_all("a: 1\n---\n---\nb: 2") == [#{a: 1}, #{b: 2}]);
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_yaml_all(text: &str) -> Answer<Array> {
        Ok(documents(text)?.iter().map(value::to_dynamic).collect())
    }

    /// Writes a value as YAML, keys sorted; strings that YAML would read as something else are
    /// quoted.
    ///
    /// - `value`: a map, an array or a plain value.
    ///
    /// Errors: `invalid` when the value holds something that is no data, e.g. a function.
    ///
    /// ```rhai
    /// assert(to_yaml(#{replicas: 3, enabled: "yes"}) == "enabled: \"yes\"\nreplicas: 3\n");
    /// assert(from_yaml(to_yaml([1, "1"])) == [1, "1"]);
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn to_yaml(value: &mut Dynamic) -> Answer<String> {
        yaml::write_within(&arguments::json(value)?, MAX_TEXT)
            .ok_or_else(|| invalid(format!("more than {} MiB as YAML", MAX_TEXT >> 20)))
    }

    /// Reads a JSON text.
    ///
    /// - `text`: one JSON value.
    ///
    /// Errors: `invalid`, with line and column, when it is not JSON.
    ///
    /// ```rhai
    /// assert(from_json(`{"ports": [80, 443]}`).ports == [80, 443]);
    /// ```
    #[rhai_fn(return_raw)]
    pub fn from_json(text: &str) -> Answer<Dynamic> {
        value::from_json(text.as_bytes()).map_err(|error| invalid(format!("not JSON: {error}")))
    }

    /// Writes a value as compact JSON, keys sorted.
    ///
    /// - `value`: a map, an array or a plain value.
    ///
    /// Errors: `invalid` when the value holds something that is no data, e.g. a function.
    ///
    /// ```rhai
    /// assert(to_json(#{b: (), a: [1, 2.5]}) == `{"a":[1,2.5],"b":null}`);
    /// ```
    #[rhai_fn(pure, return_raw)]
    pub fn to_json(value: &mut Dynamic) -> Answer<String> {
        Ok(arguments::json(value)?.to_string())
    }
}

/// The documents of a YAML text.
fn documents(text: &str) -> Answer<Vec<Value>> {
    yaml::parse_all(text).map_err(|error| invalid(format!("not YAML: {error}")))
}
