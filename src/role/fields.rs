//! Finds fields of the custom resource that a role uses and its CRD does not have.
//!
//! The check covers constant keys in code (`spec.a.b`, `cr.status["x"]`, `$.spec.a`), and the maps of `status`
//! steps. Computed keys are not checked; a run reports the fields that the API server drops.

use std::path::Path;

use jsonpath_rust::parser::model::{Segment, Selector};
use serde_json::Value;

use super::compiled_role::{Entry, Role};
use crate::model::Diagnostic;
use crate::model::diagnostics::nearest;
use crate::model::json_path;
use crate::pipeline::{Action, Loop, Query, SourceLocation, Step, Test, Tree};

/// The variables that contain the custom resource, and the path in it at which each begins.
const VARIABLES: [(&str, &[&str]); 3] = [("spec", &["spec"]), ("status", &["status"]), ("cr", &[])];

/// Returns an error for each unknown field. `folder` is the folder of the role, `schema` the
/// `openAPIV3Schema` of the kind.
pub fn unknown_fields(role: &Role, folder: &Path, schema: &Value) -> Vec<Diagnostic> {
    let mut check = FieldCheck {
        role,
        folder,
        schema,
        problems: Vec::new(),
    };
    for entry in std::iter::once(&role.entry).chain(&role.finalize) {
        check.code(entry);
        if let Entry::Pipeline(pipeline) = entry {
            check.steps(&pipeline.steps);
        }
    }
    let mut problems = check.problems;
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    problems.dedup();
    problems
}

struct FieldCheck<'a> {
    role: &'a Role,
    folder: &'a Path,
    schema: &'a Value,
    problems: Vec<Diagnostic>,
}

impl FieldCheck<'_> {
    fn code(&mut self, entry: &Entry) {
        for (variable, root) in VARIABLES {
            for property in entry.program().property_uses(variable) {
                let names = property.keys.iter().map(|(name, _)| &**name);
                let names: Vec<&str> = root.iter().copied().chain(names).collect();
                let Some((index, hint)) = self.unknown(&names) else {
                    continue;
                };
                let key = index.checked_sub(root.len());
                let location = key.and_then(|key| property.keys.get(key));
                let (line, column) = location.map_or((0, 0), |(_, location)| *location);
                self.report(&property.file, (line, column), &names[..=index], hint);
            }
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            if let Some(Loop::Query(query)) = &step.repeat {
                self.query(query);
            }
            self.tests(&step.when);
            self.tests(&step.until);
            match &step.action {
                Action::Status(tree) => self.written(tree, &["status"], &step.location),
                Action::Assert(assert) => self.tests(&assert.that),
                Action::Include(include) => self.steps(&include.steps),
                Action::Block(block) => {
                    self.steps(&block.steps);
                    self.steps(block.rescue.as_deref().unwrap_or_default());
                    self.steps(&block.always);
                }
                _ => {}
            }
        }
    }

    fn tests(&mut self, tests: &[Test]) {
        for test in tests {
            if let Test::Query(query) = test {
                self.query(query);
            }
        }
    }

    fn query(&mut self, query: &Query) {
        let Ok(parsed) = json_path::parse(&query.text) else {
            return;
        };
        let names = parsed.segments.iter().map_while(|segment| match segment {
            Segment::Selector(Selector::Name(name)) => Some(name.trim_matches(['\'', '"'])),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        let names = match names.split_first() {
            Some((&"cr", rest)) => rest,
            Some((&("spec" | "status"), _)) => &names,
            _ => return,
        };
        if let Some((index, hint)) = self.unknown(names) {
            self.report_at(&query.location, &names[..=index], hint);
        }
    }

    /// Checks the keys of a map that is merged into the status.
    fn written(&mut self, tree: &Tree, above: &[&str], location: &SourceLocation) {
        match tree {
            Tree::Map(entries) => {
                for (key, tree) in entries {
                    if let Some(key) = key.constant()
                        && let Some(above) = self.known(above, key, location)
                    {
                        self.written(tree, &above, location);
                    }
                }
            }
            Tree::Constant(value) => self.written_value(value, above, location),
            _ => {}
        }
    }

    fn written_value(&mut self, value: &Value, above: &[&str], location: &SourceLocation) {
        for (key, value) in value.as_object().into_iter().flatten() {
            if let Some(above) = self.known(above, key, location) {
                self.written_value(value, &above, location);
            }
        }
    }

    /// Returns the path to a key; reports an error if the schema does not have it.
    fn known<'k>(
        &mut self,
        above: &[&'k str],
        key: &'k str,
        location: &SourceLocation,
    ) -> Option<Vec<&'k str>> {
        let names = [above, &[key]].concat();
        match self.unknown(&names) {
            None => Some(names),
            Some((_, hint)) => {
                self.report_at(location, &names, hint);
                None
            }
        }
    }

    /// Returns the index of the first key that the schema does not have, with a hint.
    fn unknown(&self, names: &[&str]) -> Option<(usize, String)> {
        let mut at = self.schema;
        for (index, name) in names.iter().enumerate() {
            let open = at["x-kubernetes-preserve-unknown-fields"] == true
                || at["x-kubernetes-embedded-resource"] == true;
            // Every object has metadata, but CRDs do not declare it.
            if open || at["type"] != "object" || (index == 0 && !is_own(name)) {
                return None;
            }
            let next = at["properties"].get(*name);
            at = match (next, &at["additionalProperties"]) {
                (Some(next), _) => next,
                (None, Value::Bool(true)) => return None,
                (None, Value::Object(_)) => &at["additionalProperties"],
                (None, _) => return Some((index, hint(at, name))),
            };
        }
        None
    }

    fn report_at(&mut self, location: &SourceLocation, names: &[&str], hint: String) {
        let prefix = format!("{}/", self.role.name);
        let file = location.file.strip_prefix(&prefix);
        let file = file.unwrap_or(&location.file);
        self.report(file, (location.line, location.column), names, hint);
    }

    fn report(&mut self, file: &str, at: (usize, usize), names: &[&str], hint: String) {
        let message = format!("the CRD has no field {}", names.join("."));
        let problem = Diagnostic::error(self.folder.join(file), at.0, at.1, message);
        self.problems.push(if hint.is_empty() {
            problem
        } else {
            problem.hint(hint)
        });
    }
}

fn is_own(name: &str) -> bool {
    ["spec", "status"].contains(&name)
}

fn hint(schema: &Value, name: &str) -> String {
    let known = schema["properties"].as_object();
    let known: Vec<&str> = known
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let near = nearest(name, &known);
    near.map_or_else(String::new, |near| format!("did you mean {near:?}?"))
}
