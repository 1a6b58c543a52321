//! Variables (`${name}`) in requests, and the short forms of paths.

use std::collections::BTreeMap;

use serde_json::Value;

/// The short forms of paths. `NS` is the sequence's namespace, `GROUP` its API group.
const PREFIXES: [(&str, &str); 15] = [
    ("core:", "/api/v1/namespaces/NS"),
    ("apps:", "/apis/apps/v1/namespaces/NS"),
    ("batch:", "/apis/batch/v1/namespaces/NS"),
    ("rbac:", "/apis/rbac.authorization.k8s.io/v1/namespaces/NS"),
    ("authz:", "/apis/authorization.k8s.io/v1/namespaces/NS"),
    ("lease:", "/apis/coordination.k8s.io/v1/namespaces/NS"),
    ("events:", "/apis/events.k8s.io/v1/namespaces/NS"),
    ("net:", "/apis/networking.k8s.io/v1/namespaces/NS"),
    ("policy:", "/apis/policy/v1/namespaces/NS"),
    ("scaling:", "/apis/autoscaling/v2/namespaces/NS"),
    ("discovery:", "/apis/discovery.k8s.io/v1/namespaces/NS"),
    ("cr:", "/apis/ex.io/v1/namespaces/NS"),
    ("own:", "/apis/GROUP/v1/namespaces/NS"),
    ("ext:", "/apis/apiextensions.k8s.io/v1"),
    ("cluster-rbac:", "/apis/rbac.authorization.k8s.io/v1"),
];

/// The known variables of a sequence.
#[derive(Clone, Debug, Default)]
pub struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Returns all variables as one line, for the name of a step.
    pub fn row(&self) -> String {
        let known: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| shown(name, value))
            .collect();
        if known.is_empty() {
            String::new()
        } else {
            format!("[{}]", known.join(" "))
        }
    }

    /// Replaces variables in a value. A text that consists of one variable becomes its value, of any type.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self
                .whole(text)
                .unwrap_or_else(|| self.fill_text(text).into()),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                let filled = members
                    .iter()
                    .map(|(name, value)| (self.fill_text(name), self.fill(value)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    /// Replaces variables in a text.
    pub fn fill_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            let hole = format!("${{{name}}}");
            if text.contains(&hole) {
                text = text.replace(&hole, &plain(value));
            }
        }
        text
    }

    fn whole(&self, text: &str) -> Option<Value> {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        self.0.get(name).cloned()
    }

    /// Returns the absolute path of a path that may begin with a short form.
    pub fn path(&self, path: &str) -> String {
        let short = PREFIXES.iter().find_map(|(prefix, long)| {
            let rest = path.strip_prefix(prefix)?;
            let long = long
                .replace("NS", &self.fill_text("${ns}"))
                .replace("GROUP", &self.fill_text("${group}"));
            let slash = if rest.is_empty() || rest.starts_with(['?', '/']) {
                ""
            } else {
                "/"
            };
            Some(format!("{long}{slash}{rest}"))
        });
        short.unwrap_or_else(|| path.to_owned())
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a variable for the name of a step, with a shortened value.
fn shown(name: &str, value: &Value) -> String {
    let plain = plain(value);
    let short: String = plain.chars().take(60).collect();
    format!("{name}={short}")
}
